"""Partitions of a member: revoked, assigned, lost. Partitions are written `topic-0`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from rebalance_forensics.events.base import Event


class PartitionsAssigned(Event, frozen=True, kw_only=True):
    """The line "Adding newly assigned partitions": with cooperative rebalancing only the new ones, often none.

    librdkafka logs only their `count`.
    """

    partitions: tuple[str, ...] = ()
    count: int | None = None


class PartitionsRevoked(Event, frozen=True, kw_only=True):
    """The member revokes partitions.

    librdkafka logs only their `count`, lost ones included: first that they are `due`, then that the application did it.
    Sarama names the `member` and the `generation` whose session ended, but neither partitions nor group.
    """

    partitions: tuple[str, ...] = ()
    count: int | None = None
    due: bool = False
    member: str | None = None
    generation: int | None = None


class PartitionsLost(Event, frozen=True, kw_only=True):
    """The member lost its partitions because it was no longer part of the group."""

    partitions: tuple[str, ...]


class OwnershipGivenUp(Event, frozen=True, kw_only=True):
    """The line "Giving away all assigned partitions as lost …": the generation was reset.

    `error` is the coordinator's error code, if the line shows it.
    """

    error: str | None = None


class AssignmentUpdated(Event, frozen=True, kw_only=True):
    """The assignment of a cooperative member: assigned, owned, added and revoked partitions (a multi-line message).

    KIP-848 clients log it as "Reconciling assignment with local epoch"; then `member` and `epoch` are set, which counts
    the member's own assignments and is not the group epoch.
    """

    assigned: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    revoked: tuple[str, ...] = ()
    member: str | None = None
    epoch: int | None = None


class AssignmentNotified(Event, frozen=True, kw_only=True):
    """The line "Notifying assignor about the new Assignment(…)": the member's full assignment, any protocol [2.6+]."""

    partitions: tuple[str, ...]


class FetchPositionSet(Event, frozen=True, kw_only=True):
    """A member starts to fetch a partition; `node` is its leader according to the member's metadata."""

    partition: str
    node: int


class PartitionsUnassigned(Event, frozen=True, kw_only=True):
    """The leader found subscribed topics that were assigned to no member."""

    unread = "Topics without partitions in the leader's metadata: the assignment itself shows who has none."

    topics: tuple[str, ...] = ()


class OffsetCommitFailed(Event, frozen=True, kw_only=True):
    """An offset commit failed; `error` is a name in Errors or an exception if known, `partition` its topic-number."""

    errors_unread: ClassVar[Mapping[str, str]] = {
        "RetriableCommitFailedException": "The commit is tried again; what made it fail has lines of its own.",
        "STALE_MEMBER_EPOCH": "The member had just moved to a newer epoch and commits again under it (KIP-848).",
    }

    error: str | None = None
    detail: str | None = None
    partition: str | None = None


class ListenerCalled(Event, frozen=True, kw_only=True):
    """A framework's own line that its consumer was assigned partitions, or had them revoked or lost.

    It does not name them: zio-kafka logs their `count`, SmallRye not even that.
    """

    during: Literal["assigned", "revoked", "lost"]
    count: int | None = None


class ListenerFailed(Event, frozen=True, kw_only=True):
    """The application's rebalance listener threw an exception."""

    listener: str | None = None
    during: str | None = None
    detail: str | None = None
