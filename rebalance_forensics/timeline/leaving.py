"""Why a member left, from the words of its LeaveGroup."""

from __future__ import annotations

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.facts import DepartureWhy


def why_left(reason: str | None, why: str | None) -> DepartureWhy:
    """The kind of departure that a leave reason tells; `left` when it tells nothing."""
    text = (reason or "").lower()
    if why == "poll-timeout" or "poll timeout" in text:
        return "poll-timeout"
    if why == "unsubscribed" or "unsubscribed" in text:
        return "unsubscribed"
    if why == "closed" or "being closed" in text:
        return "closed"
    if why == "removed-by-admin":
        return "removed-by-admin"
    return "left"


def reason_text(event: Event) -> str | None:
    """The reason as the line words it."""
    for name in ("reason", "client_reason"):
        value = getattr(event, name, None)
        if isinstance(value, str):
            return value
    return None
