"""The reconstructed history of one group. Times are epoch milliseconds in UTC, on the group's clock.

These Structs also define the schema of the report (report/schema.py): JSON contains their fields in the same order.
A `JSON` class variable lists fields that differ, in the syntax of a SQL select list: `started_at as from`.
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
    """A log line that supports a conclusion. `line` counts from 1, `byte_offset` from 0 in the uncompressed file."""

    path: str
    line: Annotated[int, Meta(extra_json_schema={"minimum": 1})]
    byte_offset: Amount
    timestamp: Time | None
    text: LogText


class Behind(Struct, frozen=True, kw_only=True, gc=False):
    """An underlying cause logged by a JVM, the kernel or a supervisor, such as a GC pause or an OOM kill."""

    what: str
    why: str
    confidence: Probability
    evidence: tuple[Evidence, ...]


class Member(Struct, frozen=True, kw_only=True, gc=False):
    """A member of one generation, with its names in the logs."""

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
    """The reason that the coordinator or the member logged for the rebalance."""
    followup: str | None = None
    failures: tuple[str, ...] = ()
    """The join and sync failures that preceded it, as sentences."""
    emptied_at: Time | None = None
    """When the coordinator logged that the generation has no members."""

    @property
    def began_at(self) -> int | None:
        """The time of its first line, or None; an empty generation has no rebalance of its own."""
        times = (self.started_at, self.completed_at, self.emptied_at)
        return next((at for at in times if at is not None), None)

    @property
    def size(self) -> int:
        """The number of members; a static member and the clients that replaced it count once."""
        return len({m.instance_id or m for m in self.members})

    @property
    def member_names(self) -> tuple[str | None, ...]:
        """The client ids of its members, or the member ids if the client ids are unknown."""
        return tuple(member.client_id or member.member_id for member in self.members)

    @property
    def reached_at(self) -> int | None:
        """When its members received the assignment, or when it began if that is unknown."""
        return self.completed_at or self.started_at

    @property
    def took_ms(self) -> int | None:
        """The time from its start to its completion in ms; None if either is unknown or the lines have no times."""
        return elapsed(self.started_at, self.completed_at)


class Pause(Struct, frozen=True, kw_only=True, gc=False):
    """A span in which a process has no partitions: they were revoked or lost, and none was assigned yet."""

    JSON: ClassVar[str] = "client_id, member_id, started_at as from, ended_at as to, lasted_ms as ms, partitions, kind"

    client_id: str | None
    member_id: str | None
    started_at: Time
    ended_at: Time | None
    partitions: tuple[str, ...]
    kind: PauseKind
    step_ms: int = 1
    """The resolution of the timestamps of its log in ms."""

    @property
    def lasted_ms(self) -> int | None:
        """Its duration in ms; None if it is ongoing, below the resolution of the log, or the lines have no times."""
        return None if self.is_blurred else elapsed(self.started_at, self.ended_at)

    @property
    def is_blurred(self) -> bool:
        """True if it was shorter than the resolution of the timestamps of its log."""
        return self.ended_at is not None and self.ended_at - self.started_at < self.step_ms > 1


WhyUnread = Literal[
    "revoked", "stopped", "dead", "frozen", "stuck", "cut-off", "fenced", "assignment-failed", "unassigned", "unknown"
]


class UnreadSpan(Struct, frozen=True, kw_only=True, gc=False):
    """A span in which a partition had no reader: no owner, or one that was dead, frozen, stuck, cut off or evicted.

    `client_id` is the previous owner; `ended_at` is None if the partition still has no reader. `certain` is False if
    the start or the end is not known exactly: the start is between `from_earliest` and `started_at`, the end between
    `ended_at` and `to_latest`. `to_latest` equals an exact end, and is None if no later line bounds the end.
    """

    JSON: ClassVar[str] = (
        "partition, started_at as from, ended_at as to, lasted_ms as ms, client_id, why, certain, from_earliest, "
        "to_latest, incident"
    )

    partition: str
    started_at: Time
    ended_at: Time | None
    client_id: Annotated[str | None, Meta(description="The previous owner; null if there was none.")]
    why: WhyUnread
    certain: Annotated[
        bool,
        Meta(
            description="False if the start is only known to be between from_earliest and from, or the end between "
            "to and to_latest."
        ),
    ] = True
    from_earliest: Time | None = None
    to_latest: Annotated[
        Time | None,
        Meta(
            description="The latest time at which it was read again: the same as to if that is exact, null if it is "
            "still unread or no later line bounds the end."
        ),
    ] = None
    incident: Annotated[
        str | None, Meta(description="The id of the incident that this span counts towards; null if there is none.")
    ] = None
    missed_at: Time | None = None
    """When the coordinator noticed the absence of the previous owner."""

    @property
    def lasted_ms(self) -> Amount | None:
        """Its duration in ms; None if it is ongoing or the lines have no times."""
        return elapsed(self.started_at, self.ended_at)

    def if_running(self) -> UnreadSpan | None:
        """The unread span if the member was in fact running while it seemed paused or cut off; None if too short.

        Such a member fetches from the leaders of its partitions until its coordinator fences it.
        """
        if self.missed_at is None or self.why not in ("frozen", "cut-off", "unknown"):
            return self
        since = max(self.started_at, self.missed_at)
        if self.ended_at is not None and self.ended_at - since <= SHORTEST_UNREAD_MS:
            return None
        return replace(self, started_at=since, why="fenced", certain=False, from_earliest=None)


class ReadSpan(Struct, frozen=True, kw_only=True, gc=False):
    """A span in which a member read all of these partitions; `ended_at` is None if it still does.

    `member` is the name of its swim lane.
    """

    partitions: tuple[str, ...]
    member: str
    started_at: EpochMs
    ended_at: EpochMs | None


class CoordinatorTerm(Struct, frozen=True, kw_only=True, gc=False):
    """A span in which one broker coordinated the group."""

    JSON: ClassVar[str] = "broker, started_at as from, ended_at as to"

    broker: str
    started_at: Time | None
    ended_at: Time | None

    def overlaps(self, begin: int, end: int) -> bool:
        """True if the broker may have coordinated the group between `begin` and `end`, by the logs."""
        started = self.started_at is None or self.started_at <= end
        return started and (self.ended_at is None or self.ended_at >= begin)


class BrokerOutage(Struct, frozen=True, kw_only=True, gc=False):
    """A span in which a broker was down, frozen or unreachable; `ended_at` is None if no line shows its return.

    `how`: it shut down, exited with an error (`failed`), was `lost` without any log line, `froze` and resumed, or was
    `unreachable` for clients only. The outage starts at the first line that shows it; a broker is fenced one
    broker.session.timeout.ms after its last heartbeat.
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
    """A span in which a member failed to connect to one broker only."""

    broker: str
    member: str
    started_at: Time
    ended_at: Time
    evidence: Evidence


