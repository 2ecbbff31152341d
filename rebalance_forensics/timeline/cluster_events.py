"""The events of a cluster that name no group, indexed once for all groups: by broker, place and client."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations, groupby, takewhile
from types import MappingProxyType

from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event, member_ids_in
from rebalance_forensics.records import SECOND_MS, EpochMs, Origin
from rebalance_forensics.timeline.clocks.broker_clocks import broker_skews
from rebalance_forensics.timeline.clocks.file_clocks import FileClock, Place, on_one_clock, place_of, with_times
from rebalance_forensics.timeline.coverage import LogsRead
from rebalance_forensics.timeline.event_index import EventIndex, distinct
from rebalance_forensics.timeline.group_attribution import is_of_a_process, places_and_clients, streams_client_of
from rebalance_forensics.timeline.identity.copied_logs import without_copies
from rebalance_forensics.timeline.identity.log_writers import (
    instance_of,
    log_stem,
    with_brokers,
    with_homes,
    with_roles,
)
from rebalance_forensics.timeline.identity.names import application_of, has_unique_suffix
from rebalance_forensics.timeline.identity.participants import Participants, home_of, place_name
from rebalance_forensics.timeline.orchestration import Orchestration
from rebalance_forensics.timeline.process_logs import ProcessLog, ProcessLogs
from rebalance_forensics.timeline.time_index import Extent, grouped, linked, lists_by_key, sets_by_key
from rebalance_forensics.timeline.unnamed_groups import (
    UnnamedClients,
    UnnamedGroup,
    keeps_all_groups_out,
    unnamed_groups,
)
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS
from rebalance_forensics.utc_offsets import QUARTER_HOUR_MS, offset_at


class UngroupedEvents:
    """The events of a cluster that name no group.

    Broker lines concern every group, so all timelines share one list of them. Lines of clients, and lines that name a
    member, become part of the timelines of the groups that they may concern.
    """

    def __init__(self, events: Iterable[Event] = (), logs: LogsRead = MappingProxyType({})) -> None:
        self.logs = logs
        """The extent of each log of the cluster, on its own clock."""
        everybody = tuple(events)
        self.dropped = tuple(e for e in everybody if type(e) is ev.LinesDropped)
        """What those that write or collect logs report of lines that they dropped."""
        others = tuple(e for e in everybody if type(e) is not ev.LinesDropped) if self.dropped else everybody
        dated = tuple(_dated_by_start(others))
        self.untimed_of_hosts = tuple(e for e in dated if e.at is None and isinstance(e, ev.OF_THE_HOST))
        """What JVMs and the kernel printed without a time: it belongs to no moment, not even that of the line above."""
        timed = (
            tuple(e for e in dated if e.at is not None or not isinstance(e, ev.OF_THE_HOST))
            if self.untimed_of_hosts
            else dated
        )
        all_events = with_homes(timed, logs)
        reported = [event for event in all_events if isinstance(event, ev.OF_THE_ORCHESTRATOR)]
        self.orchestration = Orchestration(reported)
        """What orchestrators report of pods, whichever cluster their members are connected to."""
        everything = (
            tuple(e for e in all_events if not isinstance(e, ev.OF_THE_ORCHESTRATOR)) if reported else all_events
        )
        (known,), self.copies = without_copies(everything)
        """Copies of one log by lines without a group; a group's own lines may be too few to show it."""
        shared = with_brokers(with_roles(known, ()))
        self._at: dict[Place, list[Event]] = defaultdict(list)
        self._by_place: dict[str, list[Event]] = defaultdict(list)
        self._places_of_client: dict[str, set[str]] = defaultdict(set)
        self._clients_named_after: dict[str, set[str]] = defaultdict(set)
        self._unnamed = UnnamedClients()
        self._lone_processes: dict[str, list[Event]] = defaultdict(list)
        """File -> starts and stops on hosts of which it has nothing else, as in files that were put together."""
        # Lines of a JVM or the kernel on a broker's host do not name the broker, but concern its groups.
        homes = {home_of(event) for event in shared if event.speaker.role == "broker"}
        by_brokers: list[Event] = []
        for event in shared:
            self._at[place_of(event)].append(event)
            if event.speaker.role == "broker" or (isinstance(event, ev.OF_THE_HOST) and home_of(event) in homes):
                by_brokers.append(event)
            else:
                self._by_place[place_name(event)].append(event)
                self._note_client(event)
        for events_there in self._by_place.values():
            if all(
                isinstance(event, ev.WorkerStarted | ev.WorkerStopped | ev.SettingsReported) for event in events_there
            ):
                for event in events_there:
                    self._lone_processes[event.speaker.file].append(event)
        naming = filter(_names_member, by_brokers)
        self._naming = lists_by_key((name, event) for event in naming for name in _member_names(event))
        """Member id or instance id -> coordinators' lines with it that print no group, as a fencing does."""
        common = distinct(event for event in by_brokers if not _names_member(event))
        self.witnesses = tuple(_witnesses(common))
        """The lines of each broker's log that show its clock."""
        self._brokers = with_times(common)
        # A log that is partly a copy was not written by one broker throughout.
        written, kept = (Counter(map(place_of, found)) for found in (everything, known))
        self._logs_of_brokers = BrokerLogs(common, {at: log for at, log in logs.items() if written[at] == kept[at]})
        self._depth = 0
        self._on_clock: dict[tuple[object, ...], EventIndex] = {}

    @cached_property
    def broker_skews(self) -> Mapping[Place, int]:
        """How far, in ms, the clocks of some brokers' logs are ahead of those of most brokers."""
        return broker_skews([event for event in self._brokers if event.speaker.role == "broker"])

    @cached_property
    def clusters(self) -> dict[str, UngroupedEvents]:
        """Directory -> events of the cluster with logs in it, if two brokers with the same id prove several clusters.

        Empty if there is one cluster, or if the logs of several clusters are in the same directory.
        """
        paths = {path for path, _ in self.logs} - self.orchestration.files
        found = self._logs_of_brokers.directories_of_clusters(paths)
        if found is None:
            return {}
        self._depth, names = found
        files = sets_by_key((_directory_at(file, self._depth), file) for file, _ in {*self._at, *self.logs})
        return {name: self._in_files(files[name]) for name in sorted(names)}

    def _in_files(self, files: Collection[str]) -> UngroupedEvents:
        events = (event for (file, _), in_log in self._at.items() if file in files for event in in_log)
        logs = {place: log for place, log in self.logs.items() if place[0] in files}
        dropped = (event for event in self.dropped if event.speaker.file in files)
        return UngroupedEvents((*events, *dropped, *self.orchestration, *self.untimed_of_hosts), logs)

    def by_cluster(
        self, cluster: str, group_events: Iterable[Event]
    ) -> Iterator[tuple[str, UngroupedEvents, Iterable[Event]]]:
        """A group's lines for each cluster: groups with the same name in two clusters are different groups."""
        if not self.clusters:
            yield from self._by_cluster_of_logs(cluster, tuple(group_events))
            return
        by_directory = grouped(group_events, lambda event: _directory_at(event.speaker.file, self._depth))
        for name, ungrouped in self.clusters.items():
            if name in by_directory:
                yield name, ungrouped, [replace(event, cluster=name) for event in by_directory[name]]

    def _by_cluster_of_logs(
        self, cluster: str, group_events: Sequence[Event]
    ) -> Iterator[tuple[str, UngroupedEvents, Sequence[Event]]]:
        """`by_cluster` for logs in one directory; logs that may be from several clusters keep the common name."""
        clusters = clusters_of_logs(group_events, self._logs_of_brokers)
        if not clusters:
            yield cluster, self, group_events
            return
        for name, events in grouped(group_events, lambda event: clusters.get(event.speaker.file, cluster)).items():
            foreign = {file for file, other in clusters.items() if other != name}
            ungrouped = self._in_files({file for file, _ in {*self._at, *self.logs}} - foreign)
            yield name, ungrouped, [replace(event, cluster=name) for event in events]

    def _note_client(self, event: Event) -> None:
        self._unnamed.add(event)
        client = streams_client_of(event)
        if client is not None:
            self._places_of_client[client].add(place_name(event))
            self._clients_named_after[application_of(client)].add(client)

    @cached_property
    def unnamed_groups(self) -> dict[str, UnnamedGroup]:
        """The groups of clients whose lines name no group, by generated name."""
        by_coordinators = {id(event): event for events in self._naming.values() for event in events}
        by_brokers = filter(keeps_all_groups_out, self._brokers)
        found = unnamed_groups(
            chain(chain.from_iterable(self._by_place.values()), by_coordinators.values(), by_brokers)
        )
        return {group.name: group for group in found}

    def near(self, group: str, group_events: Sequence[Event]) -> tuple[list[Event], tuple[ProcessLog, ...]]:
        """The lines of clients in the places of this group's lines or of its Streams clients, and their process logs.

        They include lines of coordinators that name a known member of the group. Lines about the process only are
        returned as process logs.
        """
        naming = self._naming_members_of(group_events)
        if not self._by_place:
            return naming, ()
        places, clients = places_and_clients(group_events)
        clients |= self._clients_named_after.get(group, set())
        places.update(*(self._places_of_client.get(c, ()) for c in clients))
        # In a log where only a coordinator logs the group, few lines can be from its members: a broker's own clients
        # log thousands of lines, and each group would have to scan them.
        of_brokers = {place_name(event) for event in group_events} - places
        files = (
            {event.speaker.file for event in group_events if event.speaker.role in ("broker", "connect")}
            if self._lone_processes
            else ()
        )
        starts = (event for file in files for event in self._lone_processes.get(file, ()))
        lines = [
            *naming,
            *(event for place in places for event in self._of_clients_at.get(place, ())),
            *(event for place in of_brokers for event in self._of_members_at.get(place, ())),
            *(event for event in starts if place_name(event) not in places | of_brokers),
        ]
        return lines, self.process_logs.at(places)

    @cached_property
    def _of_clients_at(self) -> dict[str, list[Event]]:
        """Place -> its lines that are not in its process logs."""
        kept = {place: [e for e in events if not is_of_a_process(e)] for place, events in self._by_place.items()}
        return {place: events for place, events in kept.items() if events}

    @cached_property
    def process_logs(self) -> ProcessLogs:
        """The lines of processes about themselves."""
        return ProcessLogs(filter(is_of_a_process, chain.from_iterable(self._by_place.values())))

    @cached_property
    def _of_members_at(self) -> dict[str, list[Event]]:
        # Place of a broker's log -> lines that may be from a member: starts, Streams, unknown roles.
        return {place: list(filter(_is_of_a_member, events)) for place, events in self._by_place.items()}

    def _naming_members_of(self, group_events: Sequence[Event]) -> list[Event]:
        """The lines of coordinators that name a member of this group."""
        if not self._naming:
            return []
        known = {name for event in group_events for name in _member_names(event)} & self._naming.keys()
        return list({id(event): event for name in sorted(known) for event in self._naming[name]}.values())

    def of_ungrouped_clients(self, group: str, group_events: Sequence[Event]) -> list[Event]:
        """The lines of clients without a group whose group the coordinator or a configuration shows."""
        configured = self.unnamed_groups.get(group)
        return [*self._unnamed.of_group(group, group_events), *(configured.events if configured is not None else ())]

    def in_logs_of(self, events: Iterable[Event]) -> list[Event]:
        """All lines without a group in the logs of these events."""
        return [event for place in dict.fromkeys(map(place_of, events)) for event in self._at.get(place, ())]

    def by_brokers_in_logs_of(self, events: Iterable[Event]) -> list[Event]:
        """The broker lines that name neither a group nor a member in the logs of these events."""
        return [e for e in self.in_logs_of(events) if e.speaker.role == "broker" and not _names_member(e)]

    def brokers(self, clocks: Mapping[Place, FileClock], group_events: Sequence[Event]) -> EventIndex:
        """The lines of brokers in the cluster of a group with these `group_events` lines, on the group's clock."""
        foreign = self._logs_of_brokers.foreign_to(group_events)
        key = (foreign, *{place_of(e): clocks[place_of(e)] for e in self.witnesses}.items())
        if key not in self._on_clock:
            near = (event for event in self._brokers if event.speaker.file not in foreign)
            self._on_clock[key] = EventIndex(on_one_clock(near, clocks))
        return self._on_clock[key]


