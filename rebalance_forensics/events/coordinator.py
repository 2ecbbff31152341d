"""The coordinator: elections, loading, loss and discovery; the offsets topic."""

from __future__ import annotations

from typing import Literal

from rebalance_forensics.events.base import Event

FIRST_COORDINATOR_NODE, LAST_COORDINATOR_NODE = 2**30, 2**31 - 1
"""A client numbers the connection to a coordinator Integer.MAX_VALUE - broker id (AbstractCoordinator): nodes in this
range are coordinators."""


class CoordinatorFound(Event, frozen=True, kw_only=True):
    """A client found its coordinator. `coordinator` is the broker id (Integer.MAX_VALUE - node id)."""

    coordinator: int | None = None
    node: str | None = None


class CoordinatorLost(Event, frozen=True, kw_only=True):
    """A client gave up its coordinator; `cause` as logged ("session timed out …", "error response X.").

    The other fields are read from it: `answer` is the name in Errors of the response for which the client gave it up,
    `none_elected` if the group has no coordinator, `unanswered` if the last request failed or got no response,
    `session_expired` if heartbeats got no response for a whole session.
    """

    coordinator: int | None = None
    node: str | None = None
    cause: str | None = None
    disconnected: bool | None = None
    for_ms: int | None = None
    answer: str | None = None
    none_elected: bool = False
    connection_refused: bool = False
    unanswered: bool = False
    session_expired: bool = False


class NodeDisconnected(Event, frozen=True, kw_only=True):
    """A client lost its connection to a broker or could not connect; `node` as logged (may be a coordinator id).

    `elapsed_ms` is the age of the request that was cancelled with it, `throttle_ms` how long a quota throttled it,
    `answer` the response of a broker that rejected the login; `unreached` why the client's host sent nothing to it.
    """

    node: int | None = None
    cause: str | None = None
    unreached: Literal["no-route", "name-not-resolved"] | None = None
    answer: str | None = None
    api: str | None = None
    elapsed_ms: int | None = None
    throttle_ms: int | None = None


class ConnectionThrottled(Event, frozen=True, kw_only=True):
    """A broker throttled a client that exceeded its quota: it must not send requests for `throttle_ms` (KIP-219).

    `api` is the request whose response says so, where the client names it.
    """

    node: int | None = None
    api: str | None = None
    throttle_ms: int | None = None


class CoordinatorElected(Event, frozen=True, kw_only=True):
    """A broker became the coordinator for one `__consumer_offsets` partition."""

    partition: int
    epoch: int | None = None


class CoordinatorResigned(Event, frozen=True, kw_only=True):
    """A broker stopped coordinating one `__consumer_offsets` partition."""

    partition: int
    epoch: int | None = None


class OffsetsPartitionLoaded(Event, frozen=True, kw_only=True):
    """A coordinator is loading (`phase` scheduled, started) or has loaded (finished, failed) an offsets partition."""

    unread = "GroupLoaded and CoordinatorElected say the same of the group itself."

    partition: int
    phase: Literal["scheduled", "started", "finished", "failed"]
    epoch: int | None = None
    ms: int | None = None
    detail: str | None = None


class OffsetsPartitionUnloaded(Event, frozen=True, kw_only=True):
    """A coordinator unloads a `__consumer_offsets` partition."""

    partition: int
    phase: Literal["scheduled", "started", "finished", "failed"]
    epoch: int | None = None
    groups: int | None = None
    detail: str | None = None


class GroupLoaded(Event, frozen=True, kw_only=True):
    """A new coordinator loaded the group: its generation continues there."""

    generation: int | None = None
    member_count: int | None = None
    protocol: str | None = None


class GroupUnloaded(Event, frozen=True, kw_only=True):
    """The coordinator unloaded the group; `generation` is the group epoch for KIP-848 groups."""

    generation: int | None = None


class OffsetsExpired(Event, frozen=True, kw_only=True):
    """Committed offsets were removed because the group was empty for offsets.retention.minutes."""

    count: int | None = None
    groups: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()


class OffsetsDeleted(Event, frozen=True, kw_only=True):
    """Committed offsets were deleted by an administrator or together with their topic."""

    unread = "An administrator deletes offsets on purpose, or they go with their topic (TopicChanged)."

    count: int | None = None
    partitions: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


class IsrChanged(Event, frozen=True, kw_only=True):
    """The in-sync replicas of a partition shrank or expanded; `updated` if the line does not say which."""

    partition: str
    direction: Literal["shrunk", "expanded", "updated"]
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


class ReplicasInsufficient(Event, frozen=True, kw_only=True):
    """A write was rejected: fewer in-sync replicas than min.insync.replicas (NOT_ENOUGH_REPLICAS)."""

    partition: str | None = None
    in_sync: int | None = None
    required: int | None = None
    detail: str | None = None


class TopicChanged(Event, frozen=True, kw_only=True):
    """A topic or some of its partitions were created or deleted, as logged by a broker or seen by librdkafka.

    `partition` is the one whose log a broker created.
    """

    topic: str
    change: Literal["created", "partitions-added", "deleted"]
    partitions: int | None = None
    partition: int | None = None
