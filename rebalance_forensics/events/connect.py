"""Kafka Connect workers, and Schema Registry's leader election over the same protocol."""

from __future__ import annotations

from typing import Literal

from rebalance_forensics.events.base import Event


class WorkerAssigned(Event, frozen=True, kw_only=True):
    """A worker joined and received its connectors and tasks ("Joined group at generation …").

    `delay_ms` is the scheduled rebalance delay. `leader` is a member id, `config_offset` the assignment's offset.
    """

    generation: int | None = None
    protocol_version: int | None = None
    error: int | None = None
    leader: str | None = None
    leader_url: str | None = None
    config_offset: int | None = None
    connectors: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    revoked_connectors: tuple[str, ...] = ()
    revoked_tasks: tuple[str, ...] = ()
    delay_ms: int | None = None


class ConnectorConfigChanged(Event, frozen=True, kw_only=True):
    """A connector's configuration was created, updated or removed, or its tasks' configuration changed."""

    connector: str | None = None
    tasks: tuple[str, ...] = ()
    change: Literal["created", "updated", "removed", "tasks", "target-state", "restarted"] = "updated"


class AssignmentsLost(Event, frozen=True, kw_only=True):
    """The leader found connectors and tasks lost with a worker, or duplicated."""

    connectors: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    duplicated: bool = False
    detail: str | None = None


class DelayedRebalance(Event, frozen=True, kw_only=True):
    """Connect delays the reassignment of lost work for scheduled.rebalance.max.delay.ms, or the delay is over."""

    phase: Literal["in-progress", "active", "expired", "reached"]
    delay_ms: int | None = None


class ConfigOffsetBehind(Event, frozen=True, kw_only=True):
    """A worker behind the assignment's config offset reads the config topic to its end (benign, unless it fails).

    `leading`: the leader is behind another worker, so its assignment contains no connectors or tasks.
    """

    current: int | None = None
    wanted: int | None = None
    failed: bool = False
    leading: bool = False


class WorkerStarted(Event, frozen=True, kw_only=True):
    """A Connect worker (herder) is starting or has started."""

    phase: Literal["starting", "started"] = "starting"
    worker: str | None = None


class WorkerStopped(Event, frozen=True, kw_only=True):
    """A Connect worker (herder) is stopping or has stopped."""

    phase: Literal["stopping", "stopped"] = "stopping"


class WorkChanged(Event, frozen=True, kw_only=True):
    """A worker starts or stops a connector or task (`what`; None for all of them)."""

    change: Literal["starting", "started", "stopping", "stopped", "failed"]
    what: str | None = None


class RegistryLeaderElected(Event, frozen=True, kw_only=True):
    """Schema Registry: the rebalance is complete and elected a leader (primary)."""

    leader: str | None = None
    leader_url: str | None = None
    generation: int | None = None
