"""The coordinators of a group over time, and evictions by brokers that no longer coordinate it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import EventIndex, time_of
from rebalance_forensics.timeline.identity.names import broker_name
from rebalance_forensics.timeline.model import CoordinatorTerm
from rebalance_forensics.timeline.windows import HEARTBEAT_MS


def coordinators_of(events: Sequence[Event]) -> tuple[CoordinatorTerm, ...]:
    """The terms of the coordinators in order; a client's discovery counts where no broker's own line contradicts it."""
    seen: list[tuple[int, str]] = []
    speaker, last = None, None
    for event in events:
        if event.speaker is speaker and not isinstance(event, ev.GroupUnloaded):
            continue  # the coordinator as before
        broker = _broker(event)
        if broker is None or event.at is None:
            continue
        speaker = event.speaker if event.speaker.role == "broker" and event.group is not None else None
        if broker != last:
            seen.append((event.at, broker))
            last = broker
    ends = [*(at for at, _ in seen[1:]), None]
    terms = zip(seen, ends, strict=False)
    return tuple([CoordinatorTerm(broker=broker, started_at=at, ended_at=end) for (at, broker), end in terms])


def _broker(event: Event) -> str | None:
    if isinstance(event, ev.GroupUnloaded):
        return None
    if event.speaker.role == "broker" and event.group is not None and event.speaker.broker is not None:
        return broker_name(event.speaker.broker)
    if isinstance(event, ev.CoordinatorFound) and event.coordinator is not None:
        return broker_name(event.coordinator)
    return None


class FormerCoordinatorLines(Struct, frozen=True):
    """Lines of former coordinators, by `id` of the event."""

    evicting: frozenset[int] = frozenset()
    """Evictions after another broker had loaded the group, before this one learned of it."""
    too_late: frozenset[int] = frozenset()
    """Lines after the broker had unloaded the group itself: they concern no member any more."""


# A broker that was paused expires every session when it wakes up, before it learns that it lost the group
# (GroupCoordinator.onExpireHeartbeat, onResignation). Its timers also outlive the group: a join that it had begun times
# out after it has unloaded the group, and it removes the members that have not rejoined (onCompleteJoin). The members
# go on with its successor.
def lines_of_former_coordinators(events: EventIndex) -> FormerCoordinatorLines:
    """The lines of brokers about members that they no longer coordinate."""
    # A broker counts as a former coordinator only if it unloads the group later and neither loads it nor completes a
    # generation before: the line that it got the group back may be missing.
    if not events.has_type(ev.GroupUnloaded):
        return FormerCoordinatorLines()
    void: set[int] = set()
    evictions: dict[int, list[tuple[Event, bool]]] = {}
    unloaded: set[int] = set()
    too_late: set[int] = set()
    holder: int | None = None
    for event in events:
        broker = event.speaker.broker
        if broker is None or event.group is None:
            continue
        match event:
            case ev.GroupLoaded():
                holder = broker
                evictions.pop(broker, None)
                unloaded.discard(broker)
            case ev.GroupUnloaded():
                void |= {id(e) for e, late in evictions.pop(broker, ()) if late or _was_unwritten(e, event)}
                unloaded.add(broker)
            case ev.MemberFailed() | ev.RebalanceAbandoned() if broker in unloaded:
                too_late.add(id(event))
            case ev.GenerationStabilized() | ev.GroupEmptied() | ev.RebalanceStarted(generation=0):
                evictions.pop(broker, None)
                unloaded.discard(broker)
            case ev.MemberFailed() | ev.RebalanceStarted(trigger="heartbeat-expired"):
                evictions.setdefault(broker, []).append((event, holder not in (None, broker)))
    return FormerCoordinatorLines(frozenset(void), frozenset(too_late))


def _was_unwritten(evicting: Event, unloading: Event) -> bool:
    # True for an eviction just before the group was unloaded: the next coordinator loads the member again.
    # Evictions reach __consumer_offsets with the next generation only (GroupMetadataManager.storeGroup), and none was
    # created since. A member that was evicted earlier is unknown to the next coordinator as well.
    return time_of(unloading) - time_of(evicting) <= HEARTBEAT_MS
