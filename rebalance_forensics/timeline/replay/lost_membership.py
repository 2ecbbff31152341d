"""Errors that tell a client that it is no longer a member."""

from __future__ import annotations

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import GroupHeartbeatFailed
from rebalance_forensics.events.rebalancing import GenerationReset, HeartbeatFailed, JoinFailed, SyncFailed

EXPELLED = frozenset({"UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "ILLEGAL_GENERATION"})


def was_a_member(event: Event) -> bool:
    """Whether only a member can be told that it is none: logs may begin after it joined."""
    match event:
        case HeartbeatFailed() | SyncFailed() | GroupHeartbeatFailed():
            return True
        case JoinFailed(generation=n):
            return n is not None and n > 0
        case GenerationReset(api=api):
            return api is not None and "JOIN" not in api.upper()
    return False


def is_first_join(event: Event) -> bool:
    """Whether a client that has no member id yet was turned away, which ends no membership."""
    return isinstance(event, JoinFailed | SyncFailed) and event.generation == -1 and not event.member
