"""session.timeout.ms of a group, where its logs show it."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_forensics.events.membership import MemberLeft, MemberLoaded
from rebalance_forensics.timeline.model import Protocol
from rebalance_forensics.timeline.told import Told


def session_timeout_of(events: Told, protocol: Protocol, settings: Mapping[str, str]) -> int | None:
    """What the coordinator says of a member that left or was loaded, else what a configuration shows."""
    for event in reversed(events.telling(MemberLoaded, MemberLeft)):
        assert isinstance(event, MemberLoaded | MemberLeft)
        if event.session_timeout_ms is not None:
            return event.session_timeout_ms
    # From KIP-848 on the broker sets it: what a client prints is not used.
    own = protocol in ("classic", "unknown")
    return number_in(settings, "session.timeout.ms" if own else f"group.{protocol}.session.timeout.ms")


def number_in(settings: Mapping[str, str], name: str) -> int | None:
    """A number among the settings that logs show; None if they show none."""
    value = settings.get(name, "")
    return int(value) if value.isascii() and value.isdigit() else None
