"""The lines of processes about starts and connections to brokers, indexed once for all groups of a process.

Producers, admin clients and consumers of other groups write most lines of a node's log. A group needs these lines only
to see what happened to a member's process at some time, so they are indexed once per log and not for each group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import TypeVar

from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import SECOND_MS, Origin
from rebalance_forensics.timeline.clocks.file_clocks import FileClock, Place, on_one_clock, place_of
from rebalance_forensics.timeline.event_index import EventIndex, by_time_then_origin, distinct, time_of
from rebalance_forensics.timeline.identity.copied_logs import lines_in_common
from rebalance_forensics.timeline.identity.participants import (
    BY_PROCESS,
    Participant,
    Participants,
    may_have_written,
    place_name,
)
from rebalance_forensics.timeline.time_index import NOTHING, TimeIndex, grouped, joined
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS
from rebalance_forensics.utc_offsets import offset_at

E = TypeVar("E", bound=Event)
_DIFFERENT_TIMES = 4
# Each group on a host with clock skew may measure a slightly different skew; groups are processed one after another.
_MOST_CLOCKS = 4
_OF_A_CONSTRUCTOR = (ev.SettingsReported, ev.GrouplessClientReported, ev.VersionReported, ev.StartTimeReported)


def of_groupless_clients(lines: EventIndex) -> set[Origin]:
    """The versions and start times that AdminClients and producers log; their process may have started much earlier."""
    # A client logs its configuration and then its version in its constructor, in one thread (AbstractConfig,
    # AppInfoParser). If configurations are not logged, a close that soon follows shows whose version it was.
    found: set[Origin] = set()
    made: dict[tuple[str, str | None], Event] = {}
    unclaimed: dict[tuple[str, str | None], list[Event]] = defaultdict(list)
    for event in lines.of_type(*_OF_A_CONSTRUCTOR):
        thread = place_name(event), event.speaker.thread
        maker = made.get(thread)
        if isinstance(event, ev.GrouplessClientReported) and event.phase == "closed":
            found.update(e.origin for e in unclaimed.pop(thread, ()) if time_of(event) - time_of(e) < ROUND_TRIP_MS)
        elif isinstance(event, ev.SettingsReported | ev.GrouplessClientReported):
            made[thread] = event
            unclaimed.pop(thread, None)
        elif maker is None or time_of(event) - time_of(maker) >= ROUND_TRIP_MS:
            unclaimed[thread].append(event)
        elif isinstance(maker, ev.GrouplessClientReported):
            found.add(event.origin)
    return found


class ProcessLines(EventIndex):
    """The process lines of one log, on the clock of a group."""

    def __init__(self, events: Iterable[Event], name: str) -> None:
        super().__init__(events)
        self.place_name = name

    @cached_property
    def by_client(self) -> dict[str | None, EventIndex]:
        """Client id -> its lines."""
        clients = grouped(self, attrgetter("speaker.client_id"))
        return {client: EventIndex(lines) for client, lines in clients.items()}

    @cached_property
    def first_of_each(self) -> TimeIndex[Event]:
        """The first line of each client."""
        found = {event.speaker: event for event in reversed(self)}
        return TimeIndex(reversed(found.values()), time_of)

    @cached_property
    def starts(self) -> TimeIndex[Event]:
        """The versions and start times that were not logged by clients without a group."""
        groupless = of_groupless_clients(self)
        found = (e for e in self.of_type(ev.VersionReported, ev.StartTimeReported) if e.origin not in groupless)
        return TimeIndex(found, time_of, ordered=True)


class ProcessLog:
    """The process lines of one log, on its own clock."""

    def __init__(self, events: Iterable[Event], process: str | None = None) -> None:
        """`process` is the name of the process if its host runs several."""
        self.lines = distinct(events)
        self.place: Place = place_of(self.lines[0])
        self.process = process
        self._on_clock: dict[tuple[object, ...], ProcessLines] = {}
        self._named: dict[str, ProcessLog] = {}

    @property
    def place_name(self) -> str:
        """The place of its lines."""
        return self.process or place_name(self.lines[0])

    def of_process(self, process: str | None) -> ProcessLog:
        """The log under the name of a process."""
        if process is None:
            return self
        if process not in self._named:
            named = (replace(e, speaker=replace(e.speaker, place=process)) for e in self.lines)
            self._named[process] = ProcessLog(named, process)
        return self._named[process]

    @cached_property
    def times(self) -> list[int]:
        """The times of its lines."""
        return list(map(time_of, self.lines))

    @cached_property
    def clients(self) -> frozenset[str]:
        """The client ids in it."""
        return frozenset(e.speaker.client_id for e in self.lines if e.speaker.client_id is not None)

    @cached_property
    def origins(self) -> frozenset[Origin]:
        """The paths and offsets of its lines."""
        return frozenset(event.origin for event in self.lines)

    @cached_property
    def versions(self) -> TimeIndex[Event]:
        """Its version lines."""
        return TimeIndex((e for e in self.lines if isinstance(e, ev.VersionReported)), time_of)

    @cached_property
    def outline(self) -> tuple[Event, ...]:
        """The lines that determine its clock: its extent, its resolution and changes of its time zone."""
        lines = self.lines
        unzoned = next((e for e in lines if not e.zoned), lines[0])
        exact = next((e for e in lines if time_of(e) % SECOND_MS), lines[0])
        different = list({time_of(e): e for e in reversed(lines)}.values())[-_DIFFERENT_TIMES:]
        starts: list[Event] = []
        shown: int | None = None
        for event in lines:
            if isinstance(event, ev.StartTimeReported):
                offset = offset_at(time_of(event), event.start_time_ms)
                if not starts or offset != shown:
                    starts.append(event)
                shown = offset
        kept = (lines[0], lines[-1], unzoned, exact, *different, *starts)
        return tuple({id(event): event for event in kept}.values())

    def on_clock(self, clock: FileClock) -> ProcessLines:
        """Its lines on a group's clock."""
        key = clock.shift_ms, clock.zone_ms, clock.seasons
        if key not in self._on_clock:
            while len(self._on_clock) >= _MOST_CLOCKS:
                del self._on_clock[next(iter(self._on_clock))]
            self._on_clock[key] = ProcessLines(on_one_clock(self.lines, {self.place: clock}), self.place_name)
        return self._on_clock[key]