def _dated_by_start(known: Sequence[Event]) -> Iterator[Event]:
    """The events; those from GC logs with uptimes only get a time if the start of their JVM is logged.

    HotSpot appends to a log if its name has no `%p` or `%t`: the runs in it match the starts in order.
    """
    if {*map(type, known)}.isdisjoint((ev.JvmStarted, ev.ThreadsStopped)):
        yield from known
        return
    starts: dict[str, set[int]] = defaultdict(set)
    logs: dict[str, set[str]] = defaultdict(set)
    for event in known:
        if type(event) is ev.JvmStarted and event.at is not None:
            starts[home_of(event)].add(event.at - round(event.uptime_s * SECOND_MS))
        if isinstance(event, ev.JvmStarted | ev.VersionReported | ev.SettingsReported):
            logs[home_of(event)].add(log_stem(event.speaker.file))
    runs: dict[str, list[list[ev.ThreadsStopped]]] = defaultdict(list)
    stops = (e for e in known if type(e) is ev.ThreadsStopped and e.at is None and e.uptime_ms is not None)
    for stop in sorted(stops, key=lambda e: e.origin.byte_offset):
        of_file = runs[stop.speaker.file]
        if not of_file or (stop.uptime_ms or 0) + SECOND_MS < (of_file[-1][-1].uptime_ms or 0):
            of_file.append([])
        of_file[-1].append(stop)
    started_at: dict[Origin, int] = {}
    for of_file in runs.values():
        home = home_of(of_file[0][0])
        started = sorted(starts[home])
        # Two applications in a directory may each have logged a start, and a run without a stop is not visible.
        if len(logs[home]) == 1 and len(started) == len(of_file):
            ends = [at + (run[-1].uptime_ms or 0) for at, run in zip(started, of_file, strict=True)]
            if all(end <= begin for end, begin in zip(ends, started[1:], strict=False)):
                started_at.update((e.origin, at) for at, run in zip(started, of_file, strict=True) for e in run)
    for event in known:
        if type(event) is ev.ThreadsStopped and event.origin in started_at:
            yield replace(event, at=EpochMs(started_at[event.origin] + (event.uptime_ms or 0)))
        elif type(event) is not ev.JvmStarted:
            yield event


