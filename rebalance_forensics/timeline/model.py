"""The history of one group as the timeline rebuilt it. Times are epoch ms on the group's clock, UTC."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from rebalance_forensics.records import EpochMs, elapsed

GroupKind = Literal["consumer", "streams", "connect", "schema-registry", "share", "unknown"]
Protocol = Literal["classic", "consumer", "streams", "share", "unknown"]
RebalanceMode = Literal["eager", "cooperative", "server-side", "unknown"]
Outcome = Literal["stable", "superseded", "empty", "failed", "unknown"]
PauseKind = Literal["revoked", "lost"]


class Evidence(Struct, frozen=True, kw_only=True, gc=False):
    """One log line that proves something. `line` counts from 1, `byte_offset` from 0 in the uncompressed file."""

    path: str
    line: int
    byte_offset: int
    timestamp: EpochMs | None
    text: str


class Member(Struct, frozen=True, kw_only=True, gc=False):
    """A member of one generation under every name the logs give."""

    member_id: str | None
    client_id: str | None = None
    instance_id: str | None = None
    host: str | None = None


class Generation(Struct, frozen=True, kw_only=True, gc=False):
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

    @property
    def size(self) -> int:
        """The number of its members; a static member counts once, whatever clients replaced it."""
        return len({m.instance_id or m for m in self.members})

    @property
    def took_ms(self) -> int | None:
        """From its begin to its completion; None where one of them is not known, or no line has a time."""
        return elapsed(self.started_at, self.completed_at)


class Pause(Struct, frozen=True, kw_only=True, gc=False):
    """Partitions of one process without a reader: revoked or lost until some are assigned again."""

    client_id: str | None
    member_id: str | None
    started_at: EpochMs
    ended_at: EpochMs | None
    partitions: tuple[str, ...]
    kind: PauseKind
    step_ms: int = 1
    """The resolution of its log's times in ms."""

    @property
    def lasted_ms(self) -> int | None:
        """For how long; None where it lasts, no line has a time, or it is too short for these times to tell."""
        return None if self.is_blurred else elapsed(self.started_at, self.ended_at)

    @property
    def is_blurred(self) -> bool:
        """True where it was shorter than the resolution of its log's times."""
        return self.ended_at is not None and self.ended_at - self.started_at < self.step_ms > 1


WhyUnread = Literal[
    "revoked", "stopped", "dead", "frozen", "stuck", "cut-off", "fenced", "assignment-failed", "unassigned", "unknown"
]


class UnreadSpan(Struct, frozen=True, kw_only=True, gc=False):
    """A span in which a partition had no reader: no owner, or one that was dead, frozen, stuck, cut off or evicted.

    `client_id` is whose it was before, `ended_at` None while nobody has it. Where the begin is only known to lie
    within a span, `certain` is False and `from_earliest` its begin.
    """

    partition: str
    started_at: EpochMs
    ended_at: EpochMs | None
    client_id: str | None
    why: WhyUnread
    certain: bool = True
    from_earliest: EpochMs | None = None
    incident: str | None = None
    """The id of the incident that it is counted in; None where it belongs to none."""

    @property
    def lasted_ms(self) -> int | None:
        """For how long; None where it lasts, or no line has a time."""
        return elapsed(self.started_at, self.ended_at)


class ReadSpan(Struct, frozen=True, kw_only=True, gc=False):
    """A member read these partitions, all of them from one moment to another; `ended_at` is None where it still does.

    `member` is named as its lane is.
    """

    partitions: tuple[str, ...]
    member: str
    started_at: EpochMs
    ended_at: EpochMs | None


class CoordinatorTerm(Struct, frozen=True, kw_only=True, gc=False):
    """A broker coordinated the group for a while."""

    broker: str
    started_at: EpochMs | None
    ended_at: EpochMs | None


class ProtocolTerm(Struct, frozen=True, kw_only=True, gc=False):
    """The group spoke a protocol for a while."""

    protocol: Protocol
    started_at: EpochMs | None
    ended_at: EpochMs | None


class Placed(Struct, frozen=True, kw_only=True, gc=False):
    """A member and the host it runs on."""

    name: str
    client_id: str | None
    instance_id: str | None
    host: str | None


class Identity(Placed, frozen=True, kw_only=True, gc=False):
    """One member under all its names, valid from and to (`whois`)."""

    kind: Literal["client", "instance", "thread", "worker", "host", "broker"]
    names: tuple[str, ...]
    member_ids: tuple[str, ...]
    process: str | None
    thread: str | None
    files: tuple[str, ...]
    started_at: EpochMs | None
    ended_at: EpochMs | None


SpanKind = Literal[
    "member", "joining", "paused", "away", "coordinating", "restoring",
    "stuck", "dead", "frozen", "cut-off", "silent", "holding-up",
]  # fmt: skip
"""The second line: the member is in the group and does not read, or keeps the whole group waiting. `silent`: no
heartbeat arrived, and no log tells why."""