class ProcessLogs:
    """The process logs of a cluster, by place."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._logs = grouped(map(ProcessLog, grouped(events, place_of).values()), attrgetter("place_name"))

    def at(self, places: Collection[str]) -> tuple[ProcessLog, ...]:
        """The logs of these places."""
        return tuple([log for name in places for log in self._logs.get(name, ())]) if self._logs else ()

    def in_common(self, logs: Sequence[ProcessLog]) -> dict[frozenset[Place], int]:
        """Pair of these logs -> the number of lines in common, which show copies of one log."""
        places = {log.place for log in logs}
        return {
            pair: number
            for place in places
            for pair, number in self._in_common.get(place, {}).items()
            if pair <= places
        }

    @cached_property
    def _in_common(self) -> Mapping[Place, Mapping[frozenset[Place], int]]:
        found: dict[Place, dict[frozenset[Place], int]] = defaultdict(dict)
        everything = (event for logs in self._logs.values() for log in logs for event in log.lines)
        for pair, number in lines_in_common(everything).items():
            for place in pair:
                found[place][pair] = number
        return found


class ProcessEvents:
    """The lines of the processes of a group's members, by log, on the group's clock."""

    def __init__(self, logs: Sequence[ProcessLines] = ()) -> None:
        self.logs = logs
        self._spoken: dict[Participant | None, tuple[EventIndex, ...]] | None = None

    @cached_property
    def kinds(self) -> frozenset[type[Event]]:
        """The types of its events."""
        return frozenset(kind for log in self.logs for kind in log.kinds)

    def __len__(self) -> int:
        """The number of all lines."""
        return sum(map(len, self.logs))

    @cached_property
    def last(self) -> int:
        """The time of the last line; 0 without any."""
        return max((time_of(log[-1]) for log in self.logs), default=0)

    def of_type(self, *kinds: type[E]) -> TimeIndex[E]:
        """The lines of these types."""
        return joined((log.of_type(*kinds) for log in self.logs), by_time_then_origin) if self.logs else NOTHING

    def starts(self, group_events: EventIndex) -> TimeIndex[Event]:
        """The lines that show, together with a group's own lines, when the processes started."""
        # A line in a log is known to be from a member only if the log also has lines of the group.
        places = {place_name(event) for event in group_events.of_type(*_OF_A_CONSTRUCTOR)}
        parts = (log.of_type(*_OF_A_CONSTRUCTOR) if log.place_name in places else log.starts for log in self.logs)
        return joined(parts, by_time_then_origin)

    def openings(self, participants: Participants) -> TimeIndex[Event]:
        """The first line of each participant's process in each log, and the first that reports its start."""
        parts = [part for speaker, parts in self.spoken(participants).items() for part in parts if speaker is not None]
        firsts = (
            line for part in parts for line in (part[:1], part.of_type(ev.VersionReported, ev.StartTimeReported)[:1])
        )
        return TimeIndex(chain.from_iterable(firsts), time_of)

    def spoken(self, participants: Participants) -> Mapping[Participant | None, Sequence[EventIndex]]:
        """Participant -> the lines of its process; None -> the lines of logs that several participants share."""
        if self._spoken is None:
            found: dict[Participant | None, list[EventIndex]] = defaultdict(list)
            clients: dict[str, dict[str, Participant]] = defaultdict(dict)
            for (client, place), participant in participants.by_key.items() if self.logs else ():
                clients[place][client] = participant
            for log in self.logs:
                for speaker, lines in _spoken_in(log, participants, clients.get(log.place_name, {})):
                    found[speaker].append(lines)
            self._spoken = {participant: tuple(lines) for participant, lines in found.items()}
        return self._spoken


def _spoken_in(
    log: ProcessLines, participants: Participants, clients: Mapping[str, Participant]
) -> Iterator[tuple[Participant | None, EventIndex]]:
    """Each participant with its lines in a log; equivalent to `Participants.of_speaker` for each line."""
    name = log.place_name
    speaker = log[0].speaker
    if participants.kind in BY_PROCESS:
        its = participants.by_key.get((participants.kind, name))
        yield its if its is not None and may_have_written(its, speaker.file, speaker.pid) else None, log
        return
    present = participants.by_place.get(name, ())
    alone = present[0] if len(present) == 1 and may_have_written(present[0], speaker.file, speaker.pid) else None
    named = {
        client: participant
        for client, participant in clients.items()
        if participant is not alone and client in log.by_client
    }
    yield from ((participant, log.by_client[client]) for client, participant in named.items())
    if not named:
        yield alone, log
    elif others := [lines for client, lines in log.by_client.items() if client not in named]:
        yield alone, EventIndex(chain.from_iterable(others))


NO_LINES = ProcessEvents()
