"""The process, the host and the role that wrote each log file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from itertools import chain, pairwise
from operator import attrgetter, itemgetter

from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event, Role, member_ids_in
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of
from rebalance_forensics.timeline.group_attribution import streams_client_in, streams_client_of
from rebalance_forensics.timeline.identity.names import erlang_process, librdkafka_handle, name_in_member_id
from rebalance_forensics.timeline.identity.participants import own_member_id
from rebalance_forensics.timeline.process_logs import ProcessLog
from rebalance_forensics.timeline.time_index import Extent, lists_by_key, sets_by_key
from rebalance_forensics.timeline.windows import NEXT_HEARTBEAT_MS

# The end of a log's name with the dates and numbers of a rotation.
_ENDING = re.compile(
    r"(?:[._-]\d{4}-?\d\d-?\d\d(?:[-_T.]\d+)*|\.(?:log|out|txt|json|jsonl|gz|zst|xz|bz2|lz4|\d+))+\Z", re.IGNORECASE
)


@dataclass(slots=True, kw_only=True)
class _Log(Extent):
    """A file of a host, with the ids in it."""

    file: str
    ids: set[str] = field(default_factory=set)
    clients: set[str] = field(default_factory=set)

    def add(self, event: Event) -> None:
        """Record the ids and the time of a line of the group."""
        self.reach(event.at)
        self.ids.update(name for name in (own_member_id(event), streams_client_of(event)) if name is not None)
        if event.speaker.client_id:
            self.clients.add(event.speaker.client_id)

    def shares(self, other: _Log) -> bool:
        """True if both have lines of the same member."""
        if self.ids and other.ids:
            return not self.ids.isdisjoint(other.ids)
        return not self.clients.isdisjoint(other.clients)

    def runs_beside(self, other: _Log) -> bool:
        """True if both were written at the same time by different processes."""
        if not (self.ids and other.ids) and not (self.clients and other.clients):
            return False  # no id shows which process wrote them
        return (self.overlap_ms(other) or 0) > 0 and not self.shares(other)

    def follows(self, other: _Log) -> bool:
        """True if both are files of the same rotated log."""
        return log_stem(self.file) == log_stem(other.file) and not self.runs_beside(other)


# A line without a name belongs to the process of its place. On a host with three Streams instances the place is a file;
# on a host whose process writes two files it is the host. Files that were written at the same time without a common
# member id are from different processes.
def with_process_places(
    group_events: Sequence[Event], process_events: Sequence[Event], logs: Sequence[ProcessLog] = ()
) -> tuple[list[Event], list[Event], tuple[ProcessLog, ...]]:
    """A group's lines, nearby lines and logs; on a host with several processes, each process is a separate place."""
    group_events = _with_names_of_processes(group_events)
    group_events, process_events = with_instance_places(group_events, process_events)
    group_events, process_events = with_member_places(group_events, process_events)
    places = _places(group_events)
    if not places:
        return list(group_events), list(process_events), tuple(logs)
    by_stem = {(log_stem(file), host): place for (file, host), place in places.items()}
    for file, host in (*map(place_of, process_events), *(log.place for log in logs)):
        if (place := by_stem.get((log_stem(file), host))) is not None:
            places.setdefault((file, host), place)
    named = tuple([log.of_process(places.get(log.place)) for log in logs])
    return (
        [_placed(event, places) for event in group_events],
        [_placed(event, places) for event in process_events],
        named,
    )


def _placed(event: Event, places: Mapping[Place, str]) -> Event:
    if event.speaker.role == "broker" or event.speaker.place is not None:
        return event
    return _at(event, places.get(place_of(event)))


def _at(event: Event, place: str | None) -> Event:
    return event if place is None else replace(event, speaker=replace(event.speaker, place=place))


def _places(group_events: Sequence[Event]) -> dict[Place, str]:
    """Log -> the name of its process, for hosts with several processes."""
    by_clients = (e.speaker for e in group_events if e.speaker.role != "broker")
    files = sets_by_key((speaker.host, speaker.file) for speaker in by_clients if speaker.host is not None)
    crowded = {host for host, of_host in files.items() if len(of_host) > 1}
    if not crowded:
        return {}
    logs: dict[str, dict[str, _Log]] = {
        host: {file: _Log(file=file) for file in sorted(files[host])} for host in crowded
    }
    for event in group_events:
        if event.speaker.host in crowded and event.speaker.role != "broker":
            logs[event.speaker.host][event.speaker.file].add(event)
    named = [
        (host, name, process)
        for host, by_file in sorted(logs.items())
        for name, process in _named(_processes([*by_file.values()])).items()
    ]
    taken = Counter([*files, *(name for _, name, _ in named)])
    return {
        (log.file, host): name if taken[name] == 1 else f"{host}/{name}"
        for host, name, process in named
        for log in process
    }


