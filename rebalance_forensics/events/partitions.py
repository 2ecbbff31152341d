"""What a member owns: revoked, assigned, lost. Partitions are written `topic-0`."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_forensics.events.base import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsAssigned(Event):
    """Says "Adding newly assigned partitions": under cooperative a delta, and empty is normal.

    librdkafka tells only their `count`.
    """

    partitions: tuple[str, ...] = ()
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsRevoked(Event):
    """The member gives partitions back.

    librdkafka tells only their `count`, lost ones included: first that they are `due`, then that the application did.
    """

    partitions: tuple[str, ...] = ()
    count: int | None = None
    due: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsLost(Event):
    """The member lost its partitions: it was no longer part of the group."""

    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipGivenUp(Event):
    """Says "Giving away all assigned partitions as lost …": the generation was reset.

    `error` is what the coordinator answered, where the line says it.
    """

    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentUpdated(Event):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentNotified(Event):
    """Says "Notifying assignor about the new Assignment(…)": the full assignment of the member, any protocol [2.6+]."""

    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsUnassigned(Event):
    """The leader found subscribed topics that no member got."""

    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitFailed(Event):
    """An offset commit failed. `error` is an Errors name or exception where known, `partition` its topic and number."""

    error: str | None = None
    detail: str | None = None
    partition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerFailed(Event):
    """The application's rebalance listener threw."""

    listener: str | None = None
    during: str | None = None
    detail: str | None = None
