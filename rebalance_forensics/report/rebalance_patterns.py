"""The pattern of a group's rebalances, in sentences: who led, bursts, regular intervals, who took part."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, groupby, islice

from msgspec import Struct

from rebalance_forensics.diagnosis.wording.durations import times
from rebalance_forensics.records import EpochMs, is_timed
from rebalance_forensics.report.member_names import with_short_readings
from rebalance_forensics.report.times import duration, time_of_day
from rebalance_forensics.report.wording import begun, count, place, ranges, some
from rebalance_forensics.timeline.model import Burst, FailedAttempt, GroupHistory, LeaderChange, Participation, Spacing

FAILURES_TOLD = 6
REASONS_TOLD = 8
NAMES_TOLD = 6
LEADERS_TOLD = 20
TIMES_TOLD = 4
AS_LONG = 1.2
"""Gaps up to so many times a setting are said to match it."""


class Clock(Struct, frozen=True):
    """A time of day within a sentence; whoever shows it chooses the zone."""

    at: EpochMs

    def __str__(self) -> str:
        """In UTC."""
        return time_of_day(self.at)


Sentence = tuple[str | Clock, ...]


class Passage(Struct, frozen=True, kw_only=True):
    """A sentence, and what there is to say about it in detail."""

    said: Sentence
    details: tuple[Sentence, ...] = ()


def plain(sentence: Sentence) -> str:
    """A sentence with its times in UTC."""
    return "".join(map(str, sentence))


class Readings(Struct, frozen=True, kw_only=True):
    """All passages about one group; a part about which there is nothing to say is empty."""

    led: tuple[Passage, ...]
    close_together: tuple[Passage, ...]
    spaced: tuple[Passage, ...]
    took_part: tuple[Passage, ...]

    def parts(self) -> tuple[tuple[str, tuple[Passage, ...]], ...]:
        """Titles and passages, in the order in which they are read."""
        all_parts = (
            ("Who led", self.led),
            ("Bursts", self.close_together),
            ("Time between rebalances", self.spaced),
            ("Who took part", self.took_part),
        )
        return tuple((title, passages) for title, passages in all_parts if passages)


def readings_of(history: GroupHistory) -> Readings:
    """Read one group's rebalances."""
    return _readings_of(with_short_readings(history))


def _readings_of(history: GroupHistory) -> Readings:
    # Of lines without times only the order is known: nothing is close together or regular.
    bursts = [one for one in history.reading.close_together if is_timed(one.started_at)]
    return Readings(
        led=tuple(_led(history)),
        close_together=tuple(map(_together, bursts)),
        spaced=tuple(_spaced([one for one in history.reading.spacings if is_timed(one.at)])),
        took_part=tuple(_took_part(history.reading.participants)),
    )


def in_brief(history: GroupHistory) -> Iterator[tuple[str, str]]:
    """One line for each part about which there is something to say."""
    if len(history.reading.participants) < 2:
        return
    history = with_short_readings(history)
    readings = _readings_of(history)
    yield from (("Leader", plain(one.said)) for one in readings.led[:1])
    yield from (("Bursts", _first_of(readings.close_together, "burst")) for _ in readings.close_together[:1])
    yield from (("Spacing", _first_of(readings.spaced, "interval")) for _ in readings.spaced[:1])
    yield from (("Members", said) for said in _members(history.reading.participants))


def _first_of(passages: Sequence[Passage], noun: str) -> str:
    rest = len(passages) - 1
    said = plain(passages[0].said)
    return f"{said} {count(rest, f'more {noun}').capitalize()}." if rest else said


def _members(rounds: Sequence[Participation]) -> Iterator[str]:
    """How many took part, and who was missing, new or renewed, with how often."""
    sizes = [len(one.members) for one in rounds if one.members is not None]
    if not sizes:
        return
    low, high = min(sizes), max(sizes)
    said = f"{low} to {high} members" if low < high else f"{count(high, 'member')} each time"
    missing, new = (
        Counter(chain.from_iterable(told)) for told in zip(*((r.missing, r.new) for r in rounds), strict=True)
    )
    back = missing & new
    for label, names in (
        ("left and returned", back),
        ("missing", missing - back),
        ("new", new - back),
        ("back under a new id", Counter(chain.from_iterable(one.renewed for one in rounds))),
    ):
        often = [name if number == 1 else f"{name} ({times(number)})" for name, number in names.most_common()]
        said += f"; {label}: {some(often)}" if often else ""
    yield f"{said}."


