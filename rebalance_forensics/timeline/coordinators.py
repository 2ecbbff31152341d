"""The coordinators of a group over time: the brokers that wrote its lines, and those that clients discovered."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorFound, GroupLoaded, GroupUnloaded
from rebalance_forensics.timeline.model import CoordinatorTerm


def coordinators_of(events: Sequence[Event]) -> tuple[CoordinatorTerm, ...]:
    """The terms of the coordinators in order; a client's discovery counts where no broker's own line contradicts it."""
    seen: list[tuple[int, str]] = []
    speaker, last = None, None
    for event in events:
        if event.speaker is speaker and not isinstance(event, GroupUnloaded):
            continue  # the coordinator as before
        broker = _broker(event)
        if broker is None or event.at is None:
            continue
        speaker = event.speaker if event.speaker.role == "broker" and event.group is not None else None
        if broker != last:
            seen.append((event.at, broker))
            last = broker
    terms = []
    for index, (start, broker) in enumerate(seen):
        end = seen[index + 1][0] if index + 1 < len(seen) else None
        terms.append(CoordinatorTerm(broker=broker, started_at=start, ended_at=end))
    return tuple(terms)


def _broker(event: Event) -> str | None:
    if isinstance(event, GroupUnloaded):
        return None
    if event.speaker.role == "broker" and event.group is not None and event.speaker.broker is not None:
        return f"broker-{event.speaker.broker}"
    if isinstance(event, CoordinatorFound | GroupLoaded):
        coordinator = getattr(event, "coordinator", None)
        if coordinator is not None:
            return f"broker-{coordinator}"
    return None
