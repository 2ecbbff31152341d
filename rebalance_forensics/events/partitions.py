"""What a member owns: revoked, assigned, lost. Partitions are written `topic-0`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from rebalance_forensics.events.base import Event


class PartitionsAssigned(Event, frozen=True, kw_only=True):
    """Says "Adding newly assigned partitions": under cooperative a delta, and empty is normal.

    librdkafka tells only their `count`.
    """

    partitions: tuple[str, ...] = ()
    count: int | None = None


class PartitionsRevoked(Event, frozen=True, kw_only=True):
    """The member gives partitions back.

    librdkafka tells only their `count`, lost ones included: first that they are `due`, then that the application did.
    Sarama names the `member` and the `generation` whose session is over, and neither partitions nor group.
    """

    partitions: tuple[str, ...] = ()
    count: int | None = None
    due: bool = False
    member: str | None = None
    generation: int | None = None


class PartitionsLost(Event, frozen=True, kw_only=True):
    """The member lost its partitions: it was no longer part of the group."""

    partitions: tuple[str, ...]


class OwnershipGivenUp(Event, frozen=True, kw_only=True):
    """Says "Giving away all assigned partitions as lost …": the generation was reset.

    `error` is what the coordinator answered, where the line says it.
    """

    error: str | None = None


class AssignmentUpdated(Event, frozen=True, kw_only=True):
    """The cooperative picture: what the member gets, had, adds and gives up (multi-line line).

    KIP-848 clients write the same as "Reconciling assignment with local epoch"; then `member` and `epoch` are set,
    which is the count of its own assignments, not the epoch of the group.
    """

    assigned: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    revoked: tuple[str, ...] = ()
    member: str | None = None
    epoch: int | None = None


class AssignmentNotified(Event, frozen=True, kw_only=True):
    """Says "Notifying assignor about the new Assignment(…)": the full assignment of the member, any protocol [2.6+]."""

    partitions: tuple[str, ...]


class FetchPositionSet(Event, frozen=True, kw_only=True):
    """A member is about to fetch a partition from the broker that leads it, by the metadata it has: `node`."""

    partition: str
    node: int


class PartitionsUnassigned(Event, frozen=True, kw_only=True):
    """The leader found subscribed topics that no member got."""

    unread = "Topics without partitions in the leader's metadata: the assignment itself shows who has none."

    topics: tuple[str, ...] = ()


class OffsetCommitFailed(Event, frozen=True, kw_only=True):
    """An offset commit failed. `error` is an Errors name or exception where known, `partition` its topic and number."""

    errors_unread: ClassVar[Mapping[str, str]] = {
        "RetriableCommitFailedException": "The commit is tried again; what made it fail has lines of its own.",
        "STALE_MEMBER_EPOCH": "The member had just moved to a newer epoch and commits again under it (KIP-848).",
    }

    error: str | None = None
    detail: str | None = None
    partition: str | None = None


class ListenerCalled(Event, frozen=True, kw_only=True):
    """A framework's own line that its consumer was assigned partitions, gave them back or lost them.

    It names none of them: zio-kafka tells their `count`, SmallRye not even that.
    """

    during: Literal["assigned", "revoked", "lost"]
    count: int | None = None


class ListenerFailed(Event, frozen=True, kw_only=True):
    """The application's rebalance listener threw."""

    listener: str | None = None
    during: str | None = None
    detail: str | None = None