def numbered(generations: Sequence[int]) -> str:
    """`generation 7`, `generations 7-9, 12`."""
    told = ranges(generations)
    return f"{'generation' if told.isdigit() else 'generations'} {told}"


def which(generation: int | None, at: EpochMs) -> Sentence:
    """`generation 7 at 10:02:11.004`; without the number, or the time, where no line tells it."""
    named = "the rebalance" if generation is None else f"generation {generation}"
    return (f"{named} at ", Clock(at)) if is_timed(at) else (named,)


def _led(history: GroupHistory) -> Iterator[Passage]:
    rounds, leadership = history.reading.participants, history.reading.leadership
    known = [one for one in rounds if one.leader is not None]
    if not known:
        if rounds and history.rebalance_mode == "server-side":
            yield Passage(said=("Nobody: under this protocol the coordinator assigns.",))
        return
    terms: dict[str, list[Participation]] = defaultdict(list)
    for one in known:
        terms[one.leader or ""].append(one)
    of_all = f"{count(len(known), 'rebalance')}"
    if len(known) < len(rounds):
        of_all += f" (of {len(rounds)}; the logs do not name the other leaders)"
    if leadership.stable is not False:
        yield Passage(said=(f"{next(iter(terms))} led {of_all}.",))
        return
    moved = f"Leadership moved {times(len(leadership.changes))} in {of_all}{_kept_out(leadership.changes)}."
    details = [_leader(name, mine) for name, mine in islice(terms.items(), LEADERS_TOLD)]
    details += [(f"and {len(terms) - LEADERS_TOLD} more leaders",)] if len(terms) > LEADERS_TOLD else []
    yield Passage(said=(moved,), details=tuple(details))


def _kept_out(changes: Sequence[LeaderChange]) -> str:
    """How often the leadership moved though the former leader had not left."""
    kept_out = sum(change.former_took_part is True for change in changes)
    if not kept_out:
        return ""
    each = "each time " if kept_out == len(changes) > 1 else f"{times(kept_out)} " if len(changes) > 1 else ""
    return f", {each}while the former leader was still a member"


def _leader(name: str, mine: Sequence[Participation]) -> Sentence:
    numbers = [one.generation for one in mine if one.generation is not None]
    unnumbered = [Clock(one.at) for one in mine if one.generation is None]
    told: list[str | Clock] = [f"{name} led {numbered(numbers)}" if numbers else f"{name} led"]
    for number, clock in enumerate(unnumbered[:TIMES_TOLD]):
        told += [", " if number else " and at " if numbers else " at ", clock]
    rest = len(unnumbered) - TIMES_TOLD
    return (*told, f" and {rest} more") if rest > 0 else tuple(told)


def _together(burst: Burst) -> Passage:
    numbers = [one for one in burst.generations if one is not None]
    named = f" ({numbered(numbers)})" if numbers else ""
    failed = sum(one.times for one in burst.failures)
    length = duration(burst.ended_at - burst.started_at)
    said = f"{named}; {count(failed, 'JoinGroup or SyncGroup request')} failed in between." if failed else f"{named}."
    return Passage(
        said=(f"{burst.rebalances} rebalances within {length} from ", Clock(burst.started_at), said),
        details=(*_reasons(burst), *_failures(burst.failures)),
    )


def _reasons(burst: Burst) -> Iterator[Sentence]:
    later = list(zip(burst.generations[1:], burst.reasons, strict=True))
    kinds: dict[str, list[int | None]] = defaultdict(list)
    for generation, reason in later:
        kinds[reason or "no reason was logged"].append(generation)
    for reason, generations in list(kinds.items())[:REASONS_TOLD]:
        numbers = [one for one in generations if one is not None]
        yield (f"{numbered(numbers) if numbers else 'the next rebalance'} began: {reason}",)
    if len(kinds) > REASONS_TOLD:
        yield (f"and for {len(kinds) - REASONS_TOLD} more reasons",)