class Loss(Struct, frozen=True, kw_only=True, gc=False):
    """A member whose session expired on its coordinator."""

    at: Time
    broker: str
    member: str
    evidence: Evidence


class PartitionLeader(Struct, frozen=True, kw_only=True, gc=False):
    """The leader of a partition from a time on, seen when a member began to fetch from it."""

    partition: str
    broker: str
    at: Time


class ProtocolTerm(Struct, frozen=True, kw_only=True, gc=False):
    """A span in which the group used one protocol."""

    JSON: ClassVar[str] = "protocol, started_at as from, ended_at as to"

    protocol: Protocol
    started_at: Time | None
    ended_at: Time | None


class Placed(Struct, frozen=True, kw_only=True, gc=False):
    """A member and its host."""

    name: str
    client_id: str | None
    instance_id: str | None
    host: str | None


class Identity(Placed, frozen=True, kw_only=True, gc=False):
    """A member with all its names, and when it was seen (`whois`)."""

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
        Meta(description="A Connect worker's clients for its config, offset and status topics; they are not members."),
    ] = ()


SpanKind = Literal[
    "member", "joining", "paused", "away", "coordinating", "restoring",
    "stuck", "dead", "frozen", "cut-off", "silent", "holding-up",
]  # fmt: skip
"""In the spans of the second line, the member is in the group but does not read, or the whole group waits for it.
`silent`: no heartbeat arrived, and no log shows why."""


class Span(Struct, frozen=True, kw_only=True, gc=False):
    """A span on a swim lane: member of a generation, joining, paused, away, or unable to read."""

    started_at: EpochMs
    ended_at: EpochMs | None
    kind: SpanKind
    label: str
    generation: int | None = None


class Mark(Struct, frozen=True, kw_only=True, gc=False):
    """An event on a swim lane, with the line that shows it."""

    at: EpochMs
    kind: str
    """Event name in kebab-case (`member-failed`)."""
    label: str
    severity: Literal["fault", "notice", "plain"]
    evidence: Evidence


class Lane(Struct, frozen=True, kw_only=True, gc=False):
    """A swim lane of the timeline chart: a member, a thread, a worker or a broker."""

    name: str
    kind: Literal["client", "instance", "thread", "worker", "host", "broker"]
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()
    owner: str | None = None
    """The Streams instance that this thread belongs to."""


