"""One clock for all files: zones and skews, told by facts that two logs share.

The brokers' clock is the reference. A client learns of a generation right after the coordinator
created it, so the smallest delay between the two lines is the difference of their clocks. `Kafka startTimeMs`
prints the instant of its own line as epoch ms, which gives the zone of a file whose layout has none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import LeaveSent, Subscribed
from rebalance_forensics.events.process import ClientStarted, SettingsReported, StartTimeReported, VersionReported
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.clocks.shared_facts import SharedFacts, fact_in, facts_of
from rebalance_forensics.timeline.windows import (
    A_MINUTE_MS,
    A_SECOND_MS,
    LARGEST_SKEW_MS,
    QUARTER_HOUR_MS,
    RESTART_NOT_SKEW_MS,
    SMALLEST_SKEW_MS,
    STARTED_LATELY_MS,
)

E = TypeVar("E", bound=Event)


_AS_IT_STARTS = (SettingsReported, VersionReported, ClientStarted, Subscribed)
_LEAST_TIMES = 4
"""So many different times are not whole seconds by chance, nor whole minutes where they are whole seconds."""


class FileClock(Struct, frozen=True, kw_only=True, gc=False):
    """How one file's clock differs: `shift_ms` is subtracted from its local times to get UTC on the group's clock."""

    path: str
    host: str | None
    zone: str | None
    skew_ms: int | None
    shift_ms: int
    step_ms: int = 1
    """How far apart two of its times are at least: 1000 where its layout prints whole seconds."""


Place = tuple[str, str | None]
"""A file and, in a stream of several hosts, the host."""
Spoken = Mapping[Place, Sequence[Event]]


def place_of(event: Event) -> Place:
    """The clock an event was stamped by."""
    return event.speaker.file, event.speaker.host


def zone_name(offset_ms: int) -> str:
    """`+02:00` for 7 200 000."""
    sign, minutes = ("-" if offset_ms < 0 else "+"), abs(offset_ms) // 60_000
    return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"


def read_clocks(events: Sequence[Event]) -> dict[Place, FileClock]:
    """The clock of every file that speaks in `events`."""
    by_place: dict[Place, list[Event]] = defaultdict(list)
    for event in events:
        by_place[place_of(event)].append(event)
    zones = {place: _own_zone_ms(spoken) for place, spoken in by_place.items()}
    steps = {place: step_of(event.at for event in spoken) for place, spoken in by_place.items()}
    brokers = [place for place, spoken in by_place.items() if any(e.speaker.role == "broker" for e in spoken)]
    reference = facts_of(
        (event, event.at - (zones[place] or 0))
        for place in brokers
        for event in by_place[place]
        if event.at is not None
    )
    reference_step = max((steps[place] for place in brokers), default=1)
    speaking = set(brokers)
    others = [place for place in by_place if place not in speaking]
    logs = _logs(others, by_place, zones)
    if not reference.told:
        reference, others = _client_reference(by_place, logs, zones)
    zoned = {place: _is_zoned(spoken) for place, spoken in by_place.items()}
    clocks = {place: _clock(place, zones[place], None, steps[place], zoned=zoned[place]) for place in by_place}
    adjusted = set(others)
    for log in logs:
        shared = _difference(reference, [e for place in log.places for e in by_place[place]])
        for place in (place for place in log.places if place in adjusted):
            own = shared if len(log.places) == 1 else _difference(reference, by_place[place])
            difference = _agreed(own, shared)
            known = _clock(place, zones[place], difference, max(steps[place], reference_step), zoned=zoned[place])
            clocks[place] = replace(known, step_ms=steps[place])
    return clocks


def step_of(times: Iterable[int | None]) -> int:
    """How fine the times of a log are, in ms: layouts without fractions are common, and some print whole minutes."""
    different: set[int] = set()
    for at in times:
        if at is not None and at % A_SECOND_MS:
            return 1
        if at is not None:
            different.add(at)
    if len(different) < _LEAST_TIMES:
        return 1
    return A_SECOND_MS if any(at % A_MINUTE_MS for at in different) else A_MINUTE_MS


@dataclass(slots=True)
class _Log:
    """The files that one process wrote by one clock, in the order of their times."""

    places: list[Place]
    until: int
    clients: set[str]

    def goes_on(self, begin: int, clients: set[str]) -> bool:
        """Whether a file may be the next of this log: later than all of it, and of no other clients."""
        return self.until <= begin and not (self.clients and clients and self.clients.isdisjoint(clients))


def _logs(places: Sequence[Place], by_place: Spoken, zones: dict[Place, int | None]) -> list[_Log]:
    """The files that belong together: a rolled log tells its clock in any of them.

    Processes that run side by side write at the same time, and may have been copied into one directory.
    """
    homes: dict[tuple[str, str | None, int | None], list[_Log]] = defaultdict(list)
    spans = {place: _span(by_place[place]) for place in places}
    for place in sorted(places, key=lambda p: (spans[p], p[0])):
        begin, until = spans[place]
        clients = {e.speaker.client_id for e in by_place[place] if e.speaker.client_id is not None}
        home = homes[place[0].rpartition("/")[0], place[1], zones[place]]
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
    """What all files of a log tell of its clock, unless this one is plainly in another zone."""
    if own is None or shared is None:
        return shared
    return shared if abs(own - shared) <= LARGEST_SKEW_MS else own


def on_one_clock(events: Iterable[E], clocks: dict[Place, FileClock]) -> list[E]:
    """The events with their times moved onto the group's clock."""
    return [_moved(event, clocks.get(place_of(event))) for event in events]


