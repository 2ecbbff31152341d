"""What a broker says of a group that another broker has loaded meanwhile.

A broker that stood still expires every session when it wakes up, before it learns that it lost the group
(GroupCoordinator.onExpireHeartbeat, onResignation). The members went on with its successor: nobody has gone.
"""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import GroupLoaded, GroupUnloaded
from rebalance_forensics.events.membership import MemberFailed
from rebalance_forensics.events.rebalances import GenerationStabilized, RebalanceStarted


def words_of_former_coordinators(events: Sequence[Event]) -> set[int]:
    """The lines, by identity, that evict members after another broker has loaded the group.

    Only a broker that unloads the group later, and neither loads it nor reaches a generation before, is a former one:
    a line may be missing that tells how it got the group back.
    """
    if not any(isinstance(e, GroupLoaded) for e in events) or not any(isinstance(e, GroupUnloaded) for e in events):
        return set()
    void: set[int] = set()
    said: dict[int, list[Event]] = {}
    holder: int | None = None
    for event in events:
        broker = event.speaker.broker
        if broker is None or event.group is None:
            continue
        match event:
            case GroupLoaded():
                holder = broker
                said.pop(broker, None)
            case GroupUnloaded():
                void |= {id(e) for e in said.pop(broker, ())}
            case GenerationStabilized():
                said.pop(broker, None)
            case MemberFailed() | RebalanceStarted(trigger="heartbeat-expired") if holder not in (None, broker):
                said.setdefault(broker, []).append(event)
    return void
