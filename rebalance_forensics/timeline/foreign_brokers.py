"""Logs of another cluster in the same directory, recognized by events that happen only once in a cluster.

A partition of `__consumer_offsets` is created once on a broker, a leader is elected for it once with each epoch, and a
broker registers for the first time once (KRaft). And a broker is one process: two that have its id and write at the
same time are two brokers. Cluster ids do not always differ: all clusters made after Kafka's Docker examples share one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorElected, TopicChanged
from rebalance_forensics.events.process import BrokerStarted
from rebalance_forensics.records import SECOND_MS
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of
from rebalance_forensics.utc_offsets import QUARTER_HOUR_MS

_CREATED = "Created log for partition"
_FIRST_REGISTRATION = "No previous registration found"


class _BrokerLog:
    """The broker that one file is of, and the events in it that happen once in a cluster."""

    def __init__(self) -> None:
        self.ids: Counter[int] = Counter()
        self.once: dict[tuple[object, ...], int] = {}
        """The times of events that happen once in the life of a cluster."""
        self.components: set[str] = set()
        self.times: list[int] = []

    def add(self, event: Event) -> None:
        """Add a line of the file."""
        speaker = event.speaker
        if speaker.broker is not None:
            self.ids[speaker.broker] += 1
        if speaker.component is not None:
            self.components.add(speaker.component)
        if event.at is None:
            return
        self.times.append(event.at)
        match event:
            case TopicChanged(topic="__consumer_offsets") if _CREATED in event.text and speaker.broker is not None:
                partition = event.text.partition(_CREATED)[2].split(" in ")[0]
                self.once[_CREATED, speaker.broker, partition] = event.at
            case CoordinatorElected(epoch=int()):
                self.once["elected", event.partition, event.epoch] = event.at
            case BrokerStarted(broker=int()) if _FIRST_REGISTRATION in event.text:
                self.once["registered", event.broker] = event.at

    def is_of_another_cluster(self, other: _BrokerLog) -> bool:
        """True where both cannot be of one cluster; neither is a copy of the other.

        Times that differ by a zone are of one event, logged by two clocks.
        """
        apart = (abs(at - other.once[what]) % QUARTER_HOUR_MS for what, at in self.once.items() if what in other.once)
        if any(SECOND_MS < ms < QUARTER_HOUR_MS - SECOND_MS for ms in apart):
            return True
        if not self.ids or not other.ids or self.ids.most_common(1)[0][0] != other.ids.most_common(1)[0][0]:
            return False
        return self.overlap_ms(other.times) > 0 and not self.components.isdisjoint(other.components)

    def overlap_ms(self, times: Sequence[int]) -> int:
        """For how many ms the file was written during these times."""
        if not self.times or not times:
            return 0
        return max(min(max(self.times), max(times)) - max(min(self.times), min(times)), 0)


class BrokerLogs:
    """The logs of brokers, and the pairs of them that cannot be of one cluster."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._logs: dict[Place, _BrokerLog] = defaultdict(_BrokerLog)
        for event in events:
            self._logs[place_of(event)].add(event)
        self._rivals: dict[Place, set[Place]] = defaultdict(set)
        for log, other in combinations(self._logs, 2):
            if _home(log) != _home(other) and self._logs[log].is_of_another_cluster(self._logs[other]):
                self._rivals[log].add(other)
                self._rivals[other].add(log)

    def directories_of_clusters(self, paths: Collection[str]) -> tuple[int, frozenset[str]] | None:
        """The depth and names of the directories of several clusters, where each has its own.

        None unless they hold all of these files, and brokers of several ids each where there are several.
        """
        pairs = [(place[0], rival[0]) for place, rivals in self._rivals.items() for rival in rivals]
        depths = {_shared_directories(path, other) for path, other in pairs}
        if len(depths) != 1:
            return None
        depth = depths.pop()
        if any(path.count("/") <= depth + 1 for pair in pairs for path in pair):
            return None  # what lies directly above the files are hosts
        names = frozenset(path.split("/")[depth] for pair in pairs for path in pair)
        brokers: dict[str | None, set[int]] = defaultdict(set)
        for (path, _), log in self._logs.items():
            brokers[directory_at(path, depth)].update(log.ids)
        several = max(map(len, brokers.values())) > 1 or len(set().union(*brokers.values())) == 1
        return (depth, names) if several and all(directory_at(path, depth) in names for path in paths) else None

    def foreign_to(self, own: Sequence[Event]) -> frozenset[str]:
        """The files of brokers outside a group's cluster, by the group's own lines.

        Of two brokers with one id the group's is the one that logs it, else the one whose log lies nearer to those that
        do, else the one that ran at the time.
        """
        if not self._rivals:
            return frozenset()
        of_group = [event for event in own if event.group is not None]
        places = {place_of(event) for event in of_group}
        times = [event.at for event in of_group if event.at is not None]
        files = {place[0] for place in places}

        def nearness(place: Place) -> tuple[bool, int, int]:
            return place in places, _nearness(place[0], files), self._logs[place].overlap_ms(times)

        return frozenset(
            place[0]
            for place, rivals in self._rivals.items()
            if place not in places and any(nearness(rival) > nearness(place) for rival in rivals)
        )


def directory_at(path: str, depth: int) -> str | None:
    """The directory at a depth of a path; None where the path is shorter."""
    directories = path.split("/")[:-1]
    return directories[depth] if depth < len(directories) else None


def _home(place: Place) -> tuple[str, str | None]:
    """The directory of a log and its host: pieces of a rolled log have both in common."""
    return place[0].rpartition("/")[0], place[1]


def _nearness(path: str, others: Collection[str]) -> int:
    """The number of directories from the top that a file shares with the nearest of others."""
    return max((_shared_directories(path, other) for other in others), default=0)


def _shared_directories(path: str, other: str) -> int:
    shared = 0
    for directory, other_directory in zip(path.split("/")[:-1], other.split("/")[:-1], strict=False):
        if directory != other_directory:
            break
        shared += 1
    return shared