def _is_of_a_member(event: Event) -> bool:
    if event.speaker.role == "unknown" or isinstance(event, ev.SettingsReported | ev.WorkerStarted | ev.WorkerStopped):
        return True
    return instance_of(event) is not None


def _member_names(event: Event) -> set[str]:
    """The member ids and instance ids in a line; a line about fencing names both members."""
    names = {getattr(event, "current_member", None), getattr(event, "instance_id", None), event.speaker.instance_id}
    return {*member_ids_in(event), *(name for name in names if name)}


def _names_member(event: Event) -> bool:
    return bool(getattr(event, "member", None) or getattr(event, "members", ()))


def _witnesses(events: Sequence[Event]) -> Iterator[Event]:
    for in_log in grouped(events, place_of).values():
        yield min(in_log, key=lambda e: (e.at is None, e.zoned))
        starts = (e for e in in_log if type(e) is ev.StartTimeReported and e.at is not None)
        for _, of_one_offset in groupby(starts, key=lambda e: offset_at(e.at or 0, e.start_time_ms)):
            yield next(of_one_offset)


# Events that occur once in a cluster reveal logs of another cluster in the same directory: a partition of
# __consumer_offsets is created once on a broker, its leader is elected once for each epoch, and a broker registers for
# the first time once (KRaft). In addition, a broker is one process: two logs with the same broker id and lines at the
# same time are from two brokers. Brokers log their cluster id at start, but all clusters created from Kafka's Docker
# examples have the same id.
class _BrokerLog:
    """The broker that wrote a file, and the events in it that occur once in a cluster."""

    def __init__(self) -> None:
        self.ids: Counter[int] = Counter()
        self.clusters: set[str] = set()
        self.once: dict[tuple[object, ...], int] = {}
        """The times of events that happen once in the life of a cluster."""
        self.components: set[str] = set()
        self.extent = Extent()

    def add(self, event: Event) -> None:
        """Add a line of the file."""
        speaker = event.speaker
        if speaker.broker is not None:
            self.ids[speaker.broker] += 1
        if speaker.component is not None:
            self.components.add(speaker.component)
        if isinstance(event, ev.ClusterReported | ev.BrokerStarted) and event.cluster_id is not None:
            self.clusters.add(event.cluster_id)
        if event.at is None:
            return
        self.extent.reach(event.at)
        match event:
            case ev.TopicChanged(topic="__consumer_offsets", partition=int()) if speaker.broker is not None:
                self.once["created", speaker.broker, event.partition] = event.at
            case ev.CoordinatorElected(epoch=int()):
                self.once["elected", event.partition, event.epoch] = event.at
            case ev.BrokerStarted(broker=int(), is_first=True):
                self.once["registered", event.broker] = event.at

    def is_of_another_cluster(self, other: _BrokerLog) -> bool:
        """True if the two cannot be from the same cluster, and neither is a copy of the other."""
        if self.clusters and other.clusters and self.clusters.isdisjoint(other.clusters):
            return True
        # Times that differ by a time zone are from one event, logged by two clocks.
        apart = (abs(at - other.once[what]) % QUARTER_HOUR_MS for what, at in self.once.items() if what in other.once)
        if any(SECOND_MS < ms < QUARTER_HOUR_MS - SECOND_MS for ms in apart):
            return True
        if not self.ids or not other.ids or self.ids.most_common(1)[0][0] != other.ids.most_common(1)[0][0]:
            return False
        return (self.extent.overlap_ms(other.extent) or 0) > 0 and not self.components.isdisjoint(other.components)


