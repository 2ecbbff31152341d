"""The clock of each file relative to the group's clock: time zones and skews, from facts that two logs have in common.

The reference is the clock of most brokers (`broker_clocks.py`). A client learns of a generation directly after the
coordinator created it, so the smallest delay between the two lines is the difference of their clocks.
`Kafka startTimeMs` has the time of its line as epoch ms, which shows the zone of a file whose layout has none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event, member_ids_in
from rebalance_forensics.records import MINUTE_MS, ORDER_EPOCH, SECOND_MS, EpochMs
from rebalance_forensics.timeline.clocks import shared_facts
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.windows import LARGEST_SKEW_MS, ONE_REBALANCE_MS, TICK_MS
from rebalance_forensics.utc_offsets import EASTERNMOST, SUMMER_MINUTES, name_of_offset, nearest_offset, offset_at

E = TypeVar("E", bound=Event)


_AS_IT_STARTS = (ev.SettingsReported, ev.VersionReported, ev.ClientStarted, ev.Subscribed)
# This many different times are not all whole seconds, or whole minutes, by chance.
_LEAST_TIMES = 4


Doubt = Literal["start-times", "facts"]
"""`Kafka startTimeMs` shows a zone that does not exist, or shared facts differ by more than any zone."""


class Season(NamedTuple):
    """Since the local time `begin`, the zone of the file is `east_ms` further east than in its `shift_ms`."""

    begin: int
    east_ms: int


class FileClock(Struct, frozen=True, kw_only=True, gc=False):
    """The clock of one file: `shift_ms` is subtracted from its local times to get UTC on the group's clock.

    `zone_ms` is the part of it for the time zone, which does not apply to lines with a UTC offset. `seasons` are the
    changes of the zone that start lines show when daylight saving time begins or ends.
    """

    path: str
    host: str | None
    zone: str | None = None
    """None if no line shows it."""
    skew_ms: int | None = None
    shift_ms: int = 0
    zone_ms: int = 0
    seasons: tuple[Season, ...] = ()
    step_ms: int = 1
    """The resolution of its times in ms: 1000 if its layout prints whole seconds."""
    doubt: Doubt | None = None
    """The reason why it could not be aligned with the group's clock."""

    def on_group_clock(self, at: EpochMs, *, zoned: bool = False) -> EpochMs:
        """A time of this file on the group's clock."""
        # Most files have no seasons, and this is called for each line.
        east = next((s.east_ms for s in reversed(self.seasons) if s.begin <= at), 0) if self.seasons else 0
        return EpochMs(at - self.shift_ms - east + (self.zone_ms if zoned else 0))


Place = tuple[str, str | None]
"""A file and, for a stream of several hosts, the host."""


def place_of(event: Event) -> Place:
    """The file, or file and host, with the clock of an event."""
    return event.speaker.file, event.speaker.host


@dataclass(slots=True)
class _Files:
    """The events of each file, and its clock by its own lines: its time zone and resolution."""

    events: Mapping[Place, Sequence[Event]]
    clocks: dict[Place, FileClock]

    def stamped(self, places: Iterable[Place]) -> Iterator[tuple[Event, int]]:
        """The events of some files, each with its time in UTC if the zone is known."""
        for place in places:
            at_utc = self.clocks[place].on_group_clock
            timed = ((event, event.at) for event in self.events[place] if event.at is not None)
            yield from ((event, at_utc(at, zoned=event.zoned)) for event, at in timed)

    def difference(self, reference: shared_facts.SharedFacts, places: Sequence[Place]) -> int | None:
        """The clock of a log minus the reference, up to the network delay; None without a shared fact."""
        stamped = sorted(self.stamped(places), key=lambda pair: pair[1])
        differences = shared_facts.Differences(reference)
        began: int | None = None
        for event, at in stamped:
            if isinstance(event, _AS_IT_STARTS):
                began = at
            fact = shared_facts.fact_in(event)
            if fact is not None:
                started = began is not None and at - began < ONE_REBALANCE_MS
                differences.add(fact, at, returned=event.speaker.instance_id is not None and started)
        zone_known = all(self.clocks[place].zone is not None for place in places)
        least = differences.least(max(self.clocks[place].step_ms for place in places), zone_known=zone_known)
        if least is not None:
            return least
        left = [(at, reference.left.get(event.member or "")) for event, at in stamped if type(event) is ev.LeaveSent]
        return max((at - arrived for at, arrived in left if arrived is not None), default=None)


