"""Kafka's own bugs: named when the release is affected and the logs show the signature, never by version alone."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Literal

import yaml
from msgspec import Struct, convert, field

from rebalance_forensics.diagnosis.episodes.coordinator.partition_of_group import known_partition, offsets_partition
from rebalance_forensics.diagnosis.model import KnownBug
from rebalance_forensics.diagnosis.seen import coordinator_place, own_place
from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.events.base import Event, member_ids_in
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.releases import Affected, Release, Side, any_in, parse_release, releases_of
from rebalance_forensics.timeline.timeouts import number_of
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS, ONE_SCALING_MS

Value = str | int | bool | None
Conditions = Mapping[str, Value | tuple[Value, ...]]
"""Field or setting -> the value that it must have, or several of which it must have one."""
Who = Literal["same", "other", "first"]
# A signature is looked for within bounds: a log full of half matches must not hold the report up.
MOST_TRIES = 20_000


class Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One event of a signature, after the step before it by `after_ms` (least, most).

    `who` compares its party with that of the step before, or of the first one. `same`, `differs` and `overlap` compare
    fields. `count` asks for so many of them within `count_ms`, with so many `distinct` values. `without` are events
    that must not lie in between; with `never` the step is the absence of such events until `after_ms` is over, while
    the log continues.
    """

    events: tuple[str, ...]
    where: Conditions = field(default_factory=dict)
    after_ms: tuple[int, int] = (0, ONE_REBALANCE_MS)
    never: bool = False
    who: Who | None = None
    same: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    overlap: str | None = None
    count: int = 1
    count_ms: int = ONE_REBALANCE_MS
    distinct: str | None = None
    without: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()
    """None of these in the minute before."""