def _processes(logs: Sequence[_Log]) -> list[list[_Log]]:
    """The files grouped by process; empty if the host runs only one process."""
    if not _any_beside(logs):
        return []
    found: list[list[_Log]] = []
    for log in sorted((log for log in logs if log.first is not None), key=lambda log: (log.first or 0, log.file)):
        process = _first(found, log.shares) or _first(found, log.follows)
        if process is None:
            found.append([log])
        else:
            process.append(log)
    return found


def _any_beside(logs: Sequence[_Log]) -> bool:
    # There may be thousands of files of rolled logs; they do not overlap, so few of them have to be compared.
    dated = sorted(((log.first, log.last, log) for log in logs if log.first is not None), key=itemgetter(0))
    written: list[tuple[int, int, _Log]] = []
    for number, (first, last, log) in enumerate(dated):
        while written and written[0][0] <= first:
            heappop(written)
        if any(log.runs_beside(other) for *_, other in written):
            return True
        if last is not None:
            heappush(written, (last, number, log))
    return False


def _first(processes: Sequence[list[_Log]], fits: Callable[[_Log], bool]) -> list[_Log] | None:
    return next((process for process in processes if any(map(fits, process))), None)


def _named(processes: Sequence[list[_Log]]) -> dict[str, list[_Log]]:
    """Process name -> files; the name is the last part of the path in which all processes differ."""
    paths = [process[0].file.replace("!/", "/").split("/") for process in processes]
    for depth in range(1, min(map(len, paths), default=0) + 1):
        names = [log_stem(path[-depth]) for path in paths]
        if len(set(names)) == len(names):
            return dict(zip(names, processes, strict=True))
    return {process[0].file: process for process in processes}


@lru_cache(maxsize=1 << 12)
def log_stem(path: str) -> str:
    """The path of a log without the dates and numbers of its rotation, which is the same for all its files."""
    return _ENDING.sub("", path)


# The thread of a worker's herder has the worker's client id in its name (DistributedHerder).
_HERDER = re.compile(r"DistributedHerder-(.+)-\d+")


# `kubectl logs -l app=shop` writes the lines of several Streams instances into one file without a prefix. The lines of
# a stream thread and its clients name the instance, and those of Connect workers name their client. Instances with
# lines in a file at the same time are different processes. Successive instances may be restarts of one process, unless
# the file also has lines of a broker: no process writes the lines of its coordinator.
def with_instance_places(
    group_events: Sequence[Event], process_events: Sequence[Event]
) -> tuple[Sequence[Event], Sequence[Event]]:
    """Both lists; lines of processes that share a file have the process as their place.

    Lines of Connect workers in such a file that name no worker are left out, since their worker is unknown.
    """
    together = {*_sharing_a_file(group_events), *_sharing_with_coordinator(group_events, process_events)}
    if not together:
        return group_events, process_events
    workers = {place_of(e) for e in group_events if e.speaker.role == "connect" and _named_process(e) in together}
    nobodys = [
        e.speaker.role == "connect" and place_of(e) in workers and _named_process(e) is None for e in process_events
    ]
    return [_at_instance(event, together) for event in group_events], [
        _at_instance(event, together) for event, left_out in zip(process_events, nobodys, strict=True) if not left_out
    ]


def _at_instance(event: Event, together: set[str]) -> Event:
    client = _named_process(event)
    return _at(event, client if client in together else None)


def instance_of(event: Event) -> str | None:
    """The Streams client that wrote a line, or whose state the line reports; else None."""
    if event.speaker.role == "broker":
        return None
    match event:
        case ev.StreamsStateChanged(client=str(client)):
            return client
        case ev.ThreadAdded() | ev.ThreadFailed() | ev.ProcessStopping():
            return streams_client_in(event.text) or streams_client_of(event)
    return streams_client_of(event)


def _named_process(event: Event) -> str | None:
    """The process that a line names as its writer: a Streams instance or a Connect worker; else None."""
    if event.speaker.role != "connect":
        return instance_of(event)
    found = _HERDER.fullmatch(event.speaker.thread or "")
    return event.speaker.client_id or (found[1] if found else None)