class Span(Struct, frozen=True, kw_only=True, gc=False):
    """A stretch of a swim lane: member of a generation, joining, paused, away, or unable to read."""

    started_at: EpochMs
    ended_at: EpochMs | None
    kind: SpanKind
    label: str
    generation: int | None = None


class Mark(Struct, frozen=True, kw_only=True, gc=False):
    """A moment of a swim lane, with the line that shows it."""

    at: EpochMs
    kind: str
    """Event name in kebab-case (`member-failed`)."""
    label: str
    severity: Literal["fault", "notice", "plain"]
    evidence: Evidence


class Lane(Struct, frozen=True, kw_only=True, gc=False):
    """One swim lane of the picture: a member, a thread, a worker or a broker."""

    name: str
    kind: Literal["client", "instance", "thread", "worker", "host", "broker"]
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()
    owner: str | None = None
    """The instance whose thread this is."""


class Participation(Struct, frozen=True, kw_only=True, gc=False):
    """The members and the leader of one rebalance, compared with the last one before it whose members are known.

    `leader` and `members` are None where no line tells; under KIP-848 nobody leads. `renewed` took part both times,
    under another member id. `consumers` and `clients` are the numbers that a Streams leader counted.
    """

    generation: int | None
    at: EpochMs
    leader: str | None = None
    members: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()
    consumers: int | None = None
    clients: int | None = None


class LeaderChange(Struct, frozen=True, kw_only=True, gc=False):
    """Leadership moved. `former_took_part`: the former leader was a member all along; Kafka does not depose it then."""

    generation: int | None
    at: EpochMs
    before: str
    after: str
    former_took_part: bool | None


class Leadership(Struct, frozen=True, kw_only=True, gc=False):
    """The leaders over time; `stable`: the same member led every time, None where fewer than two leaders are known."""

    stable: bool | None = None
    changes: tuple[LeaderChange, ...] = ()


class FailedAttempt(Struct, frozen=True, kw_only=True, gc=False):
    """A JoinGroup or SyncGroup that failed between two rebalances, and how often it did in the same way."""

    at: EpochMs
    who: str | None
    api: str
    generation: int | None
    error: str | None
    why: str
    evidence: Evidence
    times: int = 1


class Burst(Struct, frozen=True, kw_only=True, gc=False):
    """Rebalances one right after the other. `reasons` holds, for each but the first, why it began."""

    generations: tuple[int | None, ...]
    started_at: EpochMs
    ended_at: EpochMs
    rebalances: int
    reasons: tuple[str | None, ...]
    failures: tuple[FailedAttempt, ...]


class Spacing(Struct, frozen=True, kw_only=True, gc=False):
    """From the begin of one rebalance to the begin of the next, and the setting that made it so long.

    `configured` says whether a log shows the value; if not, it is Kafka's default. `evenly`: the gap before or after
    is as long. `why` says what was measured.
    """

    from_generation: int | None
    to_generation: int | None
    at: EpochMs
    gap_ms: int
    setting: str | None = None
    value_ms: int | None = None
    configured: bool = False
    evenly: bool = False
    why: str | None = None


class Reading(Struct, frozen=True, kw_only=True, gc=False):
    """Patterns in the group's rebalances: their leaders, bursts, even spacing, and who took part."""

    leadership: Leadership = Leadership()
    close_together: tuple[Burst, ...] = ()
    spacings: tuple[Spacing, ...] = ()
    participants: tuple[Participation, ...] = ()


class GroupOutline(Struct, frozen=True, kw_only=True, gc=False):
    """The part of a group's history that a comparison with other groups needs."""

    group: str
    cluster: str
    coordinators: tuple[CoordinatorTerm, ...]
    identities: tuple[Placed, ...] = ()
    """Where an outline stands alone, only those whose host is known."""
    offsets_partition: int | None = None
    """The partition of `__consumer_offsets` it lives in, where a line tells it."""


class GroupHistory(GroupOutline, frozen=True, kw_only=True, gc=False):
    """Everything known about one group."""

    kind: GroupKind
    protocol: Protocol
    protocols: tuple[ProtocolTerm, ...]
    rebalance_mode: RebalanceMode
    generations: tuple[Generation, ...]
    pauses: tuple[Pause, ...]
    read: tuple[ReadSpan, ...] = ()
    unread: tuple[UnreadSpan, ...] = ()
    identities: tuple[Identity, ...] = ()
    lanes: tuple[Lane, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    """Settings that matter, as the logs show them (`max.poll.interval.ms` -> `300000`)."""
    versions: tuple[tuple[str, str], ...] = field(default=())
    """(host or file, Kafka version)."""
    reading: Reading = Reading()
    named: bool = True
    """True where the logs name the group; else `group` is a name made from its member's."""
