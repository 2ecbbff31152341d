"""Known bugs of Kafka: reported if the release is affected and the logs show the signature, never by version alone.

A signature is a sequence of lines, declared in known_bugs.yaml. Each step specifies events, who logged them, and when.
The absence of a line counts only if `seen` finds a log that would show it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice, takewhile
from pathlib import Path
from typing import Literal

import yaml
from msgspec import Struct, convert, field

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.coordinator.partition_of_group import known_partition, offsets_partition
from rebalance_forensics.diagnosis.episodes.topics.subscriptions import read_topics
from rebalance_forensics.diagnosis.model import KnownBug
from rebalance_forensics.diagnosis.seen import Place, coordinator_place, own_place, seen
from rebalance_forensics.diagnosis.sign import Absent
from rebalance_forensics.events.base import Event, member_ids_in
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.releases import Affected, Release, Side, any_in, parse_release, releases_of
from rebalance_forensics.timeline.timeouts import number_of
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS, ONE_SCALING_MS

Value = str | int | bool | None
Conditions = Mapping[str, Value | tuple[Value, ...]]
"""Field or setting -> the required value, or a tuple of permitted values."""
# The search for a signature is bounded: a log full of partial matches must not delay the report.
MOST_TRIES = 20_000


class Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One event of a signature, `after_ms` (minimum, maximum) after the previous step.

    `who` compares its participant with that of the previous or the first step. `same` and `differs` compare fields.
    `count` is the required number of such events within `count_ms`, with `distinct` different values. `without` are
    events that must not occur in between. With `never`, the step is the absence of such events until `after_ms` is
    over, while the log continues.
    """

    events: tuple[str, ...]
    where: Conditions = field(default_factory=dict)
    after_ms: tuple[int, int] = (0, ONE_REBALANCE_MS)
    never: bool = False
    who: Literal["same", "other", "first"] | None = None
    same: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    count: int = 1
    count_ms: int = ONE_REBALANCE_MS
    distinct: str | None = None
    without: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()
    """Events that must not occur in the minute before."""