def _sharing_with_coordinator(group_events: Sequence[Event], process_events: Sequence[Event]) -> Iterator[str]:
    files = {place_of(e) for e in group_events if e.speaker.role == "broker"}
    for event in (*group_events, *process_events) if files else ():
        if place_of(event) in files and (client := _named_process(event)) is not None:
            yield client


def _sharing_a_file(events: Iterable[Event]) -> Iterator[str]:
    extents: dict[Place, dict[str, Extent]] = defaultdict(lambda: defaultdict(Extent))
    for event in events:
        if event.at is not None and (client := _named_process(event)) is not None:
            extents[place_of(event)][client].reach(event.at)
    for by_instance in extents.values():
        ordered = sorted(by_instance.values(), key=attrgetter("first", "last"))
        if any((earlier.overlap_ms(later) or 0) > NEXT_HEARTBEAT_MS for earlier, later in pairwise(ordered)):
            yield from by_instance


# brod's client id is the name of its Erlang node and process (coordinator_id, brod_group_coordinator.erl). Its own
# lines show only the process, whose number may also occur on another node.
def _with_names_of_processes(group_events: Sequence[Event]) -> Sequence[Event]:
    if not any(erlang_process(e.speaker.thread or "") for e in group_events):
        return group_events
    clients = {
        name for e in group_events for m in member_ids_in(e) if (name := name_in_member_id(m)) and erlang_process(name)
    }
    named = sets_by_key((erlang_process(name), name) for name in clients)

    def with_name(event: Event) -> Event:
        names = named.get(erlang_process(event.speaker.thread or ""), ())
        if event.speaker.client_id is not None or len(names) != 1:
            return event
        return replace(event, speaker=replace(event.speaker, client_id=next(iter(names))))

    return [*map(with_name, group_events)]


# A process may run several readers of a group. kafka-go, franz-go and KafkaJS log member ids but never a client id;
# brod logs the Erlang process that coordinates the member, librdkafka the number of the client within the process,
# often after a common client id. A client that lost its membership never reuses the member id, so ids that are in the
# same generation, or alternate, are from different members. Lines without an id may be from any of them and keep their
# place.
def with_member_places(
    group_events: Sequence[Event], process_events: Sequence[Event]
) -> tuple[Sequence[Event], Sequence[Event]]:
    """A group's lines and nearby lines; members that share a log have their first member id as their place."""
    by_clients = (e for e in group_events if e.speaker.role != "broker")
    logs = lists_by_key((_client_at(e), (reader, e)) for e in by_clients if (reader := _own_id(e)))
    several = {log: lines for log, lines in logs.items() if len({member for member, _ in lines}) > 1}
    # librdkafka logs the group with requests, but only its handle with the results.
    known = {(log, reader) for log, lines in several.items() for reader, _ in lines}
    for event in process_events if several else ():
        if (handle := librdkafka_handle(event.speaker.thread)) and (_client_at(event), handle[0]) in known:
            several[_client_at(event)].append((handle[0], event))
    places = {log: _readers(lines) for log, lines in several.items()}
    if not any(places.values()):
        return group_events, process_events

    def placed(event: Event) -> Event:
        return _at(event, places.get(_client_at(event), {}).get(_own_id(event) or ""))

    return [*map(placed, group_events)], [*map(placed, process_events)]


def _client_at(event: Event) -> tuple[Place, str | None]:
    return place_of(event), event.speaker.client_id


def _own_id(event: Event) -> str | None:
    # What a line prints of the member that wrote it: brod's process or librdkafka's handle, which outlive a member id,
    # else that, of clients without a name.
    thread = event.speaker.thread or ""
    if erlang_process(thread) or librdkafka_handle(thread):
        return erlang_process(thread) or thread
    return own_member_id(event) if event.speaker.client_id is None else None


def _readers(lines: Sequence[tuple[str, Event]]) -> dict[str, str]:
    # Member id -> the first id of its reader; empty if one reader may have had all ids successively.
    ids = {member: _MemberId(is_process=erlang_process(member) is not None) for member, _ in lines}
    for member, event in lines:
        ids[member].add(event)
    readers: list[list[str]] = []
    for member, group_events in ids.items():
        former = next(
            (ids_of for ids_of in readers if not any(ids[other].overlaps(group_events) for other in ids_of)), None
        )
        if former is None:
            readers.append([member])
        else:
            former.append(member)
    return {member: ids_of[0] for ids_of in readers for member in ids_of} if len(readers) > 1 else {}


