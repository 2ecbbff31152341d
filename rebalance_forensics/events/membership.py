"""Members join, leave, fail, are fenced and are replaced."""

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
"""`unknown` if the reason in the line is truncated."""
FailureReason = Literal["session-expired", "rebalance-timeout", "sync-timeout", "revocation-timeout", "unknown"]


class MemberIdIssued(Event, frozen=True, kw_only=True):
    """KIP-394, first step: an unknown member asks to join, gets an id and has to rejoin with it."""

    member: str | None = None
    instance_id: str | None = None
    state: str | None = None


class MemberJoined(Event, frozen=True, kw_only=True):
    """The coordinator added a member (classic: `state` is the actual state of the group; KIP-848: `protocol`)."""

    member: str | None = None
    instance_id: str | None = None
    state: str | None = None
    protocol: str | None = None


class MemberLoaded(Event, frozen=True, kw_only=True):
    """A new coordinator loaded a member from `__consumer_offsets`."""

    member: str
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    generation: int | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None


class MemberDescribed(Event, frozen=True, kw_only=True):
    """A member of a streams group reported its client id and process to the coordinator (KIP-1071)."""

    member: str | None = None
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    process: str | None = None
    rebalance_timeout_ms: int | None = None


class MemberLeft(Event, frozen=True, kw_only=True):
    """A member sent LeaveGroup, or an administrator removed it; `reason` is the text, `why` its kind."""

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
    """The coordinator removed members that stopped sending heartbeats, rejoining, syncing or revoking.

    `instance_id` is that of a static member, if other lines of a paste show it.
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
    """A static member rejoined with a new member id, which replaces the old one without a rebalance."""

    instance_id: str
    old_member: str | None = None
    member: str | None = None
    state: str | None = None


class StaticMemberKept(Event, frozen=True, kw_only=True):
    """A static member rejoined without a rebalance and keeps its assignment; the line names no group."""


class StaticMemberFenced(Event, frozen=True, kw_only=True):
    """The coordinator fenced a member id whose group.instance.id belongs to another member (FENCED_INSTANCE_ID).

    `newcomer`: it was never a member and cannot join while the other owns the id (UNRELEASED_INSTANCE_ID).
    """

    instance_id: str | None = None
    member: str | None = None
    current_member: str | None = None
    operation: str | None = None
    newcomer: bool = False


class InstanceFenced(Event, frozen=True, kw_only=True):
    """A client was fenced: another live member has its group.instance.id."""

    instance_id: str | None = None
    member: str | None = None
    api: str | None = None


class AccessDenied(Event, frozen=True, kw_only=True):
    """A broker's authorizer denied a principal an operation on the group.

    Logged to kafka-authorizer.log by default, without the client id; `address` is the client's.
    """

    principal: str | None = None
    operation: str | None = None
    request: str | None = None
    address: str | None = None


class TopicReadDenied(Event, frozen=True, kw_only=True):
    """A broker's authorizer denied a principal READ on a topic; the line names neither group nor client."""

    principal: str | None = None
    topic: str | None = None
    request: str | None = None
    address: str | None = None


class LoginRefused(Event, frozen=True, kw_only=True):
    """A broker rejected the credentials of a connection ("Failed authentication with …"); the line names no client.

    `again` if the connection had been authenticated before (KIP-368), so that its client was running.
    """

    address: str | None = None
    answer: str | None = None
    again: bool = False


class LeaveSent(Event, frozen=True, kw_only=True):
    """A client sent LeaveGroup ("Member … sending LeaveGroup request to coordinator … due to …")."""

    member: str | None = None
    coordinator: int | None = None
    reason: str | None = None
    why: LeaveReason | None = None


class LeaveFailed(Event, frozen=True, kw_only=True):
    """A client's LeaveGroup failed or got no response: it remains a member until its session expires."""

    error: str | None = None
    member: str | None = None
    timeout_ms: int | None = None


class PollTimeoutExpired(Event, frozen=True, kw_only=True):
    """A client did not call poll() for max.poll.interval.ms (`limit_ms`, if the line shows it).

    `doing` is a Connect worker's last known action.
    """

    member: str | None = None
    limit_ms: int | None = None
    exceeded_ms: int | None = None
    doing: str | None = None


class Subscribed(Event, frozen=True, kw_only=True):
    """A client subscribed to topics or a pattern, or assigned itself partitions (`assigned`)."""

    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None
    by_hand: bool = False


class Unsubscribed(Event, frozen=True, kw_only=True):
    """A client unsubscribed from everything."""


class SubscriptionUpdated(Event, frozen=True, kw_only=True):
    """A member changed its subscribed topics or regex, as logged by the coordinator (KIP-848, KIP-932)."""

    member: str | None = None
    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None


class AuthorizationFailed(Event, frozen=True, kw_only=True):
    """A client is not authorized for the group, for topics, or for a `partition`."""

    resource: Literal["group", "topic", "unknown"] = "unknown"
    names: tuple[str, ...] = ()
    partition: str | None = None
    detail: str | None = None
