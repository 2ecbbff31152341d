"""Rebalances without a logged reason or member: coordinators before 2.1 log only that they began."""

from __future__ import annotations

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import RebalanceStarted
from rebalance_forensics.timeline.facts import Rebalance


def lacks_reason(rebalance: Rebalance) -> bool:
    """True if its opening line gives no reason: any member may have joined, left or rejoined."""
    return any(_gives_no_reason(event) for event in rebalance.events)


def _gives_no_reason(event: Event) -> bool:
    return isinstance(event, RebalanceStarted) and event.trigger is None and not event.reason
