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
    """The time of an event; 0 where it has none."""
    return event.at or 0


def by_time_then_origin(event: Event) -> tuple[int, str, int]:
    """The key of a total order: time, then path and offset."""
    origin = event.origin
    return event.at or 0, origin.path, origin.byte_offset


def merged(some: Sequence[E], others: Sequence[E]) -> Sequence[E]:
    """Both sequences in one; each keeps its order, which in an export that is newest first is not that of offsets."""
    return list(merge(some, others, key=by_time_then_origin)) if some and others else some or others


def distinct(events: Iterable[Event]) -> list[Event]:
    """The events, each line once where a file or a block of lines was read twice; oldest first."""
    found: list[Event] = []
    for at, together in groupby(sorted(events, key=by_time_then_origin), key=attrgetter("at")):
        at_once = list(together)
        found += at_once if len(at_once) == 1 else _distinct(at_once, timed=at is not None)
    return found


def _distinct(events: Sequence[Event], *, timed: bool) -> list[Event]:
    found: dict[tuple[object, ...], Event] = {}
    # The name of a log shows whose it is, and that of a copy has something added.
    for event in sorted(events, key=lambda event: len(event.origin.path)):
        broker_or_client = event.speaker.broker if event.speaker.role == "broker" else event.speaker.client_id
        where = None if timed else event.origin
        found.setdefault((type(event), event.text, event.group, broker_or_client, event.speaker.host, where), event)
    kept = set(map(id, found.values()))
    return [event for event in events if id(event) in kept]


class EventIndex(TimeIndex[Event]):
    """Events, oldest first, with those of each type at hand."""

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
        """True where it has an event of one of these types."""
        return not self._places.keys().isdisjoint(kinds)

    @cached_property
    def by_clients(self) -> TimeIndex[Event]:
        """The lines that no broker wrote; none without a client's log."""
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
        """Setting -> the time and value of its last dump."""
        dumps = ((time_of(event), event.settings) for event in self.of_type(ev.SettingsReported))
        return {name: (at, value) for at, settings in dumps for name, value in settings}

    @cached_property
    def extent(self) -> list[Event]:
        """The first and the last line, and the first of each level."""
        return [*self[:1], *self[-1:], *{event.level: event for event in reversed(self)}.values()]

    @cached_property
    def disconnected(self) -> dict[str | None, TimeIndex[ev.NodeDisconnected]]:
        """Cause -> the connections that were lost, or not made, for it."""
        return self.of_type(ev.NodeDisconnected).by(attrgetter("cause"))

    @cached_property
    def brokers(self) -> set[int]:
        """The ids of the brokers that wrote lines."""
        by_brokers = (event.speaker for event in self if event.speaker.role == "broker")
        return {speaker.broker for speaker in by_brokers if speaker.broker is not None}

    @cached_property
    def by_broker(self) -> dict[int | None, TimeIndex[Event]]:
        """Broker -> the lines with a time that it wrote."""
        timed = (event for event in self if event.at is not None and event.speaker.role == "broker")
        return TimeIndex(timed, time_of, ordered=True).by(attrgetter("speaker.broker"))

    @cached_property
    def versions(self) -> TimeIndex[ev.VersionReported]:
        """The version lines that differ from the one before at their place."""
        # AppInfoParser logs the version of each AdminClient and producer: a broker's log has thousands of these lines,
        # of which the first after each upgrade adds something.
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
        """The changes of topics that clients found in their metadata: a broker's log has one for each partition."""
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
        """Place -> the time of its last event."""
        return {place_name(event): time_of(event) for event in self}


def settings_of(own: EventIndex, ungrouped: EventIndex) -> dict[str, str]:
    """The settings in all dumps; the latest value of each counts."""
    newer = {name: shown for name, shown in own.settings.items() if ungrouped.settings.get(name, shown)[0] <= shown[0]}
    return {name: value for name, (_, value) in (ungrouped.settings | newer).items()}
