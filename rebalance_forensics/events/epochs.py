"""KIP-848, KIP-932 and KIP-1071 groups: epochs instead of generations, reconciliation instead of joins."""

from __future__ import annotations

from rebalance_forensics.events.base import Event


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
    """A group could not be upgraded or downgraded."""

    before: str | None = None
    after: str | None = None
    reason: str | None = None


class MemberTransitioned(Event, frozen=True, kw_only=True):
    """A KIP-848 client changed its member state ("Member … with epoch … transitioned from … to …")."""

    member: str | None = None
    epoch: int | None = None
    before: str | None = None
    after: str | None = None


class GroupHeartbeatFailed(Event, frozen=True, kw_only=True):
    """A ConsumerGroupHeartbeat (or share, streams) failed; `error` is a name in Errors if known."""

    error: str | None = None
    member: str | None = None
    epoch: int | None = None
    detail: str | None = None
    fatal: bool = False


class ReconciliationInterrupted(Event, frozen=True, kw_only=True):
    """A client abandoned a reconciliation that no longer applies."""

    unread = "A newer target replaced the one in progress, which MemberTransitioned shows."

    reason: str | None = None


class TopicRegexResolved(Event, frozen=True, kw_only=True):
    """The coordinator resolved server-side regex subscriptions."""

    unread = "The coordinator evaluated a pattern; what it found shows in GroupEpochBumped and the subscription."

    topics: int | None = None
    ms: int | None = None
    detail: str | None = None
