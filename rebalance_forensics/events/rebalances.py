"""A rebalance as logged by the coordinator and the members: prepare, join, stabilize, sync."""

from __future__ import annotations

from typing import Literal

from rebalance_forensics.events.base import Assignment, Event
from rebalance_forensics.events.membership import LeaveReason

RebalanceTrigger = Literal[
    "member-added",
    "member-rejoined",
    "leader-rejoined",
    "member-left",
    "heartbeat-expired",
    "sync-expired",
    "static-member-changed",
    "assignment-not-stored",
    "over-capacity",
    "downgrade",
    "other",
]
"""The first cause of a rebalance, as in the coordinator's `(reason: …)`; further causes are not logged."""


JoinReason = Literal[
    "already-rebalancing",
    "revoke-partitions",
    "metadata-changed",
    "subscription-changed",
    "assignment-mismatch",
    "error-response",
    "leaving",
    "generation-modified",
    "commit-failed",
    "member-id-required",
    "rebalance-failed",
    "enforced",
    "followup",
    "shutdown-requested",
    "own-words",
    "not-provided",
    "other",
    "unknown",
]
"""Why a member joins again. `own-words`: a text that no client sends by itself, so the application's; `unknown` if the
reason in the line is truncated."""


class RebalanceStarted(Event, frozen=True, kw_only=True):
    """The coordinator started the join phase ("Preparing to rebalance group …").

    `generation` is the old one. `state` is the actual former state, which only some reasons contain. `reason` is the
    text in `(reason: …)`, `trigger` its kind; `members` are those it names. `client_reason` is the text in which the
    first of them says why it joined or left (KIP-800), `why` its kind; `before`, `after` and `followup_at` are parts of
    it, as in a JoinRequested.
    """

    generation: int | None = None
    trigger: RebalanceTrigger | None = None
    reason: str | None = None
    members: tuple[str, ...] = ()
    instance_id: str | None = None
    state: str | None = None
    client_reason: str | None = None
    why: Literal[JoinReason, LeaveReason] | None = None
    before: str | None = None
    after: str | None = None
    followup_at: int | None = None
    new_metadata: bool = False
    """True if a member rejoined with another subscription or other owned partitions than the coordinator knew."""
    error: str | None = None
    """For which the assignment could not be stored, or which the client names in its reason."""


class GenerationStabilized(Event, frozen=True, kw_only=True):
    """The join phase ended and a generation was created ("Stabilized group …"); the group is not yet Stable."""

    generation: int
    member_count: int | None = None


class AssignmentReceived(Event, frozen=True, kw_only=True):
    """The leader's SyncGroup arrived, which makes the group Stable."""

    generation: int
    leader: str | None = None
    member_count: int | None = None
    static_count: int | None = None


class AssignmentNotStored(Event, frozen=True, kw_only=True):
    """The coordinator could not write group metadata or an assignment to `__consumer_offsets`."""

    generation: int | None = None
    error: str | None = None
    partition: int | None = None
    empty: bool = False
    """The record would have said that the group has no members."""


class EmptyAssignmentSent(Event, frozen=True, kw_only=True):
    """The coordinator sent members an empty assignment."""

    generation: int | None = None
    members: tuple[str, ...] = ()


class RebalanceAbandoned(Event, frozen=True, kw_only=True):
    """A join phase could not complete: no member rejoined, or the group was dead."""

    what: str | None = None


class LeaderReplaced(Event, frozen=True, kw_only=True):
    """The leader missed the rebalance timeout and another member was elected."""

    member: str | None = None
    instance_id: str | None = None
    new_leader: str | None = None


class GroupEmptied(Event, frozen=True, kw_only=True):
    """The group has no members left ("Group … is now empty")."""

    generation: int | None = None


class GroupDied(Event, frozen=True, kw_only=True):
    """The group's metadata was removed ("transitioned to Dead")."""

    generation: int | None = None


class GroupsDeleted(Event, frozen=True, kw_only=True):
    """An administrator deleted groups."""

    unread = "Only a group without members can be deleted: nobody is disturbed."

    groups: tuple[str, ...] = ()
    offsets_removed: int | None = None


class JoinStarted(Event, frozen=True, kw_only=True):
    """A member sends JoinGroup ("(Re-)joining group", Connect's "Rebalance started")."""


