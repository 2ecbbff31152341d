"""Current assignments as a coordinator prints them (KIP-848, KIP-1071; DEBUG from 4.0 on).

Partitions are named by topic id there and tasks by subtopology and number, so this speaks only where no member does.
"""

from __future__ import annotations

from rebalance_forensics.events.epochs import MemberReconciled
from rebalance_forensics.timeline.ownership.consumers import Consumers
from rebalance_forensics.timeline.ownership.readings import Ledger, Loss


def reconciled(ledger: Ledger, consumers: Consumers, event: MemberReconciled, at: int) -> None:
    """A member has what is assigned, and no longer reads what it was told to revoke."""
    owner = consumers.of_member(event.member)
    if owner is None:
        return
    gone = [partition for partition in ledger.owned.get(owner, ()) if partition not in event.assigned]
    ledger.release(owner, gone, Loss(at=at, why="revoked"))
    ledger.assign(owner, event.assigned, at)
