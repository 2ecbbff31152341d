"""KIP-848, KIP-932 and KIP-1071 groups: epochs instead of generations, reconciliation instead of joins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from rebalance_forensics.events.base import Event

GroupProtocol = Literal["classic", "consumer"]


class GroupEpochBumped(Event, frozen=True, kw_only=True):
    """The coordinator bumped the group epoch; `member` is the one whose heartbeat triggered it, if named.

    `metadata_hash` (since 4.1) is that of the subscribed topics: it changes only if one of them does.
    """

    epoch: int
    member: str | None = None
    topology_epoch: int | None = None
    metadata_hash: int | None = None


class TargetAssignmentComputed(Event, frozen=True, kw_only=True):
    """The coordinator computed the target assignment of an epoch.

    `members` is the whole group at that moment; since 4.0 the INFO line does not list it.
    """

    epoch: int
    assignor: str | None = None
    ms: int | None = None
    members: tuple[str, ...] = ()
    detail: str | None = None


class MemberReconciled(Event, frozen=True, kw_only=True):
    """The coordinator moved a member to a new assignment; members of streams groups own tasks."""

    member: str
    epoch: int | None = None
    previous_epoch: int | None = None
    state: str | None = None
    assigned: tuple[str, ...] = ()
    revoking: tuple[str, ...] = ()
    standby: tuple[str, ...] = ()
    warmup: tuple[str, ...] = ()


class GroupConverted(Event, frozen=True, kw_only=True):
    """A group was converted to another protocol online (classic, consumer, streams)."""

    before: str | None = None
    after: str | None = None
    detail: str | None = None


class ConversionRefused(Event, frozen=True, kw_only=True):
    """A group could not be upgraded or downgraded.

    `joined_with` is the group protocol of the member that was rejected for it; None if the line shows no such member.
    """

    before: str | None = None
    after: str | None = None
    reason: str | None = None
    joined_with: GroupProtocol | None = None


class MemberTransitioned(Event, frozen=True, kw_only=True):
    """A KIP-848 client changed its member state ("Member … with epoch … transitioned from … to …")."""

    member: str | None = None
    epoch: int | None = None
    before: str | None = None
    after: str | None = None


class GroupHeartbeatFailed(Event, frozen=True, kw_only=True):
    """A ConsumerGroupHeartbeat (or share, streams) failed; `error` is a name in Errors if known.

    `detail` is the message in the coordinator's response, from which the other fields are read: `assignor` is the
    server-side assignor that the member asked for and `assignors` those of the brokers; `joined_with` is the group
    protocol of a member that the group's own protocol excludes; `max_size` is the maximum size of a full group.
    """

    errors_unread: ClassVar[Mapping[str, str]] = {
        "GROUP_ID_NOT_FOUND": "`joined_with` shows why; otherwise the group is deleted, which excludes no member."
    }

    error: str | None = None
    member: str | None = None
    epoch: int | None = None
    detail: str | None = None
    fatal: bool = False
    assignor: str | None = None
    assignors: tuple[str, ...] = ()
    joined_with: GroupProtocol | None = None
    other_topology: bool = False
    """True if the topology of a Streams member differs from the group's (KIP-1071)."""
    max_size: int | None = None


class ReconciliationInterrupted(Event, frozen=True, kw_only=True):
    """A client abandoned a reconciliation that no longer applies."""

    unread = "A newer target replaced the one in progress, which MemberTransitioned shows."

    reason: str | None = None


class TopicRegexResolved(Event, frozen=True, kw_only=True):
    """The coordinator resolved server-side regex subscriptions; `patterns` are all those of the group."""

    topics: int | None = None
    patterns: tuple[str, ...] = ()
    ms: int | None = None
    detail: str | None = None
