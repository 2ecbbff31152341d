"""Who coordinates: elections, loading, loss and discovery of the coordinator, the offsets topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rebalance_forensics.events.base import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorFound(Event):
    """A client found its coordinator. `coordinator` is the broker id (Integer.MAX_VALUE - node id)."""

    coordinator: int | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorLost(Event):
    """A client gave up its coordinator. `cause` as written ("session timed out …", "error response X.")."""

    coordinator: int | None = None
    node: str | None = None
    cause: str | None = None
    disconnected: bool | None = None
    for_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDisconnected(Event):
    """A client's connection to a broker broke or could not be made. `node` as written (may be a coordinator id)."""

    node: int | None = None
    cause: str | None = None
    api: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorElected(Event):
    """A broker became the coordinator for one `__consumer_offsets` partition."""

    partition: int
    epoch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorResigned(Event):
    """A broker stopped coordinating one `__consumer_offsets` partition."""

    partition: int
    epoch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsPartitionLoaded(Event):
    """A coordinator loads (`phase` scheduled, started) or loaded (finished, failed) an offsets partition."""

    partition: int
    phase: Literal["scheduled", "started", "finished", "failed"]
    epoch: int | None = None
    ms: int | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsPartitionUnloaded(Event):
    """A coordinator unloads a `__consumer_offsets` partition."""

    partition: int
    phase: Literal["scheduled", "started", "finished", "failed"]
    epoch: int | None = None
    groups: int | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLoaded(Event):
    """A new coordinator read the group: its generation continues there."""

    generation: int | None = None
    member_count: int | None = None
    protocol: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupUnloaded(Event):
    """The coordinator handed the group over. `generation` is the group epoch for KIP-848 groups."""

    generation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsExpired(Event):
    """Committed offsets were removed because the group was empty for offsets.retention.minutes."""

    count: int | None = None
    groups: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsDeleted(Event):
    """Committed offsets were deleted by an administrator, or went with a deleted topic."""

    count: int | None = None
    partitions: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrChanged(Event):
    """The in-sync replicas of a partition shrank or grew; `updated` where the line does not say which way."""

    partition: str
    direction: Literal["shrunk", "expanded", "updated"]
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicasInsufficient(Event):
    """A write was refused: fewer in-sync replicas than min.insync.replicas (NOT_ENOUGH_REPLICAS)."""

    partition: str | None = None
    in_sync: int | None = None
    required: int | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChanged(Event):
    """A broker created, extended or deleted a topic or its partitions."""

    topic: str
    change: Literal["created", "partitions-added", "deleted"]
    partitions: int | None = None
