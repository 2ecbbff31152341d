"""What the diagnosis says: incidents, their root causes, culprits, proof and advice. Times are epoch ms, UTC."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rebalance_forensics.defects import ASK
from rebalance_forensics.records import EpochMs, elapsed
from rebalance_forensics.timeline.model import Evidence

Severity = Literal["critical", "warning", "info"]
GapKind = Literal["missing", "too-little", "failed"]
"""A log that is not at hand; a group of which the logs show too little to judge it; one whose analysis broke off."""
RelationKind = Literal["coordinator", "host", "topic", "deployment"]
CulpritKind = Literal["client", "instance", "thread", "worker", "host", "broker", "topic", "connector", "group"]


class Culprit(Struct, frozen=True, kw_only=True, gc=False):
    """The party that caused it; `names` holds every other name an operator may know it by."""

    kind: CulpritKind
    name: str
    names: tuple[str, ...] = ()


class Advice(Struct, frozen=True, kw_only=True, gc=False):
    """What to do, why, and what it costs, in numbers of this incident."""

    action: str
    why: str
    cost: str | None = None


class KnownBug(Struct, frozen=True, kw_only=True, gc=False):
    """A Kafka bug whose version and signature match."""

    jira: str
    title: str
    fixed_in: str | None


class ChainLink(Struct, frozen=True, kw_only=True, gc=False):
    """One step from the first event to the last effect."""

    at: EpochMs | None
    what: str
    evidence: Evidence | None = None


class Blame(Struct, frozen=True, kw_only=True, gc=False):
    """One cause: how likely it is and who made it happen."""

    cause: str
    confidence: float
    culprits: tuple[Culprit, ...]


class RootCause(Blame, frozen=True, kw_only=True, gc=False):
    """One cause with its proof. `evidence` is the most telling 20 lines of `evidence_total`.

    `narrative` tells the first occurrence; it happened `occurrences` times, to `affected` besides whom it blames.
    """

    narrative: str
    evidence: tuple[Evidence, ...]
    evidence_total: int
    occurrences: int = 1
    affected: tuple[str, ...] = ()
    advice: tuple[Advice, ...] = ()
    known_bugs: tuple[KnownBug, ...] = ()
    chain: tuple[ChainLink, ...] = ()


class SearchedLog(Struct, frozen=True, kw_only=True, gc=False):
    """A log that would have shown something, from when to when it was searched for it."""

    path: str
    started_at: EpochMs
    ended_at: EpochMs


class RuledOut(Struct, frozen=True, kw_only=True, gc=False):
    """A cause that it was not: the sign that contradicts it, with its lines or with where it was looked for."""

    cause: str
    why: str
    sign: str
    evidence: tuple[Evidence, ...] = ()
    looked_in: tuple[SearchedLog, ...] = ()


class WouldDecide(Struct, frozen=True, kw_only=True, gc=False):
    """A log that was not at hand and that parts the causes still possible; times are None where any will do."""

    needs: str
    who: str | None
    started_at: EpochMs | None
    ended_at: EpochMs | None
    between: tuple[str, ...]


SignAnswer = Literal["present", "absent", "unobservable"]


class SignRow(Struct, frozen=True, kw_only=True, gc=False, cache_hash=True):
    """One sign of an incident: what the logs answer, and what that adds to the odds of each cause that asks for it."""

    sign: str
    says: str
    answer: SignAnswer
    weighs: tuple[tuple[str, int], ...]
    evidence: tuple[Evidence, ...] = ()
    looked_in: tuple[SearchedLog, ...] = ()


class MemberImpact(Struct, frozen=True, kw_only=True, gc=False):
    """The cost in time of members: how long nobody read what a member had, whatever partitions that were.

    The whole group was stopped for at least and at most so long: from the first word of a rebalance on members give up
    their partitions, and once all have joined again no eager member has any. Each is None where that is not known.
    """

    members: int
    of_members: int | None
    """How many the group had before."""
    unread_member_ms: int
    longest_ms: int
    at_least: bool
    """It may have been longer: no timeout of a member is known, or nobody tells when another took over."""
    stopped_at_least_ms: int | None = None
    stopped_at_most_ms: int | None = None


class Impact(Struct, frozen=True, kw_only=True, gc=False):
    """The cost of an incident; None where the logs do not show it, never 0 for unknown.

    `unread_partition_ms` sums, over the partitions, the time in which nobody could read them; `stopped_ms` is the time
    in which no partition of the group was read. `pause_ms` sums the pauses of members, of which `members` and
    `partitions` count those concerned: all three are unknown where no log of a client at INFO covers the time.
    """

    unread_partition_ms: int | None = None
    unread_partitions: int | None = None
    """How many were unread for at least half as long as the longest."""
    known_partitions: int | None = None
    """Of how many partitions an owner is known at all."""
    unread_at_least: bool | None = None
    """Others may have been unread as well, or for longer: some members have no log, or no timeout bounds the time."""
    longest_unread_ms: int | None = None
    longest_unread_partition: str | None = None
    stopped_ms: int | None = None
    pause_ms: int | None = None
    members: int | None = None
    partitions: int | None = None
    rebalances: int
    of_connect: bool = False
    """Connectors and tasks stand for partitions: a Connect cluster shares out these."""
    by_member: MemberImpact | None = None
    """The cost by coordinators' logs where no line names partitions; None if partitions are known, or nothing is."""


