"""Roles and brokers of lines that show neither, from the other lines of the same log."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.events.base import Event, Role
from rebalance_forensics.events.process import BrokerStarted, BrokerStopped
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of


def with_roles(events: Sequence[Event], others: Sequence[Event]) -> Sequence[Event]:
    """The events, those of unknown role with the one that most lines of their log show, in `events` and `others`."""
    if all(event.speaker.role != "unknown" for event in events):
        return events
    shown = _shown(events, others)
    return [_with_role(event, shown) for event in events]


def with_brokers(events: Sequence[Event]) -> Sequence[Event]:
    """The events, starts and stops of an unnamed broker with the id of the only broker that wrote to their log."""
    nameless = {place_of(e) for e in events if _names_no_broker(e)}
    if not nameless:
        return events
    wrote: dict[Place, set[int]] = defaultdict(set)
    for event in events:
        if event.speaker.broker is not None and (place := place_of(event)) in nameless:
            wrote[place].add(event.speaker.broker)
    only = {place: next(iter(brokers)) for place, brokers in wrote.items() if len(brokers) == 1}
    return [
        replace(e, speaker=replace(e.speaker, broker=only[place_of(e)]))
        if _names_no_broker(e) and place_of(e) in only
        else e
        for e in events
    ]


def _names_no_broker(event: Event) -> bool:
    named = isinstance(event, BrokerStopped | BrokerStarted) and (event.broker is not None or event.brokers)
    return isinstance(event, BrokerStopped | BrokerStarted) and not named and event.speaker.broker is None


def _shown(events: Sequence[Event], others: Sequence[Event]) -> dict[Place, Role]:
    votes: dict[Place, Counter[Role]] = defaultdict(Counter)
    for lines in (events, others):
        for event in lines:
            if event.speaker.role != "unknown":
                votes[place_of(event)][event.speaker.role] += 1
    return {place: counter.most_common(1)[0][0] for place, counter in votes.items()}


def _with_role(event: Event, shown: dict[Place, Role]) -> Event:
    role = shown.get(place_of(event)) if event.speaker.role == "unknown" else None
    return replace(event, speaker=replace(event.speaker, role=role)) if role else event