class Participation(Struct, frozen=True, kw_only=True, gc=False):
    """The members and the leader of a rebalance, compared with the last previous one whose members are known.

    `leader` and `members` are None if no line shows them; KIP-848 groups have no leader.
    """

    generation: int | None
    at: Time
    leader: str | None = None
    members: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    renewed: Annotated[tuple[str, ...], Meta(description="Took part in both, with a new member id.")] = ()
    consumers: Annotated[int | None, Meta(description="As counted by a Streams leader.")] = None
    clients: int | None = None


class LeaderChange(Struct, frozen=True, kw_only=True, gc=False):
    """A change of the group leader."""

    generation: int | None
    at: Time
    before: str
    after: str
    former_took_part: Annotated[
        bool | None, Meta(description="The former leader was still a member; Kafka then keeps it as leader.")
    ]


class Leadership(Struct, frozen=True, kw_only=True, gc=False):
    """The leaders of the group over time."""

    stable: Annotated[
        bool | None,
        Meta(description="True if the same member led every time; null if fewer than two leaders are known."),
    ] = None
    changes: tuple[LeaderChange, ...] = ()


class FailedAttempt(Struct, frozen=True, kw_only=True, gc=False):
    """A JoinGroup or SyncGroup that failed between two rebalances, and how often it failed with the same error."""

    at: Time
    who: str | None
    api: str
    generation: int | None
    error: str | None
    why: str
    times: Annotated[int, Meta(extra_json_schema={"minimum": 1})] = 1
    evidence: Evidence


class Burst(Struct, frozen=True, kw_only=True, gc=False):
    """Rebalances in quick succession."""

    JSON: ClassVar[str] = "generations, started_at as from, ended_at as to, rebalances, reasons, failures"

    generations: tuple[int | None, ...]
    started_at: Time
    ended_at: Time
    rebalances: Annotated[int, Meta(extra_json_schema={"minimum": 2})]
    reasons: Annotated[tuple[str | None, ...], Meta(description="The reason of each rebalance but the first.")]
    failures: tuple[FailedAttempt, ...]


class Spacing(Struct, frozen=True, kw_only=True, gc=False):
    """The interval between the starts of two rebalances, and the setting that explains its length."""

    from_generation: int | None
    to_generation: int | None
    at: Time
    gap_ms: int
    setting: str | None = None
    value_ms: int | None = None
    configured: Annotated[bool, Meta(description="True if a log shows the value; otherwise it is Kafka's default.")] = (
        False
    )
    evenly: Annotated[bool, Meta(description="True if the interval before or after has the same length.")] = False
    why: Annotated[str | None, Meta(description="What was measured.")] = None


class Reading(Struct, frozen=True, kw_only=True, gc=False):
    """Patterns in the group's rebalances: their leaders, bursts, even spacing, and who took part."""

    leadership: Leadership = Leadership()
    close_together: tuple[Burst, ...] = ()
    spacings: tuple[Spacing, ...] = ()
    participants: tuple[Participation, ...] = ()


class RunningVersion(Struct, frozen=True, kw_only=True, gc=False):
    """The Kafka version on a host, or of the process that wrote a file."""

    name: str
    version: str


class GroupOutline(Struct, frozen=True, kw_only=True, gc=False):
    """The part of a group's history that is needed to compare it with other groups."""

    group: str
    cluster: str
    coordinators: tuple[CoordinatorTerm, ...]
    identities: tuple[Placed, ...] = ()
    """In an outline without the rest of the history, only identities with a known host."""
    offsets_partition: Annotated[
        int | None, Meta(description="The partition of __consumer_offsets that stores the group, if a line shows it.")
    ] = None
    outages: tuple[BrokerOutage, ...] = ()
    """Broker outages; only for a group with an incident."""
    losses: tuple[Loss, ...] = ()
    """Session expirations that brokers logged; only the first ones if there are thousands."""
    leaders: tuple[PartitionLeader, ...] = ()
    """The partition leaders that members fetched from, in time order; only changes of a partition's leader."""
    unreached: tuple[Unreached, ...] = ()
    """Brokers that members logged as unreachable; only the first ones if there are hundreds."""


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
    """Relevant settings, as logged (`max.poll.interval.ms` -> `300000`)."""
    versions: tuple[RunningVersion, ...] = ()
    reading: Reading = Reading()
    named: Annotated[
        bool,
        Meta(
            description="True if the logs name the group. Otherwise it stands for a client whose lines name no group, "
            "and `group` names that client: `group not named, client rdkafka#consumer-1`."
        ),
    ] = True

    @property
    def settings_by_name(self) -> dict[str, str]:
        """The settings as a mapping, for JSON."""
        return dict(self.settings)

    @property
    def leadership(self) -> Leadership:
        """The leaders of the group over time."""
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
        """The intervals between rebalances that are even, or as long as a setting."""
        return self.reading.spacings
