"""session.timeout.ms of a group, where its logs show it."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_forensics.events.membership import MemberLeft, MemberLoaded
from rebalance_forensics.timeline.event_index import Told
from rebalance_forensics.timeline.model import Protocol

_LONGEST = 19
"""Digits beyond these no long holds."""


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
    return number_of(settings.get(name, ""))


def number_of(value: str) -> int | None:
    """The number that a setting holds; None for a word, and for digits that no long holds."""
    return int(value) if value.isdecimal() and len(value) <= _LONGEST else None