class Signature(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The steps, how often they must be seen, and what kind of group and which settings they need."""

    steps: tuple[Step, ...]
    times: int = 1
    kinds: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    settings: Conditions = field(default_factory=dict)


class Witness:
    """A timeline, indexed for the search of signatures."""

    def __init__(self, timeline: Timeline) -> None:
        # The timeline keeps this index among its answers: a strong reference back would leave every timeline to the
        # garbage collector, which took a tenth of the time of 200 groups.
        self.timeline: Timeline = weakref.proxy(timeline)
        self.last = timeline.last
        self._parties: dict[int, frozenset[int]] = {}
        self._suiting: dict[tuple[int, int], bool] = {}
        self._with_fields: dict[tuple[int, int], bool] = {}

    def between(self, names: Iterable[str], begin: int, end: int) -> Iterator[Event]:
        """The events of these types in [begin, end], type by type in time order."""
        for name in names:
            since = self.timeline.of(EVENT_TYPES[name]).onwards(max(begin, 1))
            yield from takewhile(lambda event: time_of(event) <= end, since)

    def goes_on(self, event: Event, until: int, *, brokers: bool) -> bool:
        """True if logs that would show what comes after the event reach that far."""
        at, speaker = time_of(event), self.timeline.participants.of_speaker(event)
        if brokers or event.speaker.role == "broker":
            return bool(coordinator_place(self.timeline, at, until).logs)
        return speaker is not None and bool(own_place(self.timeline, speaker, at, until).logs)

    def parties(self, event: Event) -> frozenset[int]:
        """The participants an event is about: its speaker, or the members a coordinator names."""
        known = self._parties.get(id(event))
        if known is None:
            known = self._parties[id(event)] = self._parties_of(event)
        return known

    def _parties_of(self, event: Event) -> frozenset[int]:
        speaker = self.timeline.participants.of_speaker(event)
        of_member = self.timeline.participants.of_member
        participants = [speaker] if speaker is not None else [of_member(m) for m in member_ids_in(event)]
        return frozenset(id(a) for a in participants if a is not None)

    def suits(self, step: Step, event: Event) -> bool:
        """True for an event that may be this step, whatever came before; asked once of each."""
        # In a loop of rebalances every occurrence of one step meets every occurrence of the next.
        known = self._suiting.get((id(step), id(event)))
        if known is None:
            known = self._suiting[id(step), id(event)] = _suits(step, event, self)
        return known

    def has_fields(self, step: Step, event: Event) -> bool:
        """True for an event with the fields that the step asks for."""
        known = self._with_fields.get((id(step), id(event)))
        if known is None:
            known = all(_has(event, name, wanted, self) for name, wanted in step.where.items())
            self._with_fields[id(step), id(event)] = known
        return known

    def special(self, word: str) -> frozenset[Value]:
        """What `$group`, `$subscribed` and `$offsets_partition` stand for here."""
        return self.timeline.cached_as(("special", word), lambda: self._special(word))

    def _special(self, word: str) -> frozenset[Value]:
        if word == "$group":
            return frozenset({self.timeline.group})
        if word == "$offsets_partition":
            known = known_partition(self.timeline)
            return frozenset({known if known is not None else offsets_partition(self.timeline.group)})
        topics = {t for e in self.between(("Subscribed",), 0, self.last) for t in getattr(e, "topics", ())}
        owned = self.between(("PartitionsAssigned", "AssignmentNotified"), 0, self.last)
        return frozenset(topics | {p.rpartition("-")[0] for e in owned for p in getattr(e, "partitions", ())})


def find(signature: Signature, witness: Witness, near: tuple[int, int]) -> tuple[Event, ...]:
    """The events of the signature whose last one lies near the finding; empty when it is not there."""
    found: list[Event] = []
    seen = 0
    spans = _spans(signature.steps, near)
    tries = [MOST_TRIES]
    begin, end = spans[0][0], min(spans[0][1], near[1])
    step = signature.steps[0]
    starting = (e for e in witness.between(step.events, begin, end) if witness.suits(step, e))
    for first in sorted(starting, key=time_of):
        if found and (first.at or 0) <= (found[-1].at or 0):
            continue
        match = _continued(signature.steps, spans, [first], witness, tries)
        if match is not None and near[0] <= (match[-1].at or 0) <= near[1]:
            found += match
            seen += 1
            if seen >= signature.times:
                return tuple(found)
    return ()


def _spans(steps: Sequence[Step], near: tuple[int, int]) -> list[tuple[int, int]]:
    """From when to when each step may be, for the last one to lie near the finding."""
    begin, end = near
    spans = [near]
    for step in reversed(steps[1:]):
        if not step.never:
            begin, end = begin - step.after_ms[1], end - step.after_ms[0]
        spans.append((begin, end))
    return spans[::-1]


def _fits(signature: Signature, timeline: Timeline) -> bool:
    """True if the kind and settings of the group fit, and there is an event for every step."""
    asked = (
        (signature.kinds, timeline.kind),
        (signature.modes, timeline.mode),
        (signature.protocols, timeline.protocol),
    )
    if any(wanted and value not in wanted for wanted, value in asked):
        return False
    return all(
        name in timeline.settings and any(_is(timeline.settings[name], w) for w in _listed(wanted))
        for name, wanted in signature.settings.items()
    ) and all(step.never or timeline.of(*(EVENT_TYPES[name] for name in step.events)) for step in signature.steps)


def _suits(step: Step, event: Event, witness: Witness) -> bool:
    return (
        witness.has_fields(step, event)
        and _often_enough(step, event, witness)
        and not any(witness.between(step.quiet, (event.at or 0) - ONE_REBALANCE_MS, (event.at or 0) - 1))
    )


def _often_enough(step: Step, event: Event, witness: Witness) -> bool:
    if step.count == 1:
        return True
    at, who = event.at or 0, witness.parties(event)
    # In a storm tens of thousands of lines lie within the span: it stops at the first that are enough.
    values: set[object] = set()
    for e in witness.between(step.events, at, at + step.count_ms):
        if witness.has_fields(step, e) and (step.distinct is not None or witness.parties(e) == who):
            values.add(str(_field(e, step.distinct)) if step.distinct else id(e))
            if len(values) >= step.count:
                return True
    return False


def _continued(
    steps: Sequence[Step],
    spans: Sequence[tuple[int, int]],
    matched: list[Event],
    witness: Witness,
    tries: list[int],
    index: int = 1,
) -> list[Event] | None:
    """The match, led on step by step; every candidate of a step is tried that the last may come near behind."""
    if index == len(steps):
        return matched
    step, before = steps[index], matched[-1]
    begin, end = (before.at or 0) + step.after_ms[0], (before.at or 0) + step.after_ms[1]
    if step.never:
        since = matched[0] if step.who == "first" else before
        goes_on = witness.goes_on(since, end, brokers=step.who is None)
        if not goes_on or any(True for _ in _suiting(step, matched, witness, begin, end)):
            return None
        return _continued(steps, spans, matched, witness, tries, index + 1)
    begin, end = max(begin, spans[index][0]), min(end, spans[index][1])
    for event in _suiting(step, matched, witness, begin, end):
        tries[0] -= 1
        if tries[0] < 0:
            return None
        found = _continued(steps, spans, [*matched, event], witness, tries, index + 1)
        if found is not None:
            return found
    return None


def _suiting(step: Step, matched: Sequence[Event], witness: Witness, begin: int, end: int) -> Iterator[Event]:
    candidates = (e for e in witness.between(step.events, begin, end) if e is not matched[-1])
    return (e for e in candidates if witness.suits(step, e) and _related(step, e, matched, witness))


def _related(step: Step, event: Event, matched: Sequence[Event], witness: Witness) -> bool:
    before = matched[-1]
    return (
        _by_whom(step, event, matched, witness)
        and all(_alike(event, before, name) for name in step.same)
        and not any(_alike(event, before, name) for name in step.differs)
        and (step.overlap is None or bool(set(_many(event, step.overlap)) & set(_many(before, step.overlap))))
        and not _interrupted(step, event, matched, witness)
    )


def _by_whom(step: Step, event: Event, matched: Sequence[Event], witness: Witness) -> bool:
    if step.who is None:
        return True
    reference = matched[0] if step.who == "first" else matched[-1]
    own, theirs = witness.parties(event), witness.parties(reference)
    if step.who == "other":
        return bool(own) and bool(theirs) and not own & theirs
    return bool(own & theirs)


def _interrupted(step: Step, event: Event, matched: Sequence[Event], witness: Witness) -> bool:
    """True if one of the same parties (any, where none is known) did what must not lie in between."""
    if not step.without:
        return False
    before = matched[-1]
    whose = witness.parties(before)
    return any(
        e is not event and e is not before and (not whose or bool(witness.parties(e) & whose))
        for e in witness.between(step.without, before.at or 0, event.at or 0)
    )


def _alike(event: Event, before: Event, name: str) -> bool:
    if name == "member":
        return bool(set(member_ids_in(event)) & set(member_ids_in(before)))
    if name == "client":
        return bool(_clients(event) & _clients(before))
    value = _field(event, name)
    return value is not None and value == _field(before, name)


def _clients(event: Event) -> set[str]:
    client_ids = {event.speaker.client_id} if event.speaker.client_id else set()
    return client_ids | {name for m in member_ids_in(event) if (name := name_in_member_id(m))}


def _field(event: Event, name: str) -> object:
    if name == "members":
        return tuple(member_ids_in(event))
    owner: object = event.speaker if name.startswith("speaker.") else event
    return getattr(owner, name.removeprefix("speaker."), None)


def _many(event: Event, name: str) -> tuple[object, ...]:
    value = _field(event, name)
    return value if isinstance(value, tuple) else (value,)


def _has(event: Event, name: str, wanted: Value | tuple[Value, ...], witness: Witness) -> bool:
    if name == "said":
        texts = (event.text, *(getattr(event, f, None) for f in ("reason", "detail", "cause", "exception")))
        return any(_is(text, w) for text in texts for w in _listed(wanted) if isinstance(text, str))
    value = _field(event, name)
    return any(_is(value, v) for w in _listed(wanted) for v in _meant(w, witness))


def _listed(wanted: Value | tuple[Value, ...]) -> tuple[Value, ...]:
    return wanted if isinstance(wanted, tuple) else (wanted,)


def _meant(wanted: Value, witness: Witness) -> Iterable[Value]:
    special = isinstance(wanted, str) and wanted in ("$group", "$subscribed", "$offsets_partition")
    return witness.special(str(wanted)) if special else (wanted,)


def _is(value: object, wanted: Value) -> bool:
    """Equal; `~x`: contains x; `>=n`: at least n, or so many; `empty` and `some` as they say."""
    if not isinstance(wanted, str):
        return value == wanted
    if wanted == "$empty":
        return value in ((), "", None)
    if wanted == "$some":
        return value not in ((), "", None, "null")
    if wanted.startswith("~"):
        return isinstance(value, str) and wanted[1:].lower() in value.lower()
    if wanted.startswith(">="):
        number = len(value) if isinstance(value, tuple) else number_of(value) if isinstance(value, str) else value
        return isinstance(number, int) and number >= int(wanted[2:])
    return value == wanted or (isinstance(value, tuple) and wanted in value)


Component = Literal["broker", "client", "streams", "connect"]
FILE = Path(__file__).with_suffix(".yaml")


class Bug(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One bug as data. `signature` is None where no log can prove it; `not_matched` then says why.

    `dated_by_words`: only affected releases write the lines of its signature, so no version need be logged.
    """

    jira: str
    title: str
    component: Component
    affected: tuple[str, ...]
    fixed_in: tuple[str, ...]
    says: str
    causes: tuple[str, ...] = ()
    signature: Signature | None = None
    not_matched: str | None = None
    dated_by_words: bool = False

    @property
    def side(self) -> Side:
        """Whose release counts."""
        return "broker" if self.component == "broker" else "client"

    @property
    def ranges(self) -> tuple[Affected, ...]:
        """The affected releases."""
        return tuple(map(_range, self.affected))


def known_bugs_of(timeline: Timeline, cause: str, because: Sequence[Event]) -> tuple[KnownBug, ...]:
    """The bugs that this finding shows, in the order of their numbers."""
    suspects = [b for b in timeline.cached(_suspects) if not b.causes or cause in b.causes]
    times = [e.at for e in because if e.at is not None] if suspects else []
    if not times:
        return ()
    witness, releases = timeline.cached(Witness), timeline.cached(releases_of)
    near = (min(times) - ONE_SCALING_MS, max(times) + ONE_SCALING_MS)
    found = []
    for bug in suspects:
        seen = find(bug.signature, witness, near) if bug.signature is not None else ()
        dated = _dates_itself(bug, releases.known)
        if seen and (dated or releases.affects(bug.side, bug.ranges, seen)):
            found.append(KnownBug(jira=bug.jira, title=bug.title, fixed_in=", ".join(bug.fixed_in) or None))
    return tuple(found)


def _suspects(timeline: Timeline) -> list[Bug]:
    """The bugs of releases that run here and that the group's lines may show."""
    running = timeline.cached(releases_of).known
    return [b for b in _bugs_in(timeline.kind, running) if b.signature is not None and _fits(b.signature, timeline)]


@lru_cache(maxsize=256)
def _bugs_in(kind: str, running: frozenset[tuple[Side, Release, Release]]) -> list[Bug]:
    """The bugs of releases that run here and that logs can prove."""
    of_kind = [b for b in all_bugs() if b.component not in ("streams", "connect") or b.component == kind]
    possible = (b for b in of_kind if _dates_itself(b, running) or any_in(running, b.side, b.ranges))
    return [b for b in possible if b.signature is not None]


def _dates_itself(bug: Bug, running: frozenset[tuple[Side, Release, Release]]) -> bool:
    """True if its words alone prove an affected release, since no line of that side shows the release."""
    return bug.dated_by_words and all(side != bug.side for side, _, _ in running)


@cache
def all_bugs() -> tuple[Bug, ...]:
    """Every bug there is, by number."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    bugs = convert(yaml.load(FILE.read_bytes(), Loader=loader), list[Bug])  # noqa: S506 - it is safe
    return tuple(sorted(bugs, key=lambda b: int(b.jira.removeprefix("KAFKA-"))))


@cache
def _range(text: str) -> Affected:
    """`<2.0.1`, `2.4.0-<2.8.2` or `2.3.0-`."""
    first, _, below = text.partition("<")
    lowest = first.rstrip("-")
    return Affected(parse_release(lowest) if lowest else (0,), parse_release(below) if below else None)