def _failures(failures: Sequence[FailedAttempt]) -> Iterator[Sentence]:
    for one in failures[:FAILURES_TOLD]:
        error = f" with {one.error}" if one.error else ""
        again = f", {one.times} times" if one.times > 1 else ""
        who = f" of {one.who}" if one.who else ""
        yield f"{one.api}{who} failed at ", Clock(one.at), f"{error}{again}: {one.why} ({place(one.evidence)})"
    if len(failures) > FAILURES_TOLD:
        yield (f"and {count(sum(one.times for one in failures[FAILURES_TOLD:]), 'more failure')}",)


def _spaced(spacings: Sequence[Spacing]) -> Iterator[Passage]:
    """Even gaps of one setting, one after another, as one rhythm; then gaps that a setting explains by itself."""
    for (evenly, setting), together in groupby(spacings, key=lambda one: (one.evenly, one.setting)):
        mine = list(together)
        yield from [_rhythm(mine, setting)] if evenly and len(mine) > 1 else [_rhythm([one], setting) for one in mine]


def _rhythm(mine: Sequence[Spacing], setting: str | None) -> Passage:
    shortest, longest = (duration(edge(one.gap_ms for one in mine)) for edge in (min, max))
    length = shortest if shortest == longest else f"{shortest} to {longest}"
    begin, end = mine[0], mine[-1]
    numbers = [n for n in (begin.from_generation, end.to_generation) if n is not None]
    span: Sentence = (
        (f"Generation{'s' if len(numbers) > 1 else ''} {' to '.join(map(str, numbers))}",)
        if numbers
        else ("The rebalance before ", Clock(begin.at))
    )
    gaps = f"{len(mine)} regular intervals of {length}" if len(mine) > 1 else f"{length} apart"
    return Passage(said=(*span, f": {gaps}{_setting(begin, setting)}."), details=tuple(_whys(mine)))


def _setting(one: Spacing, setting: str | None) -> str:
    if setting is None or one.value_ms is None:
        return ", which matches no known setting"
    known = "in the logs" if one.configured else "by default; not in the logs"
    # A timer may have run from somewhere within the gap: then the gap is not as long as the setting, but holds it.
    verb = "matches" if one.gap_ms <= one.value_ms * AS_LONG else "includes"
    return f", which {verb} {setting} ({one.value_ms} ms {known})"


def _whys(mine: Sequence[Spacing]) -> Iterator[Sentence]:
    yield from ((why,) for why in dict.fromkeys(one.why for one in mine if one.why))


def _took_part(rounds: Sequence[Participation]) -> Iterator[Passage]:
    known = [one for one in rounds if one.members is not None]
    if rounds and not known:
        counted = {(one.clients, one.consumers) for one in rounds}
        if len(counted) == 1 and rounds[0].consumers is not None:
            clients = f"{count(rounds[0].clients, 'client')} with " if rounds[0].clients is not None else ""
            counts = f"{clients}{count(rounds[0].consumers, 'consumer')}"
            yield Passage(said=(f"{counts} each time, as the leader counted.",))
        return
    changed = [one for one in known if one.missing or one.new or one.renewed]
    first = known[:1]
    for one in first:
        names = some(one.members or (), NAMES_TOLD)
        every: Sentence = ("each time",) if not changed and len(known) > 1 else ("in ", *which(one.generation, one.at))
        yield Passage(said=(f"{count(len(one.members or ()), 'member')} ", *every, f": {names or 'nobody'}."))
    seen: set[str] = set()
    for one in known:
        if one.missing or one.new or one.renewed:
            yield _change(one, seen)
        seen.update(one.members or ())


def _change(one: Participation, seen: Collection[str]) -> Passage:
    """What changed against the rebalance before; who was seen before that is back, and not new."""
    groups = (
        ("missing", one.missing),
        ("new", [name for name in one.new if name not in seen]),
        ("back", [name for name in one.new if name in seen]),
        ("back under a new id", one.renewed),
    )
    parts = [f"{label}: {some(names, NAMES_TOLD)}" for label, names in groups if names]
    told = count(len(one.members or ()), "member")
    which_one, *clock = which(one.generation, one.at)
    return Passage(said=(begun(str(which_one)), *clock, f": {told}; {'; '.join(parts)}."))
