"""Members come, leave, fail, are fenced and are replaced."""

from __future__ import annotations

from typing import Literal

from rebalance_forensics.events.base import Event

LeaveReason = Literal[
    "closed",
    "unsubscribed",
    "poll-timeout",
    "log-read-timeout",
    "enforced",
    "removed-by-admin",
    "not-provided",
    "other",
    "unknown",
]
"""`unknown` where the line gives a reason that was cut off."""
FailureReason = Literal["session-expired", "rebalance-timeout", "sync-timeout", "revocation-timeout", "unknown"]


class MemberIdIssued(Event, frozen=True, kw_only=True):
    """KIP-394, first step: an unknown member asks to join and is sent back with an id."""

    member: str | None = None
    instance_id: str | None = None
    state: str | None = None


class MemberJoined(Event, frozen=True, kw_only=True):
    """The coordinator took a member in (classic: `state` is the group's true state; KIP-848: `protocol`)."""

    member: str | None = None
    instance_id: str | None = None
    state: str | None = None
    protocol: str | None = None


class MemberLoaded(Event, frozen=True, kw_only=True):
    """A new coordinator read a member from `__consumer_offsets`."""

    member: str
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    generation: int | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None


class MemberDescribed(Event, frozen=True, kw_only=True):
    """The coordinator learned what a member of a streams group is (KIP-1071): its thread's client id, its process."""

    member: str | None = None
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    process: str | None = None
    rebalance_timeout_ms: int | None = None


class MemberLeft(Event, frozen=True, kw_only=True):
    """A member sent LeaveGroup, or an administrator removed it. `reason` is the text, `why` its kind."""

    member: str | None = None
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    reason: str | None = None
    why: LeaveReason | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    temporarily: bool = False


class MemberFailed(Event, frozen=True, kw_only=True):
    """The coordinator gave up on members that stopped heartbeating, rejoining, syncing or revoking.

    `instance_id` is that of a static member in a paste whose other lines show it.
    """

    members: tuple[str, ...] = ()
    why: FailureReason
    timeout_ms: int | None = None
    epoch: int | None = None
    instance_id: str | None = None


class PendingMemberRemoved(Event, frozen=True, kw_only=True):
    """A member id handed out by KIP-394 was never used, or left before joining."""

    member: str


class StaticMemberReplaced(Event, frozen=True, kw_only=True):
    """A static member came back under a new member id; the old one is dropped without a rebalance."""

    instance_id: str
    old_member: str | None = None
    member: str | None = None
    state: str | None = None


class StaticMemberKept(Event, frozen=True, kw_only=True):
    """A static member's join needed no rebalance: it gets its cached assignment. No group in the line."""


class StaticMemberFenced(Event, frozen=True, kw_only=True):
    """The coordinator refused a member id because its group.instance.id belongs to another (FENCED_INSTANCE_ID).

    `newcomer`: it was never a member, and may not join while the other holds the id (UNRELEASED_INSTANCE_ID).
    """

    instance_id: str | None = None
    member: str | None = None
    current_member: str | None = None
    operation: str | None = None
    newcomer: bool = False


class InstanceFenced(Event, frozen=True, kw_only=True):
    """A client learned that its group.instance.id was taken over by another live member."""

    instance_id: str | None = None
    member: str | None = None
    api: str | None = None


class AccessDenied(Event, frozen=True, kw_only=True):
    """A broker's authorizer denied a principal an operation on the group, which one of its members needs.

    It stands in kafka-authorizer.log unless configured otherwise, and names no client. `address` is the client's.
    """

    principal: str | None = None
    operation: str | None = None
    request: str | None = None
    address: str | None = None


class TopicReadDenied(Event, frozen=True, kw_only=True):
    """A broker's authorizer denied a principal READ on a topic; it names neither the group nor the client."""

    principal: str | None = None
    topic: str | None = None
    request: str | None = None
    address: str | None = None


class LoginRefused(Event, frozen=True, kw_only=True):
    """A broker did not accept the credentials of a connection ("Failed authentication with …"); it names no client.

    `again` where the connection had been authenticated before (KIP-368): it belongs to a client that was at work.
    """

    address: str | None = None
    answer: str | None = None
    again: bool = False


class LeaveSent(Event, frozen=True, kw_only=True):
    """A client sends LeaveGroup ("Member … sending LeaveGroup request to coordinator … due to …")."""

    member: str | None = None
    coordinator: int | None = None
    reason: str | None = None
    why: LeaveReason | None = None


class LeaveFailed(Event, frozen=True, kw_only=True):
    """A client's LeaveGroup was refused or got no answer: its membership lives on until the session expires."""

    error: str | None = None
    member: str | None = None
    timeout_ms: int | None = None


class PollTimeoutExpired(Event, frozen=True, kw_only=True):
    """A client did not call poll() for max.poll.interval.ms, `limit_ms` where the line says how long that is.

    `doing` is a Connect worker's last known action.
    """

    member: str | None = None
    limit_ms: int | None = None
    exceeded_ms: int | None = None
    doing: str | None = None


class Subscribed(Event, frozen=True, kw_only=True):
    """A client subscribed (`topics`), by pattern, or took partitions by hand (`assigned`)."""

    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None
    by_hand: bool = False


class Unsubscribed(Event, frozen=True, kw_only=True):
    """A client unsubscribed from everything."""


class SubscriptionUpdated(Event, frozen=True, kw_only=True):
    """The coordinator saw a member change its topics or its regex (KIP-848, KIP-932)."""

    member: str | None = None
    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None


class AuthorizationFailed(Event, frozen=True, kw_only=True):
    """A client may not use the group or topics, or read a `partition` of one."""

    resource: Literal["group", "topic", "unknown"] = "unknown"
    names: tuple[str, ...] = ()
    partition: str | None = None
    detail: str | None = None
