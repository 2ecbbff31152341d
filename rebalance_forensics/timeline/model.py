"""The history of one group as the timeline rebuilt it. Times are epoch ms on the group's clock, UTC."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rebalance_forensics.records import EpochMs

GroupKind = Literal["consumer", "streams", "connect", "schema-registry", "share", "unknown"]
Protocol = Literal["classic", "consumer", "streams", "share", "unknown"]
RebalanceMode = Literal["eager", "cooperative", "server-side", "unknown"]
Outcome = Literal["stable", "superseded", "empty", "failed", "unknown"]
PauseKind = Literal["revoked", "lost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One log line that proves something. `line` counts from 1, `byte_offset` from 0 in the uncompressed file."""

    path: str
    line: int
    byte_offset: int
    timestamp: EpochMs | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member of one generation under every name the logs give."""

    member_id: str | None
    client_id: str | None = None
    instance_id: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """A generation (classic) or a group epoch (KIP-848, KIP-1071)."""

    generation: int
    started_at: EpochMs | None
    completed_at: EpochMs | None
    trigger: str | None
    leader: str | None
    members: tuple[Member, ...] = ()
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    outcome: Outcome = "unknown"
    reason: str | None = None
    """The coordinator's or the member's own words for why it began."""
    followup: str | None = None
    failures: tuple[str, ...] = ()
    """Join and sync failures on the way to it, as sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Partitions of one process without a reader: revoked or lost until some are assigned again."""

    client_id: str | None
    member_id: str | None
    started_at: EpochMs
    ended_at: EpochMs | None
    partitions: tuple[str, ...]
    kind: PauseKind


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorTerm:
    """A broker coordinated the group for a while."""

    broker: str
    started_at: EpochMs | None
    ended_at: EpochMs | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolTerm:
    """The group spoke a protocol for a while."""

    protocol: Protocol
    started_at: EpochMs | None
    ended_at: EpochMs | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """One member under all its names, valid from and to (`whois`)."""

    name: str
    kind: Literal["client", "instance", "thread", "worker", "host", "broker"]
    names: tuple[str, ...]
    client_id: str | None
    member_ids: tuple[str, ...]
    instance_id: str | None
    process: str | None
    thread: str | None
    host: str | None
    files: tuple[str, ...]
    started_at: EpochMs | None
    ended_at: EpochMs | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of a swim lane: member of a generation, joining, paused, away."""

    started_at: EpochMs
    ended_at: EpochMs | None
    kind: Literal["member", "joining", "paused", "away", "coordinating", "restoring"]
    label: str
    generation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A moment of a swim lane, with the line that shows it."""

    at: EpochMs
    kind: str
    """Event name in kebab-case (`member-failed`)."""
    label: str
    severity: Literal["fault", "notice", "plain"]
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One swim lane of the picture: a member, a thread, a worker or a broker."""

    name: str
    kind: Literal["client", "instance", "thread", "worker", "host", "broker"]
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupHistory:
    """Everything known about one group (cluster, group id)."""

    group: str
    cluster: str
    kind: GroupKind
    protocol: Protocol
    protocols: tuple[ProtocolTerm, ...]
    rebalance_mode: RebalanceMode
    coordinators: tuple[CoordinatorTerm, ...]
    generations: tuple[Generation, ...]
    pauses: tuple[Pause, ...]
    identities: tuple[Identity, ...] = ()
    lanes: tuple[Lane, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    """Settings that matter, as the logs show them (`max.poll.interval.ms` -> `300000`)."""
    versions: tuple[tuple[str, str], ...] = field(default=())
    """Who -> Kafka version."""