def read_clocks(
    events: Sequence[Event],
    broker_skews: Mapping[Place, int] = MappingProxyType({}),
    clients: Mapping[Place, frozenset[str]] = MappingProxyType({}),
) -> dict[Place, FileClock]:
    """The clock of every file that `events` were read from.

    `broker_skews` is how far in ms brokers' clocks are ahead of most brokers'; `clients` are further client ids in a
    file.
    """
    by_place = grouped(events, place_of)
    files = _Files(by_place, {place: own_clock(place, spoken) for place, spoken in by_place.items()})
    for place in by_place.keys() & broker_skews.keys():
        clock, ms = files.clocks[place], broker_skews[place]
        files.clocks[place] = replace(clock, skew_ms=ms, shift_ms=clock.shift_ms + ms)
    brokers = [place for place, spoken in by_place.items() if any(e.speaker.role == "broker" for e in spoken)]
    adjusted = by_place.keys() - set(brokers) - broker_skews.keys()
    logs = _logs([place for place in by_place if place in adjusted], files, clients)
    if not logs:
        return files.clocks
    reference = _coordinator_reference(files, brokers, logs)
    reference_step = max((files.clocks[place].step_ms for place in brokers), default=1)
    if reference.is_empty:
        chosen = _best_reference(files, logs)
        reference = shared_facts.facts_of_a_member(files.stamped(chosen.places))
        adjusted -= set(chosen.places)
    clocks = dict(files.clocks)
    for log in logs:
        shared = files.difference(reference, log.places)
        for place in (place for place in log.places if place in adjusted):
            own = shared if len(log.places) == 1 else files.difference(reference, [place])
            difference = _agreed(own, shared)
            if difference is not None:
                clocks[place] = _set_by(clocks[place], difference, max(clocks[place].step_ms, reference_step))
    return clocks


def _coordinator_reference(files: _Files, brokers: Sequence[Place], logs: Sequence[_Log]) -> shared_facts.SharedFacts:
    """The facts in broker logs; if these print no zone, clients with a known zone and the same facts show it."""
    facts = shared_facts.facts_of(files.stamped(brokers))
    unknown = [place for place in brokers if files.clocks[place].zone is None and not files.clocks[place].doubt]
    if not unknown or facts.is_empty:
        return facts
    known = (log for log in logs if files.clocks[log.places[0]].zone is not None)
    found = [difference for log in known if (difference := files.difference(facts, log.places)) is not None]
    east = {nearest_offset(-difference) for difference in found}
    if len(east) != 1 or any(abs(difference) > EASTERNMOST * MINUTE_MS for difference in found):
        return facts
    minutes = east.pop()
    files.clocks |= {place: _in_zone(files.clocks[place], minutes) for place in unknown}
    return shared_facts.facts_of(files.stamped(brokers))


def _best_reference(files: _Files, logs: Sequence[_Log]) -> _Log:
    """The client's log that replaces a missing coordinator's as the reference: of known zone, with the most facts.

    A leader's log is the only one that names the members of the others, without which no number is surely theirs.
    """

    def report_count(log: _Log) -> tuple[bool, int, int]:
        events = [event for place in log.places for event in files.events[place]]
        named = {member for e in events if type(e) is ev.AssignmentComputed for member, _ in e.assignment}
        keys = sum(shared_facts.fact_in(event) is not None for event in events)
        return files.clocks[log.places[0]].zone is not None, len(named), keys

    ordered = sorted(logs, key=lambda log: (min(place[0] for place in log.places), log.places[0][1] or ""))
    return max(ordered, key=report_count)


