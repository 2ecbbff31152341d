"""What a broker says of a group that another broker has loaded meanwhile.

A broker that stood still expires every session when it wakes up, before it learns that it lost the group
(GroupCoordinator.onExpireHeartbeat, onResignation). The members went on with its successor: nobody has gone.
"""

from __future__ import annotations

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import GroupLoaded, GroupUnloaded
from rebalance_forensics.events.membership import MemberFailed
from rebalance_forensics.events.rebalances import GenerationStabilized, RebalanceStarted
from rebalance_forensics.timeline.event_index import Told


def words_of_former_coordinators(events: Told) -> set[int]:
    """The lines, by identity, that evict members after another broker has loaded the group.

    Only a broker that unloads the group later, and neither loads it nor reaches a generation before, is a former one:
    a line may be missing that tells how it got the group back.
    """
    if not events.tells(GroupLoaded) or not events.tells(GroupUnloaded):
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