def _moved(event: E, clock: FileClock | None) -> E:
    if clock is None or not clock.shift_ms or event.at is None:
        return event
    return replace(event, at=EpochMs(event.at - clock.shift_ms))


def _is_zoned(events: Sequence[Event]) -> bool:
    return all(event.zoned for event in events if event.at is not None)


def _own_zone_ms(events: Sequence[Event]) -> int | None:
    """Local time minus UTC in ms where the file itself tells it, else None."""
    if _is_zoned(events):
        return 0
    told = [e.at - e.start_time_ms for e in events if isinstance(e, StartTimeReported) and e.at is not None]
    return round(min(told, key=abs) / QUARTER_HOUR_MS) * QUARTER_HOUR_MS if told else None


def _clock(place: Place, zone_ms: int | None, difference: int | None, step: int, *, zoned: bool) -> FileClock:
    """`difference` is the file's local time minus the reference clock, of which one or both tell whole steps only.

    A time that lost its fraction lags by up to a step, which is no clock that is off.
    """
    if difference is None:
        zone = "UTC" if zoned else None if zone_ms is None else _shown_zone(zone_ms)
        return FileClock(path=place[0], host=place[1], zone=zone, skew_ms=None, shift_ms=zone_ms or 0, step_ms=step)
    zone_part = zone_ms if zone_ms is not None else _nearest_zone(difference)
    skew = difference - zone_part
    if abs(skew) > LARGEST_SKEW_MS:
        zone_part = _nearest_zone(difference)
        skew = difference - zone_part
    if step > 1:
        return _coarse_clock(place, zone_part, skew, step)
    applied = skew if abs(skew) >= SMALLEST_SKEW_MS else 0
    return FileClock(
        path=place[0], host=place[1], zone=_shown_zone(zone_part), skew_ms=skew, shift_ms=zone_part + applied
    )


def _coarse_clock(place: Place, zone_ms: int, skew: int, step: int) -> FileClock:
    """`skew` is that of the line that lost most: half a step more is the likeliest for all."""
    known = skew + step // 2 if abs(skew) >= step else None
    return FileClock(
        path=place[0],
        host=place[1],
        zone=_shown_zone(zone_ms),
        skew_ms=known,
        shift_ms=zone_ms + (known or 0),
        step_ms=step,
    )


def _shown_zone(zone_ms: int) -> str:
    return zone_name(zone_ms) if zone_ms else "UTC"


def _nearest_zone(difference: int) -> int:
    return round(difference / QUARTER_HOUR_MS) * QUARTER_HOUR_MS


def _difference(reference: SharedFacts, events: Sequence[Event]) -> int | None:
    """The file's clock minus the reference, to the network's delay; None without a shared fact."""
    after: list[int] = []
    again: list[int] = []
    began: int | None = None
    for event in sorted(events, key=lambda e: e.at or 0):
        if isinstance(event, _AS_IT_STARTS):
            began = event.at
        key = fact_in(event) if event.at is not None else None
        if event.at is not None and key is not None and key in reference.told:
            started = began is not None and event.at - began < STARTED_LATELY_MS
            (again if event.speaker.instance_id and started else after).append(event.at - reference.told[key])
    if after or again:
        return min([*after, *again]) if after else _unless_restarted(min(again))
    before = [
        event.at - reference.left[event.member]
        for event in events
        if isinstance(event, LeaveSent) and event.at is not None and event.member in reference.left
    ]
    return max(before) if before else None


def _unless_restarted(difference: int) -> int | None:
    """A static member that comes back is answered with the generation the group already had, at any time later."""
    return difference if abs(difference - _nearest_zone(difference)) <= RESTART_NOT_SKEW_MS else None


def _client_reference(
    by_place: Spoken, logs: list[_Log], zones: dict[Place, int | None]
) -> tuple[SharedFacts, list[Place]]:
    """Without a coordinator's log, the client whose zone is known and that tells most is the reference."""

    def tells(log: _Log) -> tuple[bool, int]:
        keys = sum(fact_in(event) is not None for place in log.places for event in by_place[place])
        return zones[log.places[0]] is not None, keys

    if not logs:
        return SharedFacts(), []
    chosen = max(
        sorted(logs, key=lambda log: (min(place[0] for place in log.places), log.places[0][1] or "")), key=tells
    )
    facts = SharedFacts()
    for event in (event for place in chosen.places for event in by_place[place]):
        key = fact_in(event)
        if key is not None and event.at is not None and key[0] in ("joined", "synced"):
            facts.add(key, event.at - (zones[chosen.places[0]] or 0))
    return facts, [place for log in logs if log is not chosen for place in log.places]
