"""The history of one group as the timeline rebuilt it. Times are epoch ms on the group's clock, UTC.

These Structs are the report's schema too (report/schema.py): JSON shows their fields, in their order. `JSON` is what it
shows where that differs, as in SQL: `started_at as from`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from rebalance_forensics.records import Amount, EpochMs, Time, elapsed
from rebalance_forensics.timeline.windows import SHORTEST_UNREAD_MS

GroupKind = Literal["consumer", "streams", "connect", "schema-registry", "share", "unknown"]
Protocol = Literal["classic", "consumer", "streams", "share", "unknown"]
RebalanceMode = Literal["eager", "cooperative", "server-side", "unknown"]
Outcome = Literal["stable", "superseded", "empty", "failed", "unknown"]
PauseKind = Literal["revoked", "lost"]


Probability = Annotated[float, "probability"]
"""0 to 1; JSON rounds it."""
LogText = Annotated[str, "log text"]
"""Text of a log line, of any length."""


class Evidence(Struct, frozen=True, kw_only=True, gc=False):
    """One log line that proves something. `line` counts from 1, `byte_offset` from 0 in the uncompressed file."""

    path: str
    line: Annotated[int, Meta(extra_json_schema={"minimum": 1})]
    byte_offset: Amount
    timestamp: Time | None
    text: LogText


class Behind(Struct, frozen=True, kw_only=True, gc=False):
    """One thing behind a cause, by the logs of a JVM, of the kernel or of a supervisor: a GC, an OOM kill."""

    what: str
    why: str
    confidence: Probability
    evidence: tuple[Evidence, ...]


class Member(Struct, frozen=True, kw_only=True, gc=False):
    """A member of one generation under every name the logs give."""

    member_id: str | None
    client_id: str | None = None
    instance_id: str | None = None
    host: str | None = None


class Generation(Struct, frozen=True, kw_only=True, gc=False):
    """A generation (classic) or a group epoch (KIP-848, KIP-1071)."""

    generation: int
    started_at: Time | None
    completed_at: Time | None
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
    emptied_at: Time | None = None
    """When the coordinator logged that it has no members."""

    @property
    def began_at(self) -> int | None:
        """When it began, as far as a line shows it: an empty one has no rebalance of its own."""
        times = (self.started_at, self.completed_at, self.emptied_at)
        return next((at for at in times if at is not None), None)

    @property
    def size(self) -> int:
        """The number of its members; a static member counts once, whatever clients replaced it."""
        return len({m.instance_id or m for m in self.members})

    @property
    def member_names(self) -> tuple[str | None, ...]:
        """Its members by client id, else by member id."""
        return tuple(member.client_id or member.member_id for member in self.members)

    @property
    def reached_at(self) -> int | None:
        """When its assignment came, else when it began."""
        return self.completed_at or self.started_at

    @property
    def took_ms(self) -> int | None:
        """From its begin to its completion; None where one of them is not known, or no line has a time."""
        return elapsed(self.started_at, self.completed_at)


class Pause(Struct, frozen=True, kw_only=True, gc=False):
    """Partitions of one process without a reader: revoked or lost until some are assigned again."""

    JSON: ClassVar[str] = "client_id, member_id, started_at as from, ended_at as to, lasted_ms as ms, partitions, kind"

    client_id: str | None
    member_id: str | None
    started_at: Time
    ended_at: Time | None
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

    `client_id` is whose it was before, `ended_at` None while nobody has it. Where the begin or the end is only known to
    lie within a span, `certain` is False, and that span is from `from_earliest` or to `to_latest`: an exact end is its
    own latest, and one that nothing bounds has none.
    """

    JSON: ClassVar[str] = (
        "partition, started_at as from, ended_at as to, lasted_ms as ms, client_id, why, certain, from_earliest, "
        "to_latest, incident"
    )

    partition: str
    started_at: Time
    ended_at: Time | None
    client_id: Annotated[str | None, Meta(description="Whose it was before; null for nobody.")]
    why: WhyUnread
    certain: Annotated[
        bool,
        Meta(
            description="False where the begin is only known to lie between from_earliest and from, or the end between "
            "to and to_latest."
        ),
    ] = True
    from_earliest: Time | None = None
    to_latest: Annotated[
        Time | None,
        Meta(
            description="By then at the latest it was read again: to itself where that is exact, null where it is open "
            "or no later line bounds it."
        ),
    ] = None
    incident: Annotated[
        str | None, Meta(description="The id of the one incident that counts it; null where none does.")
    ] = None
    missed_at: Time | None = None
    """When the group missed the member whose it was."""

    @property
    def lasted_ms(self) -> Amount | None:
        """For how long; None where it lasts, or no line has a time."""
        return elapsed(self.started_at, self.ended_at)

    def if_running(self) -> UnreadSpan | None:
        """The span if the member, which its group takes for paused or cut off, ran all the while.

        It fetches from the leaders of its partitions until its coordinator refuses it.
        """
        if self.missed_at is None or self.why not in ("frozen", "cut-off", "unknown"):
            return self
        since = max(self.started_at, self.missed_at)
        if self.ended_at is not None and self.ended_at - since <= SHORTEST_UNREAD_MS:
            return None
        return replace(self, started_at=since, why="fenced", certain=False, from_earliest=None)


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

    JSON: ClassVar[str] = "broker, started_at as from, ended_at as to"

    broker: str
    started_at: Time | None
    ended_at: Time | None

    def overlaps(self, begin: int, end: int) -> bool:
        """True if the broker coordinated the group at some time from `begin` to `end`, as far as the logs show."""
        begun = self.started_at is None or self.started_at <= end
        return begun and (self.ended_at is None or self.ended_at >= begin)


