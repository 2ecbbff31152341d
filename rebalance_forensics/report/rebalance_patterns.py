"""The pattern of a group's rebalances in sentences: leaders, bursts, regular intervals, members."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, groupby, islice
from operator import itemgetter

from msgspec import Struct

from rebalance_forensics.diagnosis.wording.durations import capitalized, some, times
from rebalance_forensics.records import EpochMs, is_timed
from rebalance_forensics.report.member_names import with_short_readings
from rebalance_forensics.report.times import HOUR, duration, time_of_day, utc
from rebalance_forensics.report.wording import count, place, ranges, thousands
from rebalance_forensics.timeline.model import Burst, FailedAttempt, GroupHistory, LeaderChange, Participation, Spacing

FAILURES_SHOWN = 6
REASONS_SHOWN = 8
NAMES_SHOWN = 6
LEADERS_SHOWN = 20
TIMES_SHOWN = 4
TOP, FEW_HOURS = 5, 2
BUSIEST, MISSING = "Busiest hours", "Missing most"
# Gaps up to so many times a setting are said to match it.
AS_LONG = 1.2


class Clock(Struct, frozen=True):
    """A time of day within a sentence; each output chooses the zone."""

    at: EpochMs

    def __str__(self) -> str:
        """In UTC."""
        return time_of_day(self.at)


Sentence = tuple[str | Clock, ...]


class Passage(Struct, frozen=True, kw_only=True):
    """A sentence and its details."""

    sentence: Sentence
    details: tuple[Sentence, ...] = ()


def plain(sentence: Sentence) -> str:
    """A sentence with its times in UTC."""
    return "".join(map(str, sentence))


class Readings(Struct, frozen=True, kw_only=True):
    """All passages about one group; parts without content are empty."""

    led: tuple[Passage, ...]
    close_together: tuple[Passage, ...]
    spaced: tuple[Passage, ...]
    took_part: tuple[Passage, ...]

    def parts(self) -> tuple[tuple[str, tuple[Passage, ...]], ...]:
        """Titles and passages, in the order of the report."""
        all_parts = (
            ("Who led", self.led),
            ("Bursts", self.close_together),
            ("Time between rebalances", self.spaced),
            ("Who took part", self.took_part),
        )
        return tuple((title, passages) for title, passages in all_parts if passages)


def readings_of(history: GroupHistory) -> Readings:
    """Describe the rebalances of a group."""
    return _readings_of(with_short_readings(history))


def _readings_of(history: GroupHistory) -> Readings:
    # Lines without times only have an order, so there are neither bursts nor regular intervals.
    bursts = [burst for burst in history.reading.close_together if is_timed(burst.started_at)]
    return Readings(
        led=tuple(_led(history)),
        close_together=tuple(map(_together, bursts)),
        spaced=tuple(_spaced([spacing for spacing in history.reading.spacings if is_timed(spacing.at)])),
        took_part=tuple(_participants(history.reading.participants)),
    )


def in_brief(history: GroupHistory) -> Iterator[tuple[str, str]]:
    """One line for each part that has content."""
    if len(history.reading.participants) < 2:
        return
    history = with_short_readings(history)
    readings = _readings_of(history)
    yield from (("Leader", plain(passage.sentence)) for passage in readings.led[:1])
    yield from (("Bursts", _first_of(readings.close_together, "burst")) for _ in readings.close_together[:1])
    yield from (("Spacing", _first_of(readings.spaced, "interval")) for _ in readings.spaced[:1])
    yield from (("Members", sentence) for sentence in _members(history.reading.participants))
    # Missing members are mentioned above.
    yield from (line for line in over_hours(history) if line[0] != MISSING)


def over_hours(history: GroupHistory) -> Iterator[tuple[str, str]]:
    """For logs of hours or days: when the group rebalanced most, why, and which members were missing most often."""
    made = [g for g in history.generations if is_timed(g.reached_at)]
    reached = sorted(g.reached_at or 0 for g in made)
    if not reached or reached[-1] - reached[0] <= FEW_HOURS * HOUR:
        return
    hours = Counter(at // HOUR for at in reached).most_common(TOP)
    yield BUSIEST, ", ".join(f"{utc(hour * HOUR)[:-3]} UTC ({number})" for hour, number in hours)
    yield "Began by", some(_often(Counter(g.trigger or "unknown cause" for g in made)))
    missing = Counter(chain.from_iterable(r.missing for r in history.reading.participants))
    if missing:
        yield MISSING, some(_often(missing))


def _often(names: Counter[str]) -> list[str]:
    return [name if number == 1 else f"{name} ({times(number)})" for name, number in names.most_common(TOP)]


def _first_of(passages: Sequence[Passage], noun: str) -> str:
    rest = len(passages) - 1
    sentence = plain(passages[0].sentence)
    return f"{sentence} {count(rest, f'similar {noun}')}." if rest else sentence


def _members(rounds: Sequence[Participation]) -> Iterator[str]:
    sizes = [len(participation.members) for participation in rounds if participation.members is not None]
    if not sizes:
        return
    low, high = min(sizes), max(sizes)
    # A client's log names only itself, not the other members.
    sentence = f"{low} to {high} members seen" if low < high else f"{count(high, 'member')} seen each time"
    missing, new = (
        Counter(chain.from_iterable(names)) for names in zip(*((r.missing, r.new) for r in rounds), strict=True)
    )
    back = missing & new
    for label, names in (
        ("out and back", back),
        ("missing", missing - back),
        ("new", new - back),
        ("back under a new id", Counter(chain.from_iterable(participation.renewed for participation in rounds))),
    ):
        often = [name if number == 1 else f"{name} ({times(number)})" for name, number in names.most_common()]
        sentence += f"; {label}: {some(often)}" if often else ""
    yield f"{sentence}."


def numbered(generations: Sequence[int]) -> str:
    """`generation 7`, `generations 7-9, 12`."""
    numbers = ranges(generations)
    return f"{'generation' if numbers.isdigit() else 'generations'} {numbers}"


def which(generation: int | None, at: EpochMs) -> Sentence:
    """`generation 7 at 10:02:11.004`; without the number or the time if no line shows it."""
    named = "the rebalance" if generation is None else f"generation {generation}"
    return (f"{named} at ", Clock(at)) if is_timed(at) else (named,)


def _led(history: GroupHistory) -> Iterator[Passage]:
    rounds, leadership = history.reading.participants, history.reading.leadership
    known = [participation for participation in rounds if participation.leader is not None]
    if not known:
        if rounds and history.rebalance_mode == "server-side":
            yield Passage(sentence=("Nobody: under this protocol the coordinator assigns.",))
        return
    terms: dict[str, list[Participation]] = defaultdict(list)
    for participation in known:
        terms[participation.leader or ""].append(participation)
    of_all, unnamed = count(len(known), "rebalance"), len(rounds) - len(known)
    rest = f"; the logs do not name the leader of {thousands(unnamed)} more" if unnamed else ""
    if leadership.stable is not False:
        yield Passage(sentence=(f"{next(iter(terms))} led {of_all}{rest}.",))
        return
    changes = leadership.changes
    moved = f"Leadership moved {times(len(changes))} in {of_all}{_moves_without_departure(changes)}{rest}."
    details = [_leader(name, led) for name, led in islice(terms.items(), LEADERS_SHOWN)]
    details += [(f"and {len(terms) - LEADERS_SHOWN} more leaders",)] if len(terms) > LEADERS_SHOWN else []
    yield Passage(sentence=(moved,), details=tuple(details))


def _moves_without_departure(changes: Sequence[LeaderChange]) -> str:
    kept_out = sum(change.former_took_part is True for change in changes)
    if not kept_out:
        return ""
    each = "each time " if kept_out == len(changes) > 1 else f"{times(kept_out)} " if len(changes) > 1 else ""
    return f", {each}while the former leader was still a member"


def _leader(name: str, led: Sequence[Participation]) -> Sentence:
    numbers = [participation.generation for participation in led if participation.generation is not None]
    unnumbered = [Clock(participation.at) for participation in led if participation.generation is None]
    sentence: list[str | Clock] = [f"{name} led {numbered(numbers)}" if numbers else f"{name} led"]
    for number, clock in enumerate(unnumbered[:TIMES_SHOWN]):
        sentence += [", " if number else " and at " if numbers else " at ", clock]
    rest = len(unnumbered) - TIMES_SHOWN
    return (*sentence, f" and {rest} more") if rest > 0 else tuple(sentence)


def _together(burst: Burst) -> Passage:
    numbers = [generation for generation in burst.generations if generation is not None]
    named = f" ({numbered(numbers)})" if numbers else ""
    failed = sum(failure.times for failure in burst.failures)
    length = duration(burst.ended_at - burst.started_at)
    rest = f"{named}; {count(failed, 'JoinGroup or SyncGroup request')} failed in between." if failed else f"{named}."
    return Passage(
        sentence=(f"{burst.rebalances} rebalances within {length} from ", Clock(burst.started_at), rest),
        details=(*_reasons(burst), *_failures(burst.failures)),
    )


def _reasons(burst: Burst) -> Iterator[Sentence]:
    later = list(zip(burst.generations[1:], burst.reasons, strict=True))
    kinds: dict[str, list[int | None]] = defaultdict(list)
    for generation, reason in later:
        kinds[reason or "no reason was logged"].append(generation)
    for reason, generations in list(kinds.items())[:REASONS_SHOWN]:
        numbers = [generation for generation in generations if generation is not None]
        yield (f"{numbered(numbers) if numbers else 'the next rebalance'} began: {reason}",)
    if len(kinds) > REASONS_SHOWN:
        yield (f"and for {len(kinds) - REASONS_SHOWN} more reasons",)


def _failures(failures: Sequence[FailedAttempt]) -> Iterator[Sentence]:
    for failure in failures[:FAILURES_SHOWN]:
        error = f" with {failure.error}" if failure.error else ""
        again = f", {failure.times} times" if failure.times > 1 else ""
        who = f" of {failure.who}" if failure.who else ""
        yield (
            f"{failure.api}{who} failed at ",
            Clock(failure.at),
            f"{error}{again}: {failure.why} ({place(failure.evidence)})",
        )
    if len(failures) > FAILURES_SHOWN:
        yield (f"and {count(sum(failure.times for failure in failures[FAILURES_SHOWN:]), 'more failure')}",)


def _spaced(spacings: Sequence[Spacing]) -> Iterator[Passage]:
    # Consecutive even gaps of one setting count as one rhythm; then single gaps that a setting explains.
    for (evenly, setting, _), together in groupby(_in_rows(spacings), key=itemgetter(0)):
        rhythm = [spacing for _, spacing in together]
        yield from (
            [_rhythm(rhythm, setting)]
            if evenly and len(rhythm) > 1
            else [_rhythm([spacing], setting) for spacing in rhythm]
        )


def _in_rows(spacings: Sequence[Spacing]) -> Iterator[tuple[tuple[bool, str | None, int], Spacing]]:
    """Each gap with a key that consecutive gaps of the same setting share."""
    row, end = 0, None
    for spacing in spacings:
        row += spacing.from_generation != end
        end = spacing.to_generation
        yield (spacing.evenly, spacing.setting, row), spacing


def _rhythm(rhythm: Sequence[Spacing], setting: str | None) -> Passage:
    shortest, longest = (duration(edge(spacing.gap_ms for spacing in rhythm)) for edge in (min, max))
    length = shortest if shortest == longest else f"{shortest} to {longest}"
    begin, end = rhythm[0], rhythm[-1]
    numbers = [n for n in (begin.from_generation, end.to_generation) if n is not None]
    span: Sentence = (
        (f"Generation{'s' if len(numbers) > 1 else ''} {' to '.join(map(str, numbers))}",)
        if numbers
        else ("The rebalance before ", Clock(begin.at))
    )
    gaps = f"{len(rhythm)} regular intervals of {length}" if len(rhythm) > 1 else f"{length} apart"
    why = dict.fromkeys(spacing.why for spacing in rhythm if spacing.why)
    return Passage(sentence=(*span, f": {gaps}{_setting(begin, setting)}."), details=tuple((each,) for each in why))


def _setting(spacing: Spacing, setting: str | None) -> str:
    if setting is None or spacing.value_ms is None:
        return ""
    known = "in the logs" if spacing.configured else "by default; not in the logs"
    # A timer may have started within the gap, so that the gap is longer than the setting.
    verb = "matches" if spacing.gap_ms <= spacing.value_ms * AS_LONG else "includes"
    return f", which {verb} {setting} ({spacing.value_ms} ms {known})"


def _participants(rounds: Sequence[Participation]) -> Iterator[Passage]:
    known = [participation for participation in rounds if participation.members is not None]
    if rounds and not known:
        counted = {(participation.clients, participation.consumers) for participation in rounds}
        if len(counted) == 1 and rounds[0].consumers is not None:
            clients = f"{count(rounds[0].clients, 'client')} with " if rounds[0].clients is not None else ""
            counts = f"{clients}{count(rounds[0].consumers, 'consumer')}"
            yield Passage(sentence=(f"{counts} each time, as the leader counted.",))
        return
    changed = [
        participation for participation in known if participation.missing or participation.new or participation.renewed
    ]
    first = known[:1]
    for participation in first:
        names = some(participation.members or (), NAMES_SHOWN)
        every: Sentence = (
            ("each time",)
            if not changed and len(known) > 1
            else ("in ", *which(participation.generation, participation.at))
        )
        yield Passage(
            sentence=(f"{count(len(participation.members or ()), 'member')} ", *every, f": {names or 'nobody'}.")
        )
    seen: set[str] = set()
    for participation in known:
        if participation.missing or participation.new or participation.renewed:
            yield _change(participation, seen)
        seen.update(participation.members or ())


def _change(participation: Participation, seen: Collection[str]) -> Passage:
    # Changes since the previous rebalance; a member seen before that is back, not new.
    groups = (
        ("missing", participation.missing),
        ("new", [name for name in participation.new if name not in seen]),
        ("back", [name for name in participation.new if name in seen]),
        ("back under a new id", participation.renewed),
    )
    parts = [f"{label}: {some(names, NAMES_SHOWN)}" for label, names in groups if names]
    size = count(len(participation.members or ()), "member")
    label, *clock = which(participation.generation, participation.at)
    return Passage(sentence=(capitalized(str(label)), *clock, f": {size}; {'; '.join(parts)}."))
