"""What a host runs, told by its lines that show it: a line without a prefix may come from anybody."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.events.base import Event, Role
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of


def with_roles(events: Sequence[Event], others: Sequence[Event]) -> Sequence[Event]:
    """The events, those of an unknown speaker with the role that most lines of its log show, here or in `others`."""
    if all(event.speaker.role != "unknown" for event in events):
        return events
    shown = _shown(events, others)
    return [_told(event, shown) for event in events]


def _shown(events: Sequence[Event], others: Sequence[Event]) -> dict[Place, Role]:
    votes: dict[Place, Counter[Role]] = defaultdict(Counter)
    for told in (events, others):
        for event in told:
            if event.speaker.role != "unknown":
                votes[place_of(event)][event.speaker.role] += 1
    return {place: counter.most_common(1)[0][0] for place, counter in votes.items()}


def _told(event: Event, shown: dict[Place, Role]) -> Event:
    role = shown.get(place_of(event)) if event.speaker.role == "unknown" else None
    return replace(event, speaker=replace(event.speaker, role=role)) if role else event
