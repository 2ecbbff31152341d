"""Rebalances of which the coordinator says only that they began: before 2.1 it names neither a reason nor a member."""

from __future__ import annotations

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import RebalanceStarted
from rebalance_forensics.timeline.facts import Rebalance


def lacks_reason(rebalance: Rebalance) -> bool:
    """Whether the line that opens it gives no reason: anybody may have come, gone or rejoined."""
    return any(_gives_no_reason(event) for event in rebalance.events)


def _gives_no_reason(event: Event) -> bool:
    return isinstance(event, RebalanceStarted) and event.trigger is None and not event.reason