class BrokerLogs:
    """The logs of brokers, and the pairs of logs that cannot be from the same cluster."""

    def __init__(self, events: Iterable[Event], extents: LogsRead = MappingProxyType({})) -> None:
        """`extents` are the first and last time of each log: a broker may log unrecognized lines for a long time."""
        self._logs: dict[Place, _BrokerLog] = defaultdict(_BrokerLog)
        for event in events:
            self._logs[place_of(event)].add(event)
        for place, of_broker in self._logs.items():
            if (read := extents.get(place)) is not None:
                of_broker.extent.reach(read.first)
                of_broker.extent.reach(read.last)
        self._rivals: dict[Place, set[Place]] = defaultdict(set)
        for log, other in combinations(self._logs, 2):
            if _home(log) != _home(other) and self._logs[log].is_of_another_cluster(self._logs[other]):
                self._rivals[log].add(other)
                self._rivals[other].add(log)

    def contradict(self, file: str, other: str) -> bool:
        """True if the logs of two brokers cannot be from the same cluster."""
        (clusters, side), (other_clusters, other_side) = (self._sides.get(path, (None, 0)) for path in (file, other))
        return clusters is not None and clusters == other_clusters and side != other_side

    @cached_property
    def _sides(self) -> dict[str, tuple[int, int]]:
        """Log -> two contradicting clusters and the one that it is from; empty if there are more than two."""
        # If the first log rules out the second and the second the third, the first and third are from one cluster.
        found: dict[str, tuple[int, int]] = {}
        for number, start in enumerate(self._rivals):
            sides = {start: 0} if start[0] not in found else {}
            waiting = [*sides]
            while waiting:
                place = waiting.pop()
                fresh = [rival for rival in self._rivals[place] if rival not in sides]
                sides |= dict.fromkeys(fresh, 1 - sides[place])
                waiting += fresh
            if all(sides[rival] != side for place, side in sides.items() for rival in self._rivals[place]):
                found |= {place[0]: (number, side) for place, side in sides.items()}
        return found

    def directories_of_clusters(self, paths: Collection[str]) -> tuple[int, frozenset[str]] | None:
        """The depth and names of the directories of several clusters, if each cluster has its own directory.

        None unless they contain all of these files, and, if there are several broker ids, several in each directory.
        """
        pairs = [(place[0], rival[0]) for place, rivals in self._rivals.items() for rival in rivals]
        depths = {_shared_directories(path, other) for path, other in pairs}
        if len(depths) != 1:
            return None
        depth = depths.pop()
        if any(path.count("/") <= depth + 1 for pair in pairs for path in pair):
            return None  # the directories directly above the files are hosts
        names = frozenset(path.split("/")[depth] for pair in pairs for path in pair)
        brokers: dict[str | None, set[int]] = defaultdict(set)
        for (path, _), log in self._logs.items():
            brokers[_directory_at(path, depth)].update(log.ids)
        several = max(map(len, brokers.values())) > 1 or len(set().union(*brokers.values())) == 1
        return (depth, names) if several and all(_directory_at(path, depth) in names for path in paths) else None

    def foreign_to(self, group_events: Sequence[Event]) -> frozenset[str]:
        """The files of brokers that are not in a group's cluster, by the group's own lines."""
        # The group's clients log the cluster id. Of two brokers with the same id, the one in the group's cluster logs
        # the group; else its log is nearer to logs with the group, else it ran at that time.
        of_group = [event for event in group_events if event.group is not None]
        places = {place_of(event) for event in of_group}
        ids = {event.cluster_id for event in of_group if type(event) is ev.ClusterReported}
        of_others = frozenset(
            place[0]
            for place, log in self._logs.items()
            if ids and log.clusters and place not in places and ids.isdisjoint(log.clusters)
        )
        if not self._rivals:
            return of_others
        lasted = Extent()
        for event in of_group:
            lasted.reach(event.at)
        files = {place[0] for place in places}

        def nearness(place: Place) -> tuple[bool, int, int, int]:
            return (
                place in places,
                *_nearness(place[0], files),
                max(self._logs[place].extent.overlap_ms(lasted) or 0, 0),
            )

        return of_others.union(
            place[0]
            for place, rivals in self._rivals.items()
            if place not in places and any(nearness(rival) > nearness(place) for rival in rivals)
        )