class BrokerOutage(Struct, frozen=True, kw_only=True, gc=False):
    """A broker was down, stood still or was out of reach; `ended_at` is None where no line shows it back.

    `how`: it shut down, gave up (`failed`), was `lost` without a word, `froze` and went on, or was only `unreachable`
    for clients. It begins with the first line that shows it, which for a fenced broker is a session after its last
    heartbeat.
    """

    broker: str
    started_at: Time
    ended_at: Time | None
    how: Literal["shut-down", "failed", "lost", "froze", "unreachable"]
    evidence: tuple[Evidence, ...] = ()
    behind: tuple[Behind, ...] = ()
    is_fenced: bool = False
    """A controller logged that it fenced the broker."""


class Unreached(Struct, frozen=True, kw_only=True, gc=False):
    """A broker to which a member's connections failed for a while, as no other broker's did."""

    broker: str
    member: str
    started_at: Time
    ended_at: Time
    evidence: Evidence


class Loss(Struct, frozen=True, kw_only=True, gc=False):
    """A member whose session a broker let expire."""

    at: Time
    broker: str
    member: str
    evidence: Evidence


class PartitionLeader(Struct, frozen=True, kw_only=True, gc=False):
    """A member began to fetch a partition from the broker that led it; until another line shows another leader."""

    partition: str
    broker: str
    at: Time


class ProtocolTerm(Struct, frozen=True, kw_only=True, gc=False):
    """The group spoke a protocol for a while."""

    JSON: ClassVar[str] = "protocol, started_at as from, ended_at as to"

    protocol: Protocol
    started_at: Time | None
    ended_at: Time | None


class Placed(Struct, frozen=True, kw_only=True, gc=False):
    """A member and the host it runs on."""

    name: str
    client_id: str | None
    instance_id: str | None
    host: str | None


