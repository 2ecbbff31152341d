"""Events in time order, indexed by type."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from heapq import merge
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, TypeVar

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.identity.participants import place_name
from rebalance_forensics.timeline.time_index import NOTHING, TimeIndex

E = TypeVar("E", bound=Event)


def time_of(event: Event) -> int:
    """The time of an event; 0 if it has none."""
    return event.at or 0


def by_time_then_origin(event: Event) -> tuple[int, str, int]:
    """Sort key for a total order: time, then path and offset."""
    origin = event.origin
    return event.at or 0, origin.path, origin.byte_offset


def merged(some: Sequence[E], others: Sequence[E]) -> Sequence[E]:
    """Both sequences merged; each keeps its order, which in a newest-first export is not the order of offsets."""
    return list(merge(some, others, key=by_time_then_origin)) if some and others else some or others


def distinct(events: Iterable[Event]) -> list[Event]:
    """The events, oldest first, without the duplicates of a file or a block of lines that was read twice."""
    found: list[Event] = []
    for at, together in groupby(sorted(events, key=by_time_then_origin), key=attrgetter("at")):
        at_once = list(together)
        found += at_once if len(at_once) == 1 else _distinct(at_once, timed=at is not None)
    return found


def _distinct(events: Sequence[Event], *, timed: bool) -> list[Event]:
    found: dict[tuple[object, ...], Event] = {}
    # Keep the event with the shorter path: the file name of a copy has an addition.
    for event in sorted(events, key=lambda event: len(event.origin.path)):
        broker_or_client = event.speaker.broker if event.speaker.role == "broker" else event.speaker.client_id
        where = None if timed else event.origin
        found.setdefault((type(event), event.text, event.group, broker_or_client, event.speaker.host, where), event)
    kept = set(map(id, found.values()))
    return [event for event in events if id(event) in kept]


class EventIndex(TimeIndex[Event]):
    """Events, oldest first, indexed by type."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        super().__init__(events, time_of)
        places: dict[type[Event], array[int]] = defaultdict(lambda: array("q"))
        for place, event in enumerate(self):
            places[type(event)].append(place)
        self._places = dict(places)
        self._asked: dict[tuple[type[Event], ...], TimeIndex[Any]] = {}
        self._by_broker: dict[tuple[type[Event], ...], dict[int | None, TimeIndex[Any]]] = {}

    @property
    def kinds(self) -> Collection[type[Event]]:
        """The types of its events."""
        return self._places.keys()

    def has_type(self, *kinds: type[Event]) -> bool:
        """True if it contains an event of one of these types."""
        return not self._places.keys().isdisjoint(kinds)

    @cached_property
    def by_clients(self) -> TimeIndex[Event]:
        """The lines that were not written by brokers; empty if there is no client log."""
        return TimeIndex((event for event in self if event.speaker.role != "broker"), time_of, ordered=True)

    def of_type(self, *kinds: type[E]) -> TimeIndex[E]:
        """The events of these types."""
        found = self._asked.get(kinds)
        if found is None:
            known = self._places
            if known.keys().isdisjoint(kinds):
                return NOTHING
            lists = [known[kind] for kind in dict.fromkeys(kinds) if kind in known]
            places = lists[0] if len(lists) == 1 else sorted(chain.from_iterable(lists))
            found = self._asked[kinds] = TimeIndex(map(self.__getitem__, places), time_of, ordered=True)
        return found

    @cached_property
    def settings(self) -> dict[str, tuple[int, str]]:
        """Setting -> time and value in its last configuration dump."""
        dumps = ((time_of(event), event.settings) for event in self.of_type(ev.SettingsReported))
        return {name: (at, value) for at, settings in dumps for name, value in settings}

    @cached_property
    def extent(self) -> list[Event]:
        """The first and last line, and the first line of each level."""
        return [*self[:1], *self[-1:], *{event.level: event for event in reversed(self)}.values()]

    @cached_property
    def disconnected(self) -> dict[str | None, TimeIndex[ev.NodeDisconnected]]:
        """Cause -> the connections that were lost or not established for that cause."""
        return self.of_type(ev.NodeDisconnected).by(attrgetter("cause"))

    @cached_property
    def brokers(self) -> set[int]:
        """The ids of the brokers that wrote these lines."""
        by_brokers = (event.speaker for event in self if event.speaker.role == "broker")
        return {speaker.broker for speaker in by_brokers if speaker.broker is not None}

    @cached_property
    def by_broker(self) -> dict[int | None, TimeIndex[Event]]:
        """Broker -> its lines that have a time."""
        timed = (event for event in self if event.at is not None and event.speaker.role == "broker")
        return TimeIndex(timed, time_of, ordered=True).by(attrgetter("speaker.broker"))

    @cached_property
    def versions(self) -> TimeIndex[ev.VersionReported]:
        """The version lines that differ from the previous one in the same place."""
        # AppInfoParser logs the version for each AdminClient and producer: a broker's log has thousands of these lines,
        # and only the first one after an upgrade is relevant.
        found: list[ev.VersionReported] = []
        latest: dict[str, tuple[object, ...]] = {}
        for event in self.of_type(ev.VersionReported):
            place, speaker = place_name(event), event.speaker
            shown = event.product, event.version, speaker.role, speaker.file, speaker.host
            if latest.get(place) != shown:
                latest[place] = shown
                found.append(event)
        return TimeIndex(found, time_of, ordered=True)

    @cached_property
    def topics_seen(self) -> TimeIndex[ev.TopicChanged]:
        """The topic changes that clients logged after a metadata update; brokers log one for each partition."""
        seen = (event for event in self.of_type(ev.TopicChanged) if event.speaker.role != "broker")
        return TimeIndex(seen, time_of, ordered=True)

    def from_broker(self, broker: int, *kinds: type[E]) -> TimeIndex[E]:
        """The events of these types that one broker wrote."""
        by_broker = self._by_broker.get(kinds)
        if by_broker is None:
            by_broker = self._by_broker[kinds] = self.of_type(*kinds).by(attrgetter("speaker.broker"))
        return by_broker.get(broker, NOTHING)

    @cached_property
    def until(self) -> dict[str, int]:
        """Place -> time of its last event."""
        return {place_name(event): time_of(event) for event in self}


def settings_of(group_events: EventIndex, ungrouped: EventIndex) -> dict[str, str]:
    """Setting -> its latest value in all configuration dumps."""
    newer = {
        name: shown
        for name, shown in group_events.settings.items()
        if ungrouped.settings.get(name, shown)[0] <= shown[0]
    }
    return {name: value for name, (_, value) in (ungrouped.settings | newer).items()}