class Signature(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The steps, how often they must occur, and the required `kind`, `mode`, `protocol` and settings of the group."""

    steps: tuple[Step, ...]
    times: int = 1
    group: Conditions = field(default_factory=dict)
    settings: Conditions = field(default_factory=dict)

    def fits(self, timeline: Timeline) -> bool:
        """True if the group and its settings match, and there is an event for every step."""
        return (
            all(_is_any(getattr(timeline, name), _listed(wanted)) for name, wanted in self.group.items())
            and all(_is_any(timeline.settings.get(name), _listed(wanted)) for name, wanted in self.settings.items())
            and all(step.never or timeline.of(*_types(step.events)) for step in self.steps)
        )


def _types(names: Iterable[str]) -> tuple[type[Event], ...]:
    return tuple(ev.EVENT_TYPES[name] for name in names)


class SignatureSearch:
    """The search for signatures in one timeline, with a cache of what is needed of a line repeatedly."""

    def __init__(self, timeline: Timeline) -> None:
        # The timeline caches this search: with a strong reference, only the garbage collector could free a timeline,
        # which took a tenth of the time of 200 groups.
        self.timeline: Timeline = weakref.proxy(timeline)
        self._possible: dict[tuple[int, int], bool] = {}
        self._with_fields: dict[tuple[int, int], bool] = {}
        self._parties: dict[int, frozenset[int]] = {}
        self._tries = 0

    def find(self, signature: Signature, near: tuple[int, int]) -> tuple[Event, ...]:
        """Return the events of a signature that ends near the finding; empty if there is no match."""
        found: list[Event] = []
        occurrences, self._tries = 0, MOST_TRIES
        steps, spans = signature.steps, _spans(signature.steps, near)
        starting = self._between(steps[0].events, spans[0][0], min(spans[0][1], near[1]))
        for first in sorted((e for e in starting if self._may_be(steps[0], e)), key=time_of):
            if found and time_of(first) <= time_of(found[-1]):
                continue
            match = self._continued(steps[1:], spans[1:], [first])
            if match is not None and near[0] <= time_of(match[-1]) <= near[1]:
                found += match
                occurrences += 1
                if occurrences >= signature.times:
                    return tuple(found)
        return ()

    def _continued(
        self, steps: Sequence[Step], spans: Sequence[tuple[int, int]], matched: list[Event]
    ) -> list[Event] | None:
        """Extend a partial match step by step, trying all candidates from which the last step can still be reached."""
        if not steps:
            return matched
        step, before = steps[0], time_of(matched[-1])
        begin, end = before + step.after_ms[0], before + step.after_ms[1]
        if step.never:
            answer = seen(islice(self._followers(step, matched, begin, end), 1), self._places(step, matched, end))
            return self._continued(steps[1:], spans[1:], matched) if isinstance(answer, Absent) else None
        for event in self._followers(step, matched, max(begin, spans[0][0]), min(end, spans[0][1])):
            self._tries -= 1
            if self._tries < 0:
                return None
            found = self._continued(steps[1:], spans[1:], [*matched, event])
            if found is not None:
                return found
        return None

    def _places(self, step: Step, matched: Sequence[Event], until: int) -> Iterator[Place]:
        """Yield where a line of this step would appear: in the coordinator's log, or in the client's."""
        before = matched[0] if step.who == "first" else matched[-1]
        participant = self.timeline.participants.of_speaker(before)
        if step.who is None or before.speaker.role == "broker":
            yield coordinator_place(self.timeline, time_of(before), until)
        elif participant is not None:
            yield own_place(self.timeline, participant, time_of(before), until)

    def _followers(self, step: Step, matched: Sequence[Event], begin: int, end: int) -> Iterator[Event]:
        for event in self._between(step.events, begin, end):
            if event is not matched[-1] and self._may_be(step, event) and self._follows(step, event, matched):
                yield event

    def _between(self, names: Iterable[str], begin: int, end: int) -> Iterator[Event]:
        """Yield the events of these types in [begin, end], type by type in time order."""
        for kind in _types(names):
            yield from takewhile(lambda event: time_of(event) <= end, self.timeline.of(kind).onwards(max(begin, 1)))

    def _may_be(self, step: Step, event: Event) -> bool:
        """True if the event can be this step, regardless of the previous steps."""
        # In a loop of rebalances, every occurrence of one step is combined with every occurrence of the next.
        known = self._possible.get((id(step), id(event)))
        if known is None:
            known = self._possible[id(step), id(event)] = (
                self._has_fields(step, event)
                and (step.count == 1 or self._is_often_enough(step, event))
                and not any(self._between(step.quiet, time_of(event) - ONE_REBALANCE_MS, time_of(event) - 1))
            )
        return known

    def _has_fields(self, step: Step, event: Event) -> bool:
        known = self._with_fields.get((id(step), id(event)))
        if known is None:
            known = all(self._has(event, name, wanted) for name, wanted in step.where.items())
            self._with_fields[id(step), id(event)] = known
        return known

    def _has(self, event: Event, name: str, wanted: Value | tuple[Value, ...]) -> bool:
        values = _said(event) if name == "said" else (_field(event, name),)
        meant = (v for w in _listed(wanted) for v in (_STANDS_FOR[w](self.timeline) if w in _STANDS_FOR else (w,)))
        return any(_is(value, each) for each in meant for value in values)

    def _is_often_enough(self, step: Step, event: Event) -> bool:
        at, who = time_of(event), self._parties_of(event)
        # In a storm, tens of thousands of lines are within the span: stop as soon as there are enough.
        values: set[object] = set()
        for e in self._between(step.events, at, at + step.count_ms):
            if self._has_fields(step, e) and (step.distinct is not None or self._parties_of(e) == who):
                values.add(str(_field(e, step.distinct)) if step.distinct else id(e))
                if len(values) >= step.count:
                    return True
        return False

    def _follows(self, step: Step, event: Event, matched: Sequence[Event]) -> bool:
        before = matched[-1]
        return (
            self._is_by(step, event, matched[0] if step.who == "first" else before)
            and all(_alike(event, before, name) for name in step.same)
            and not any(_alike(event, before, name) for name in step.differs)
            and not self._interrupted(step, event, before)
        )

    def _is_by(self, step: Step, event: Event, reference: Event) -> bool:
        if step.who is None:
            return True
        own, theirs = self._parties_of(event), self._parties_of(reference)
        return bool(own and theirs and not own & theirs) if step.who == "other" else bool(own & theirs)

    def _interrupted(self, step: Step, event: Event, before: Event) -> bool:
        """True if an excluded event of the same participants (or of any, if unknown) occurred in between."""
        whose = self._parties_of(before) if step.without else frozenset()
        return any(
            e is not event and e is not before and (not whose or bool(self._parties_of(e) & whose))
            for e in self._between(step.without, time_of(before), time_of(event))
        )

    def _parties_of(self, event: Event) -> frozenset[int]:
        """Return the participants of an event: its speaker, or the members that a coordinator names."""
        known = self._parties.get(id(event))
        if known is None:
            participants = self.timeline.participants
            speaker = participants.of_speaker(event)
            named = map(participants.of_member, member_ids_in(event)) if speaker is None else (speaker,)
            known = self._parties[id(event)] = frozenset(id(p) for p in named if p is not None)
        return known


def _spans(steps: Sequence[Step], near: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the time span in which each step must be for the last one to be near the finding."""
    begin, end = near
    spans = [near]
    for step in reversed(steps[1:]):
        if not step.never:
            begin, end = begin - step.after_ms[1], end - step.after_ms[0]
        spans.append((begin, end))
    return spans[::-1]


def _alike(event: Event, before: Event, name: str) -> bool:
    values = _SEVERAL.get(name)
    if values is not None:
        return not set(values(event)).isdisjoint(values(before))
    value = _field(event, name)
    return value is not None and value == _field(before, name)


def _clients(event: Event) -> set[str]:
    client_ids = {event.speaker.client_id} if event.speaker.client_id else set()
    return client_ids | {name for m in member_ids_in(event) if (name := name_in_member_id(m))}


def _partitions(event: Event) -> tuple[str, ...]:
    return getattr(event, "partitions", ())


_SEVERAL: Mapping[str, Callable[[Event], Iterable[object]]] = {
    "member": member_ids_in,
    "client": _clients,
    "partitions": _partitions,
}
"""Fields with several values per line, which match if they have one in common."""


def _field(event: Event, name: str) -> object:
    if name == "members":
        return tuple(member_ids_in(event))
    owner: object = event.speaker if name.startswith("speaker.") else event
    return getattr(owner, name.removeprefix("speaker."), None)


def _said(event: Event) -> Iterable[object]:
    return (event.text, *(getattr(event, name, None) for name in ("reason", "detail", "cause", "exception")))


def _offsets_partition(timeline: Timeline) -> tuple[int]:
    known = known_partition(timeline)
    return (offsets_partition(timeline.group) if known is None else known,)


_STANDS_FOR: Mapping[Value, Callable[[Timeline], Iterable[Value]]] = {
    "$group": lambda timeline: (timeline.group,),
    "$subscribed": read_topics,
    "$offsets_partition": _offsets_partition,
}


def _listed(wanted: Value | tuple[Value, ...]) -> tuple[Value, ...]:
    return wanted if isinstance(wanted, tuple) else (wanted,)


def _is_any(value: object, wanted: Iterable[Value]) -> bool:
    return any(_is(value, each) for each in wanted)


def _is(value: object, wanted: Value) -> bool:
    """True if equal; `~x`: contains x; `>=n`: at least n, or n elements; `empty`, `some`: has no or some elements."""
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
    """A bug. `signature` is None if no log can prove it; `not_matched` then explains why.

    `dated_by_words`: only affected releases log the lines of its signature, so that no version has to be logged.
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
        """The side whose release is affected: brokers or clients."""
        return "broker" if self.component == "broker" else "client"

    @property
    def ranges(self) -> tuple[Affected, ...]:
        """The affected releases."""
        return tuple(map(_range, self.affected))


def known_bugs_of(timeline: Timeline, cause: str, because: Sequence[Event]) -> tuple[KnownBug, ...]:
    """Return the bugs that this finding shows, ordered by number."""
    suspects = [b for b in _suspects(timeline) if not b.causes or cause in b.causes]
    times = [e.at for e in because if e.at is not None] if suspects else []
    if not times:
        return ()
    search, releases = _signatures(timeline), releases_of(timeline)
    near = (min(times) - ONE_SCALING_MS, max(times) + ONE_SCALING_MS)
    found = []
    for bug in suspects:
        lines = search.find(bug.signature, near) if bug.signature is not None else ()
        dated = _dates_itself(bug, releases.known)
        if lines and (dated or releases.affects(bug.side, bug.ranges, lines)):
            found.append(KnownBug(jira=bug.jira, title=bug.title, fixed_in=", ".join(bug.fixed_in) or None))
    return tuple(found)


@cached_answer
def _signatures(timeline: Timeline) -> SignatureSearch:
    return SignatureSearch(timeline)


@cached_answer
def _suspects(timeline: Timeline) -> list[Bug]:
    """Return the bugs of releases in use that the group's lines can show."""
    running = releases_of(timeline).known
    return [b for b in _bugs_in(timeline.kind, running) if b.signature is not None and b.signature.fits(timeline)]


@lru_cache(maxsize=256)
def _bugs_in(kind: str, running: frozenset[tuple[Side, Release, Release]]) -> list[Bug]:
    """Return the bugs of releases in use that logs can prove."""
    of_kind = [b for b in all_bugs() if b.component not in ("streams", "connect") or b.component == kind]
    possible = (b for b in of_kind if _dates_itself(b, running) or any_in(running, b.side, b.ranges))
    return [b for b in possible if b.signature is not None]


def _dates_itself(bug: Bug, running: frozenset[tuple[Side, Release, Release]]) -> bool:
    """True if its lines alone prove an affected release and no line of that side shows the release."""
    return bug.dated_by_words and all(side != bug.side for side, _, _ in running)


@cache
def all_bugs() -> tuple[Bug, ...]:
    """Return all bugs, ordered by number."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    bugs = convert(yaml.load(FILE.read_bytes(), Loader=loader), list[Bug])  # noqa: S506 - it is safe
    return tuple(sorted(bugs, key=lambda b: int(b.jira.removeprefix("KAFKA-"))))


@cache
def _range(text: str) -> Affected:
    """Parse a range of releases: `<2.0.1`, `2.4.0-<2.8.2` or `2.3.0-`."""
    first, _, below = text.partition("<")
    lowest = first.rstrip("-")
    return Affected(parse_release(lowest) if lowest else (0,), parse_release(below) if below else None)