class Saving(Struct, frozen=True, kw_only=True, gc=False):
    """How much less of something another protocol would have cost; negative where it would have cost more. ms."""

    low: int
    likely: int
    high: int


class WhatIf(Struct, frozen=True, kw_only=True, gc=False):
    """The same faults simulated under another protocol, against the same simulation of the one in use.

    `unread` is saved unread time, summed over partitions; `stopped` is saved time in which no partition was read. Each
    is None where the logs do not tell it, both where they do not tell enough for a simulation. `condition` is what the
    logs leave open.
    """

    alternative: str
    unread: Saving | None
    stopped: Saving | None
    explanation: str
    condition: str | None = None


class Relation(Struct, frozen=True, kw_only=True, gc=False):
    """Incidents of several groups with one thing behind them: their ids (at most twenty) and what it is."""

    kind: RelationKind
    ids: tuple[str, ...]
    groups: int
    """How many groups it concerns, this one counted."""
    why: str


class Headline(Struct, frozen=True, kw_only=True, gc=False):
    """An incident without its proof: what puts incidents in order, counts them and lists them."""

    id: str
    group: str
    cluster: str
    started_at: EpochMs
    ended_at: EpochMs | None
    ongoing: bool
    severity: Severity
    summary: str
    root_causes: tuple[Blame, ...]
    impact: Impact = Impact(rebalances=0)

    @property
    def lasted_ms(self) -> int | None:
        """From its begin to its end; None where it has not ended, or no line has a time."""
        return elapsed(self.started_at, self.ended_at)


class Incident(Headline, frozen=True, kw_only=True, gc=False):
    """Everything that follows from one first cause in one group."""

    root_causes: tuple[RootCause, ...]
    ruled_out: tuple[RuledOut, ...] = ()
    would_decide: tuple[WouldDecide, ...] = ()
    signs: tuple[SignRow, ...] = ()
    """Every sign that was asked for, with what it adds to each cause: `explain INPUT#incident` shows it as a table."""
    followups: tuple[str, ...] = ()
    generations: tuple[int, ...] = ()
    what_if: tuple[WhatIf, ...] = ()
    occurrences: int = 1
    related: tuple[Relation, ...] = ()


class Gap(Struct, frozen=True, kw_only=True, gc=False):
    """Something that the logs do not show, and what it would decide; or a defect of this tool."""

    what: str
    started_at: EpochMs | None
    ended_at: EpochMs | None
    consequence: str
    kind: GapKind = "missing"

    @property
    def is_defect(self) -> bool:
        """True if the tool lacks a rule rather than the logs a line."""
        return self.consequence.endswith(ASK)