def step_of(times: Iterable[int | None]) -> int:
    """The resolution of a log's times in ms: many layouts print whole seconds, and some whole minutes."""
    different: set[int] = set()
    for at in times:
        if at is not None and at % SECOND_MS:
            return 1
        if at is not None:
            different.add(at)
    if len(different) < _LEAST_TIMES:
        return 1
    return SECOND_MS if any(at % MINUTE_MS for at in different) else MINUTE_MS


@dataclass(slots=True)
class _Log:
    """The files that a process wrote with one clock, in the order of their times."""

    places: list[Place]
    until: int
    clients: set[str]

    def goes_on(self, begin: int, clients: set[str]) -> bool:
        """True for a file that may be the next one of this log: later than all its files, from no other clients."""
        return self.until <= begin and not (self.clients and clients and self.clients.isdisjoint(clients))


def _logs(places: Sequence[Place], files: _Files, others: Mapping[Place, frozenset[str]]) -> list[_Log]:
    """The files grouped into rolled logs, each with one clock."""
    # Files that were written at the same time are from different processes, even in the same directory.
    homes: dict[tuple[object, ...], list[_Log]] = defaultdict(list)
    spans = {place: _span(files.events[place]) for place in places}
    for place in sorted(places, key=lambda p: (spans[p], p[0])):
        begin, until = spans[place]
        clients = {e.speaker.client_id for e in files.events[place] if e.speaker.client_id is not None}
        clients |= others.get(place, frozenset()) if len(places) > 1 else frozenset()
        clock = files.clocks[place]
        home = homes[place[0].rpartition("/")[0], place[1], clock.zone is None, clock.zone_ms]
        log = next((log for log in home if log.goes_on(begin, clients)), None)
        if log is None:
            home.append(_Log([place], until, clients))
        else:
            log.places.append(place)
            log.until, log.clients = until, log.clients | clients
    return [log for home in homes.values() for log in home]


def _span(events: Sequence[Event]) -> tuple[int, int]:
    times = [e.at for e in events if e.at is not None]
    return min(times, default=0), max(times, default=0)


def _agreed(own: int | None, shared: int | None) -> int | None:
    """The difference that all files of a log show together, unless this file is clearly in another zone."""
    if own is None or shared is None:
        return shared
    return shared if abs(own - shared) <= LARGEST_SKEW_MS else own


def on_one_clock(events: Iterable[E], clocks: Mapping[Place, FileClock]) -> list[E]:
    """The events with their times moved onto the group's clock."""
    return [_moved(event, clocks.get(place_of(event))) for event in events]


def _moved(event: E, clock: FileClock | None) -> E:
    if clock is None or event.at is None:
        return event
    at = clock.on_group_clock(event.at, zoned=event.zoned)
    return event if at == event.at else replace(event, at=at)


def _in_zone(clock: FileClock, minutes: int, changes: Sequence[tuple[int, int]] = ()) -> FileClock:
    """The clock in a zone `minutes` east of UTC; `changes` are later zones, each with its local start time."""
    zone_ms = minutes * MINUTE_MS
    seasons = tuple(Season(at, east * MINUTE_MS - zone_ms) for at, east in changes)
    names = ", then ".join(map(name_of_offset, (minutes, *(east for _, east in changes))))
    return replace(clock, zone=names, shift_ms=zone_ms, zone_ms=zone_ms, seasons=seasons)


def own_clock(place: Place, events: Sequence[Event]) -> FileClock:
    """The clock of a file in its own zone, which is in every line or shown by the two times of its start lines."""
    # A start line whose two times differ by no zone was written late. Where two start lines show zones an hour apart,
    # summer time began or ended in between: each stretch has the zone of its own start line.
    starts = [e for e in events if type(e) is ev.StartTimeReported and e.at is not None]
    offsets = [(e.at or 0, offset_at(e.at or 0, e.start_time_ms)) for e in sorted(starts, key=lambda e: e.at or 0)]
    shown = [(at, minutes) for at, minutes in offsets if minutes is not None]
    east = [minutes for _, minutes in shown]
    clock = FileClock(path=place[0], host=place[1], step_ms=step_of(e.at for e in events))
    printed = all(event.zoned for event in events if event.at is not None)
    if starts and (not shown or max(east) - min(east) > SUMMER_MINUTES or (printed and 0 not in east)):
        clock, shown = replace(clock, doubt="start-times"), []
    if not shown:
        return _in_zone(clock, 0) if printed else clock
    first = 0 if printed else shown[0][1]
    return _in_zone(clock, first, [now for before, now in pairwise([(0, first), *shown]) if now[1] != before[1]])