class JoinRequested(Event, frozen=True, kw_only=True):
    """A member has to rejoin and logs why ("Request joining group due to: …").

    `why` is the kind, `reason` the text. `before`/`after` hold
    `topic=partitions` pairs or topics of a changed subscription or metadata; `followup_at` the epoch ms of a Streams
    follow-up (0: immediate). `found_by` is which of librdkafka's checks found other topics: that of its list, which a
    subscribe() changes as well, or that of the metadata.
    """

    why: JoinReason
    reason: str | None = None
    member: str | None = None
    error: str | None = None
    api: str | None = None
    before: str | None = None
    after: str | None = None
    partitions: tuple[str, ...] = ()
    followup_at: int | None = None
    topic: str | None = None
    """The one of which the partitions changed."""
    found_by: Literal["topic-list", "metadata"] | None = None


class JoinSucceeded(Event, frozen=True, kw_only=True):
    """JoinGroup succeeded ("Successfully joined group with generation …").

    Until 2.6.0 the line was logged after SyncGroup and names no member (`after_sync` is True). Connect's "Joined group
    at generation …" is a WorkerAssigned instead. `member_count` is the size of the generation, which the coordinator
    sends only to the leader.
    """

    generation: int
    member_count: int | None = None
    member: str | None = None
    protocol: str | None = None
    after_sync: bool = False


class JoinReported(Event, frozen=True, kw_only=True):
    """A client that logs no generation has joined (KafkaJS, Sarama); `ms` is how long joining and syncing took.

    `partitions` is its whole assignment, None if the line does not show it.
    """

    member: str | None = None
    leader: str | None = None
    protocol: str | None = None
    ms: int | None = None
    partitions: tuple[str, ...] | None = None


class SyncSucceeded(Event, frozen=True, kw_only=True):
    """SyncGroup succeeded: this member has its assignment of the generation.

    `partitions` is the whole of it, None if the line does not show it.
    """

    generation: int
    member: str | None = None
    protocol: str | None = None
    partitions: tuple[str, ...] | None = None


class JoinFailed(Event, frozen=True, kw_only=True):
    """JoinGroup failed; `error` is a name in Errors (UNKNOWN_MEMBER_ID, GROUP_MAX_SIZE_REACHED, …) if known."""

    error: str | None = None
    detail: str | None = None
    generation: int | None = None
    member: str | None = None
    instance_id: str | None = None
    fatal: bool = False
    connection_refused: bool = False


class SyncFailed(Event, frozen=True, kw_only=True):
    """SyncGroup failed; `error` is a name in Errors if known."""

    error: str | None = None
    detail: str | None = None
    generation: int | None = None
    member: str | None = None
    instance_id: str | None = None
    fatal: bool = False


class HeartbeatFailed(Event, frozen=True, kw_only=True):
    """A heartbeat failed with an error code (REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID, …)."""

    error: str | None = None
    detail: str | None = None
    generation: int | None = None
    member: str | None = None
    instance_id: str | None = None
    fatal: bool = False
    connection_refused: bool = False


ResetReason = Literal["error-response", "leaving", "while-joining"]
"""`while-joining`: the member reports a join without a generation, which was reset before the join was complete."""


class GenerationReset(Event, frozen=True, kw_only=True):
    """A member reset its generation (and, if `member_id_too`, its member id) and will rejoin.

    `why` is the kind, where the line names one of Kafka's own, `reason` the text.
    """

    why: ResetReason | None = None
    reason: str | None = None
    error: str | None = None
    api: str | None = None
    member_id_too: bool = False


class AssignmentComputed(Event, frozen=True, kw_only=True):
    """The leader finished the assignment of a classic generation ("Finished assignment for group …").

    Only the leader logs it. `assignment` maps member ids to partitions: the exact membership. `member_count` is the
    number of members, if the line does not list them.
    """

    generation: int | None = None
    member_count: int | None = None
    assignment: Assignment = ()


class AssignmentFailed(Event, frozen=True, kw_only=True):
    """The leader's assignor threw an exception, or a member could not apply its assignment.

    `wrong_callback`: librdkafka rejected a rebalance callback that calls assign() with a cooperative assignor, or
    incremental_assign() with any other.
    """

    error: str | None = None
    detail: str | None = None
    wrong_callback: bool = False