# A member id is issued by one coordinator to one client, so logs that name the same member are from one cluster.
# Clients log their cluster id ("Cluster ID: …"). If they do not, or if all clusters have the id of Kafka's Docker
# examples, two brokers that cannot be from one cluster prove that there are two clusters. So do two coordinators that
# alternate with different generations: in one cluster, a coordinator continues from the generation of its predecessor.
def clusters_of_logs(group_events: Sequence[Event], brokers: BrokerLogs) -> Mapping[str, str]:
    """Log -> cluster, by cluster id or the coordinator's log, if a group's lines are from several clusters; else empty.

    Also empty if logs of two clusters have a member in common: a concatenated file proves nothing.
    """
    ids = _cluster_ids(group_events)
    created = (e for e in group_events if type(e) is ev.GenerationStabilized)
    counts = lists_by_key((e.speaker.file, (e.at, e.generation)) for e in created if e.at is not None)
    hosts = {event.speaker.file: event.speaker.host for event in group_events if event.speaker.role == "broker"}
    several = len({*ids.values()}) > 1
    if not several and len(counts) < 2:
        return {}
    found: dict[str, str] = {}
    for together in _linked_logs(group_events):
        named = {ids[file] for file in together if file in ids}
        if len(named) > 1:
            return {}
        coordinator = min((file for file in together if file in counts), default=None)
        others = [file for file in counts if file not in together]
        apart = coordinator is not None and any(
            brokers.contradict(coordinator, other) or _count_by_turns(counts[coordinator], counts[other])
            for other in others
        )
        if several and named:
            found |= dict.fromkeys(together, named.pop())
        elif apart and coordinator is not None:
            found |= dict.fromkeys(together, hosts[coordinator] or coordinator)
    return found if len({*found.values()}) > 1 else {}