class Identity(Placed, frozen=True, kw_only=True, gc=False):
    """One member under all its names, valid from and to (`whois`)."""

    JSON: ClassVar[str] = (
        "name, kind, names, client_id, worker_clients, member_ids, instance_id, process, thread, host, files, "
        "started_at as from, ended_at as to"
    )

    kind: Literal["client", "instance", "thread", "worker", "host", "broker"]
    names: tuple[str, ...]
    member_ids: tuple[str, ...]
    process: str | None
    thread: str | None
    files: tuple[str, ...]
    started_at: Time | None
    ended_at: Time | None
    worker_clients: Annotated[
        tuple[str, ...],
        Meta(description="A Connect worker's clients of its config, offset and status topics, which are no members."),
    ] = ()


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

    `leader` and `members` are None where no line tells; under KIP-848 nobody leads.
    """

    generation: int | None
    at: Time
    leader: str | None = None
    members: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    renewed: Annotated[tuple[str, ...], Meta(description="Took part both times, under another member id.")] = ()
    consumers: Annotated[int | None, Meta(description="As a Streams leader counted them.")] = None
    clients: int | None = None


class LeaderChange(Struct, frozen=True, kw_only=True, gc=False):
    """Leadership moved."""

    generation: int | None
    at: Time
    before: str
    after: str
    former_took_part: Annotated[
        bool | None, Meta(description="The former leader was a member all along; Kafka does not depose it then.")
    ]


class Leadership(Struct, frozen=True, kw_only=True, gc=False):
    """The leaders over time."""

    stable: Annotated[
        bool | None,
        Meta(description="True where the same member led every time; null where fewer than two leaders are known."),
    ] = None
    changes: tuple[LeaderChange, ...] = ()


class FailedAttempt(Struct, frozen=True, kw_only=True, gc=False):
    """A JoinGroup or SyncGroup that failed between two rebalances, and how often it did in the same way."""

    at: Time
    who: str | None
    api: str
    generation: int | None
    error: str | None
    why: str
    times: Annotated[int, Meta(extra_json_schema={"minimum": 1})] = 1
    evidence: Evidence


class Burst(Struct, frozen=True, kw_only=True, gc=False):
    """Rebalances one right after the other."""

    JSON: ClassVar[str] = "generations, started_at as from, ended_at as to, rebalances, reasons, failures"

    generations: tuple[int | None, ...]
    started_at: Time
    ended_at: Time
    rebalances: Annotated[int, Meta(extra_json_schema={"minimum": 2})]
    reasons: Annotated[tuple[str | None, ...], Meta(description="Why each but the first began.")]
    failures: tuple[FailedAttempt, ...]


class Spacing(Struct, frozen=True, kw_only=True, gc=False):
    """From the begin of one rebalance to the begin of the next, and the setting that made it so long."""

    from_generation: int | None
    to_generation: int | None
    at: Time
    gap_ms: int
    setting: str | None = None
    value_ms: int | None = None
    configured: Annotated[
        bool, Meta(description="True where a log shows the value; if not, it is Kafka's default.")
    ] = False
    evenly: Annotated[bool, Meta(description="True where the gap before or after is as long.")] = False
    why: Annotated[str | None, Meta(description="What was measured.")] = None


class Reading(Struct, frozen=True, kw_only=True, gc=False):
    """Patterns in the group's rebalances: their leaders, bursts, even spacing, and who took part."""

    leadership: Leadership = Leadership()
    close_together: tuple[Burst, ...] = ()
    spacings: tuple[Spacing, ...] = ()
    participants: tuple[Participation, ...] = ()


class RunningVersion(Struct, frozen=True, kw_only=True, gc=False):
    """The Kafka version of a host, or of the process that wrote a file."""

    name: str
    version: str


class GroupOutline(Struct, frozen=True, kw_only=True, gc=False):
    """The part of a group's history that a comparison with other groups needs."""

    group: str
    cluster: str
    coordinators: tuple[CoordinatorTerm, ...]
    identities: tuple[Placed, ...] = ()
    """Where an outline stands alone, only those whose host is known."""
    offsets_partition: Annotated[
        int | None, Meta(description="The partition of __consumer_offsets that holds the group, where a line shows it.")
    ] = None
    outages: tuple[BrokerOutage, ...] = ()
    """Brokers that were out; only of a group that an incident disturbed."""
    losses: tuple[Loss, ...] = ()
    """Members whose sessions expired, by a broker's own lines; the first of them where there are thousands."""
    leaders: tuple[PartitionLeader, ...] = ()
    """The brokers that members fetched from, by time; each partition again only where its leader is another one."""
    unreached: tuple[Unreached, ...] = ()
    """Brokers that members failed to connect to, by their own lines; the first where there are hundreds."""


class GroupHistory(GroupOutline, frozen=True, kw_only=True, gc=False):
    """Everything known about one group."""

    JSON: ClassVar[str] = (
        "group, cluster, kind, protocol, protocols, rebalance_mode, coordinators, generations, pauses, unread, "
        "identities, settings_by_name as settings, versions, offsets_partition, named, leadership, rebalances, "
        "close_together, spacings"
    )

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
    versions: tuple[RunningVersion, ...] = ()
    reading: Reading = Reading()
    named: Annotated[
        bool,
        Meta(
            description="True where the logs name the group. If not, it is a client whose lines name no group, and "
            "`group` says which: `group not named, client rdkafka#consumer-1`."
        ),
    ] = True

    @property
    def settings_by_name(self) -> dict[str, str]:
        """The settings as JSON shows them."""
        return dict(self.settings)

    @property
    def leadership(self) -> Leadership:
        """Its leaders over time."""
        return self.reading.leadership

    @property
    def rebalances(self) -> tuple[Participation, ...]:
        """The members and the leader of each rebalance."""
        return self.reading.participants

    @property
    def close_together(self) -> tuple[Burst, ...]:
        """Its bursts of rebalances."""
        return self.reading.close_together

    @property
    def spacings(self) -> tuple[Spacing, ...]:
        """The gaps between rebalances that are even, or as long as a setting."""
        return self.reading.spacings