def _set_by(known: FileClock, difference: int, step: int) -> FileClock:
    """The clock of a file whose time minus the reference clock is `difference`, both with a resolution of `step` ms."""
    # A truncated time lags by up to one step: that is not a skew.
    if abs(difference) > EASTERNMOST * MINUTE_MS:  # no zone is further from UTC
        return replace(known, doubt="facts")
    clock, skew = known, difference
    if known.zone is None:
        clock = _in_zone(known, nearest_offset(difference))
        skew -= clock.zone_ms
    # A smaller difference may as well be the network or a busy process; it is shown, not applied.
    applied = skew if abs(skew) >= 2 * TICK_MS else 0
    shown: int | None = skew
    if step > 1:  # `skew` is that of the line that lost most: half a step more is the likeliest for all
        applied = skew + step // 2 if abs(skew) >= step else 0
        shown = applied or None
    return replace(clock, skew_ms=shown, shift_ms=clock.zone_ms + applied, doubt=None)


def as_written(events: Iterable[Event]) -> Iterator[Event]:
    """The events by file, the oldest line of each file first."""
    in_files = sorted(events, key=lambda e: (e.origin.path, e.origin.byte_offset))
    for _, in_file in groupby(in_files, key=attrgetter("origin.path")):
        of_file = list(in_file)
        yield from reversed(of_file) if is_newest_first(of_file) else of_file


def is_newest_first(events: Sequence[Event]) -> bool:
    """True if the times of a file's lines decrease."""
    times = [event.at for event in events if event.at is not None]
    if times == sorted(times):
        return False
    steps = Counter((after > before) - (after < before) for before, after in pairwise(times))
    return steps[-1] > 2 * steps[1]


# Lines were written in the order of the file, or in reverse where an export is newest first.
def with_times(events: Sequence[Event], others: Sequence[Event] = ()) -> list[Event]:
    """The events as written; a line without a time takes that of the line before it in its log, `others` included.

    Those with which a log begins take that of its first line with one, if both name one member: an id is given once.
    """
    written = [*as_written([*events, *others])]
    lent = set(map(id, others))
    if None not in [event.at for event in written]:
        return [event for event in written if id(event) not in lent] if lent else written
    last = _firsts_about_the_same_members(written)
    filled = []
    for event in written:
        place = place_of(event)
        if event.at is not None:
            last[place] = event.at
        if id(event) not in lent:
            filled.append(replace(event, at=last[place]) if event.at is None and place in last else event)
    return filled


def _firsts_about_the_same_members(written: Sequence[Event]) -> dict[Place, EpochMs]:
    """The first time in each log that begins with lines without one, some about a member that dated lines name."""
    firsts: dict[Place, EpochMs] = {}
    begun: dict[Place, set[str]] = defaultdict(set)
    shared = set()
    for event in written:
        place = place_of(event)
        if event.at is not None:
            firsts.setdefault(place, event.at)
            if place in begun and not begun[place].isdisjoint(member_ids_in(event)):
                shared.add(place)
        elif place not in firsts:
            begun[place].update(member_ids_in(event))
    return {place: at for place, at in firsts.items() if place in shared}


def in_order(events: Sequence[Event]) -> list[Event]:
    """Lines without any times, with artificial times that show only their order."""
    return [replace(event, at=EpochMs(ORDER_EPOCH + at * SECOND_MS)) for at, event in enumerate(as_written(events), 1)]
