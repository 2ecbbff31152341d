"""What a broker says of a group that it no longer coordinates.

A broker that stood still expires every session when it wakes up, before it learns that it lost the group
(GroupCoordinator.onExpireHeartbeat, onResignation). Its timers outlive the group besides: a join that it had begun
runs out after it has unloaded the group, and it removes those who have not rejoined (onCompleteJoin). The members went
on with its successor: nobody has gone.
"""

from __future__ import annotations

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import GroupLoaded, GroupUnloaded
from rebalance_forensics.events.membership import MemberFailed
from rebalance_forensics.events.rebalances import (
    GenerationStabilized,
    GroupEmptied,
    RebalanceAbandoned,
    RebalanceStarted,
)
from rebalance_forensics.timeline.event_index import EventIndex, time_of
from rebalance_forensics.timeline.windows import HEARTBEAT_MS


class FormerCoordinatorLines(Struct, frozen=True):
    """Lines of former coordinators, by identity."""

    evicting: frozenset[int] = frozenset()
    """After another broker has loaded the group: the broker does not know yet that it lost it."""
    too_late: frozenset[int] = frozenset()
    """After the broker itself has unloaded the group: there was nobody left whom they could concern."""


def lines_of_former_coordinators(events: EventIndex) -> FormerCoordinatorLines:
    """What brokers say of members that are no longer theirs.

    Only a broker that unloads the group later, and neither loads it nor reaches a generation before, is a former one:
    a line may be missing that tells how it got the group back.
    """
    if not events.has_type(GroupUnloaded):
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
            case GroupLoaded():
                holder = broker
                evictions.pop(broker, None)
                unloaded.discard(broker)
            case GroupUnloaded():
                void |= {id(e) for e, late in evictions.pop(broker, ()) if late or _was_unwritten(e, event)}
                unloaded.add(broker)
            case MemberFailed() | RebalanceAbandoned() if broker in unloaded:
                too_late.add(id(event))
            case GenerationStabilized() | GroupEmptied() | RebalanceStarted(generation=0):
                evictions.pop(broker, None)
                unloaded.discard(broker)
            case MemberFailed() | RebalanceStarted(trigger="heartbeat-expired"):
                evictions.setdefault(broker, []).append((event, holder not in (None, broker)))
    return FormerCoordinatorLines(frozenset(void), frozenset(too_late))


def _was_unwritten(evicting: Event, unloading: Event) -> bool:
    """Whether the next coordinator knows the evicted member still, though no line shows that it loaded the group.

    Only what a generation holds is written to `__consumer_offsets` (GroupMetadataManager.storeGroup), and none was
    created since. It holds for the last moments only: a member that died earlier is gone for the next coordinator too.
    """
    return time_of(unloading) - time_of(evicting) <= HEARTBEAT_MS