def reported_clusters(group_events: Sequence[Event], participants: Participants) -> Mapping[str, str]:
    """Log -> the cluster id that its client reports, or most of the clients whose members its broker names.

    There are several ids if `clusters_of_logs` found a common member and therefore keeps all lines in one group.
    """
    found = _cluster_ids(group_events)
    if len({*found.values()}) <= 1:
        return found
    named: dict[str, Counter[str]] = defaultdict(Counter)
    for event in group_events:
        participant = participants.of_member(getattr(event, "member", None) or "")
        if event.speaker.role == "broker" and participant is not None:
            named[event.speaker.file].update(found[file] for file in participant.files if file in found)
    return found | {path: clusters.most_common(1)[0][0] for path, clusters in named.items() if clusters}


def _cluster_ids(group_events: Iterable[Event]) -> dict[str, str]:
    return {event.speaker.file: event.cluster_id for event in group_events if type(event) is ev.ClusterReported}


def _count_by_turns(counted: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> bool:
    # True if the generation of one advances while the other has a different one, for longer than clock skew and a
    # rebalance explain.
    for first, second in ((counted, other), (other, counted)):
        for at, generation in second:
            before = [number for when, number in first if when < at - ONE_REBALANCE_MS]
            after = [number for when, number in first if when > at + ONE_REBALANCE_MS]
            if before and after and not max(before) <= generation <= min(after):
                return True
    return False


def _linked_logs(group_events: Sequence[Event]) -> list[set[str]]:
    names: dict[str, set[str]] = defaultdict(set)
    for event in group_events:
        names[event.speaker.file].update(filter(has_unique_suffix, member_ids_in(event)))
        # A copy has the same generation at the same time, possibly in another time zone.
        if type(event) is ev.GenerationStabilized and event.at is not None:
            names[event.speaker.file].add(f"{event.generation} {event.at % QUARTER_HOUR_MS}")
    return [set(files) for files in linked(sorted(names), names.__getitem__)]


def _directory_at(path: str, depth: int) -> str | None:
    """The directory at this depth of a path; None if the path is shorter."""
    directories = path.split("/")[:-1]
    return directories[depth] if depth < len(directories) else None


def _home(place: Place) -> tuple[str, str | None]:
    # The directory of a log and its host, which the files of a rolled log have in common.
    return place[0].rpartition("/")[0], place[1]


def _nearness(path: str, others: Collection[str]) -> tuple[int, int]:
    """The number of directories and of leading characters that a path has in common with the nearest other path."""
    names = ((other, [path.rpartition("/")[2], other.rpartition("/")[2]]) for other in others)
    return max(((_shared_directories(path, other), _shared(*both)) for other, both in names), default=(0, 0))


def _shared_directories(path: str, other: str) -> int:
    return _shared(path.split("/")[:-1], other.split("/")[:-1])


def _shared(some: Sequence[str], others: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(some, others, strict=False)))