@dataclass(slots=True, kw_only=True)
class _MemberId(Extent):
    """The lines of a member id in a log, and when it joined which generation."""

    is_process: bool = False
    """True if an Erlang process represents the member."""
    joins: dict[int, int | None] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        """Record a line with this id."""
        self.reach(event.at)
        if isinstance(event, ev.JoinSucceeded | ev.SyncSucceeded):
            self.joins.setdefault(event.generation, event.at)

    def overlaps(self, other: _MemberId) -> bool:
        """True if both were members at the same time."""
        # A deleted group restarts its generations, but not within a heartbeat.
        for at, then in ((at, other.joins[number]) for number, at in self.joins.items() if number in other.joins):
            if at is None or then is None or abs(at - then) < NEXT_HEARTBEAT_MS:
                return True
        # Late lines of a member id may follow the first lines of its successor; a process that ended logs nothing.
        margin = -1 if self.is_process and other.is_process else NEXT_HEARTBEAT_MS
        overlap = self.overlap_ms(other)
        return overlap is not None and overlap > margin


def with_homes(events: Sequence[Event], logs: Iterable[Place]) -> Sequence[Event]:
    """The events, those of a kernel, a supervisor or a JVM under the name of the host whose logs lie beside them.

    A machine may call itself otherwise than its folder is called (`ip-10-0-3-7` in `broker-2/kern.log`). It is that
    host where the logs nearest to it are of one host, others of another one, and no line elsewhere is of that name.
    """
    written = {place_of(event) for event in events if isinstance(event, ev.OF_THE_HOST)}
    files = sets_by_key((host, file) for file, host in (*written, *logs) if host is not None)
    of_hosts = {file for file, _ in written}
    named = {(tuple(file.split("/")[:-1]), host) for host in files for file in files[host] - of_hosts}
    if len({host for _, host in named}) < 2:
        return events
    strangers = {host for _, host in written if host is not None} - {host for _, host in named}
    homes = {host: set().union(*(_nearest(file, named) for file in files[host])) for host in strangers}
    whose = Counter(chain.from_iterable(homes.values()))
    known = {host: min(of_host) for host, of_host in homes.items() if len(of_host) == 1 and whose[min(of_host)] == 1}
    return [_at_home(event, known) for event in events] if known else events


def _at_home(event: Event, homes: Mapping[str, str]) -> Event:
    home = homes.get(event.speaker.host or "") if isinstance(event, ev.OF_THE_HOST) else None
    return event if home is None else replace(event, speaker=replace(event.speaker, host=home))


def _nearest(file: str, named: Iterable[tuple[tuple[str, ...], str]]) -> set[str]:
    """The hosts of the logs with the most common directories with a file; empty if there is no common directory."""
    folders = tuple(file.split("/")[:-1])
    for depth in range(len(folders), 0, -1):
        if hosts := {host for parts, host in named if parts[:depth] == folders[:depth]}:
            return hosts
    return set()


def with_roles(events: Sequence[Event], others: Sequence[Event]) -> Sequence[Event]:
    """The events; those of unknown role get the role of most lines of their log in `events` and `others`."""
    if all(event.speaker.role != "unknown" for event in events):
        return events
    votes: dict[Place, Counter[Role]] = defaultdict(Counter)
    for event in chain(events, others):
        if event.speaker.role != "unknown":
            votes[place_of(event)][event.speaker.role] += 1
    shown = {place: counter.most_common(1)[0][0] for place, counter in votes.items()}
    return [_with_role(event, shown) for event in events]


def with_brokers(events: Sequence[Event]) -> Sequence[Event]:
    """The events; starts and stops of an unnamed broker get the id of the only broker that wrote to their log."""
    nameless = {place_of(e) for e in events if _names_no_broker(e)}
    if not nameless:
        return events
    known = ((place_of(e), e.speaker.broker) for e in events if e.speaker.broker is not None)
    wrote = sets_by_key((place, broker) for place, broker in known if place in nameless)
    only = {place: next(iter(brokers)) for place, brokers in wrote.items() if len(brokers) == 1}
    return [
        replace(e, speaker=replace(e.speaker, broker=only[place_of(e)]))
        if _names_no_broker(e) and place_of(e) in only
        else e
        for e in events
    ]


def _names_no_broker(event: Event) -> bool:
    named = isinstance(event, ev.BrokerStopped | ev.BrokerStarted) and (event.broker is not None or event.brokers)
    return isinstance(event, ev.BrokerStopped | ev.BrokerStarted) and not named and event.speaker.broker is None


def _with_role(event: Event, shown: dict[Place, Role]) -> Event:
    role = shown.get(place_of(event)) if event.speaker.role == "unknown" else None
    return replace(event, speaker=replace(event.speaker, role=role)) if role else event
