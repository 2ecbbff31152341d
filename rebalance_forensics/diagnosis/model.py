"""What the diagnosis finds: incidents, their root causes, culprits, proof and advice. Times are epoch ms, UTC.

JSON, tables and texts are made of these Structs; `JSON` is explained in timeline/model.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from rebalance_forensics.diagnosis.wording.durations import capitalized, listed
from rebalance_forensics.records import Amount, Time, elapsed
from rebalance_forensics.timeline.model import Behind, Evidence, Probability

Severity = Literal["critical", "warning", "info"]
RANKS: Mapping[Severity, int] = {"critical": 0, "warning": 1, "info": 2}
GapKind = Literal["missing", "too-little", "failed"]
RelationKind = Literal["host"]
Scope = Literal["group", "cluster"]
CulpritKind = Literal["client", "instance", "thread", "worker", "host", "broker", "topic", "connector", "group"]


class Culprit(Struct, frozen=True, kw_only=True, gc=False):
    """The party that caused it; `names` holds every other name an operator may know it by."""

    kind: CulpritKind
    name: str
    names: tuple[str, ...] = ()


class Advice(Struct, frozen=True, kw_only=True, gc=False):
    """What to do, why, and what it costs, in numbers of this incident."""

    JSON: ClassVar[str] = "action, why, cost"

    action: str
    why: str
    cost: str | None = None
    template: str | None = None
    """The action with `{who}` or `{figure}` in it, where it names whom it concerns or has a figure."""
    figure: int | None = None
    """What stands for `{figure}`: the value to set, which differs from one occurrence to the next."""


class KnownBug(Struct, frozen=True, kw_only=True, gc=False):
    """A Kafka bug whose version and signature match."""

    jira: str
    title: str
    fixed_in: str | None


class ChainLink(Struct, frozen=True, kw_only=True, gc=False):
    """One step from the first event to the last effect."""

    at: Time | None
    what: str
    evidence: Evidence | None = None


class Blame(Struct, frozen=True, kw_only=True, gc=False):
    """One cause: how likely it is and who made it happen."""

    cause: str
    confidence: Probability
    culprits: tuple[Culprit, ...]

    @property
    def culprit_names(self) -> tuple[str, ...]:
        """The names of those who caused it."""
        return tuple(culprit.name for culprit in self.culprits)


class RootCause(Blame, frozen=True, kw_only=True, gc=False):
    """One cause with its proof. `evidence` is the most telling 20 lines of `evidence_total`."""

    JSON: ClassVar[str] = (
        "cause, confidence, culprits, whole_narrative as narrative, evidence, behind, advice, known_bugs, "
        "evidence_total, chain, occurrences, affected"
    )

    narrative: str
    """What happened the first time; `whole_narrative` adds how often it did, and to whom."""
    evidence: Annotated[tuple[Evidence, ...], Meta(extra_json_schema={"maxItems": 20})]
    evidence_total: Amount
    occurrences: Annotated[int, Meta(extra_json_schema={"minimum": 1})] = 1
    affected: Annotated[
        tuple[str, ...], Meta(description="Members that were affected besides those the narrative begins with.")
    ] = ()
    advice: tuple[Advice, ...] = ()
    known_bugs: tuple[KnownBug, ...] = ()
    chain: tuple[ChainLink, ...] = ()
    behind: Annotated[
        tuple[Behind, ...], Meta(description="What made it so, nearest first; empty where no log shows it.")
    ] = ()

    @property
    def whole_narrative(self) -> str:
        """What happened, how often, and who was affected besides the culprits."""
        others = self.affected
        more = [
            f"It happened {self.occurrences:,} times." if self.occurrences > len(others) + 1 else "",
            f"{listed(others)} {'was' if len(others) == 1 else 'were'} affected as well." if others else "",
        ]
        return " ".join([self.narrative, *filter(None, more)])


class SearchedLog(Struct, frozen=True, kw_only=True, gc=False):
    """A log that would have shown something, from when to when it was searched for it."""

    JSON: ClassVar[str] = "path, started_at as from, ended_at as to"

    path: str
    started_at: Time
    ended_at: Time


class RuledOut(Struct, frozen=True, kw_only=True, gc=False):
    """A cause that it was not: the sign that contradicts it, with its lines or with where it was looked for."""

    cause: str
    why: str
    sign: Annotated[str, Meta(description="The sign that contradicts it; `signs` has its weights.")]
    evidence: tuple[Evidence, ...] = ()
    looked_in: tuple[SearchedLog, ...] = ()


class WouldDecide(Struct, frozen=True, kw_only=True, gc=False):
    """A log that was not at hand and that parts the causes still possible; times are None where any will do."""

    JSON: ClassVar[str] = "needs, who, started_at as from, ended_at as to, between"

    needs: str
    who: str | None
    started_at: Time | None
    ended_at: Time | None
    between: tuple[str, ...]
    template: str | None = None
    """`needs` with `{who}` for the member whose log it is and `{s}` for the plural, where it names one."""


SignAnswer = Literal["present", "absent", "unobservable"]


class Weight(Struct, frozen=True, kw_only=True, gc=False):
    """What a sign adds to the odds of a cause, to the base of 2."""

    cause: str
    weight: int


class SignRow(Struct, frozen=True, kw_only=True, gc=False, cache_hash=True):
    """One sign of an incident: what the logs answer, and what that adds to the odds of each cause that asks for it."""

    JSON: ClassVar[str] = "sign, says, answer, weights as weighs, evidence, looked_in"

    sign: str
    says: str
    answer: SignAnswer
    weighs: tuple[tuple[str, int], ...]
    """Causes with what the sign adds to the odds of each, to the base of 2."""
    evidence: tuple[Evidence, ...] = ()
    looked_in: tuple[SearchedLog, ...] = ()

    @property
    def weights(self) -> tuple[Weight, ...]:
        """What it adds to the odds of each cause, as JSON shows it."""
        return tuple([Weight(cause=cause, weight=weight) for cause, weight in self.weighs])


class MemberImpact(Struct, frozen=True, kw_only=True, gc=False):
    """The cost in time of members: how long nobody read what a member had, whatever partitions that were.

    The whole group was stopped for at least and at most so long: from the first word of a rebalance on members give up
    their partitions, and once all have joined again no eager member has any. Each is None where that is not known.
    """

    JSON: ClassVar[str] = (
        "members, of_members, unread_member_ms, longest_ms as longest_unread_ms, at_least, stopped_at_least_ms, "
        "stopped_at_most_ms"
    )

    members: Amount
    of_members: Annotated[Amount | None, Meta(description="How many members the group had before.")]
    unread_member_ms: Annotated[Amount, Meta(description="These times added up over members.")]
    longest_ms: Amount
    at_least: Annotated[
        bool,
        Meta(
            description="True where it may have been longer: no timeout of a member is known, or no line shows when "
            "another took over."
        ),
    ]
    stopped_at_least_ms: Amount | None = None
    stopped_at_most_ms: Amount | None = None


class Impact(Struct, frozen=True, kw_only=True, gc=False):
    """The cost of an incident; null where the logs do not show it, never 0 for unknown."""

    JSON: ClassVar[str] = (
        "unread_partition_ms, unread_at_least, longest_unread_ms, longest_unread_partition, stopped_ms, pause_ms, "
        "members, partitions, rebalances, by_member"
    )

    unread_partition_ms: Annotated[
        Amount | None, Meta(description="The time in which nobody could read a partition, added up over partitions.")
    ] = None
    unread_partitions: int | None = None
    """How many were unread for at least half as long as the longest."""
    known_partitions: int | None = None
    """Of how many partitions an owner is known at all."""
    unread_at_least: Annotated[
        bool | None,
        Meta(
            description="True where more may have been unread, or for longer: some members have no log, or no timeout "
            "bounds the time."
        ),
    ] = None
    longest_unread_ms: Annotated[Amount | None, Meta(description="The longest time one partition was unread.")] = None
    longest_unread_partition: str | None = None
    stopped_ms: Annotated[Amount | None, Meta(description="The time in which no partition of the group was read.")] = (
        None
    )
    pause_ms: Annotated[
        Amount | None,
        Meta(description="Pauses of members added up; null where no log of a client at INFO covers the time."),
    ] = None
    members: Annotated[Amount | None, Meta(description="Members that paused; null as pause_ms.")] = None
    partitions: Annotated[Amount | None, Meta(description="Partitions of these pauses; null as pause_ms.")] = None
    rebalances: Amount
    of_connect: bool | None = False
    """Connectors and tasks stand for partitions: a Connect cluster shares out these. None for groups of both kinds."""
    by_member: Annotated[
        MemberImpact | None,
        Meta(
            description="The cost by coordinators' logs where no line names partitions; null where partitions are "
            "known, or nothing is."
        ),
    ] = None


class Saving(Struct, frozen=True, kw_only=True, gc=False):
    """How much less of something another protocol would have cost, in ms; negative where it would have cost more.

    `likely` is the likeliest figure; four in five simulations lie between `low` and `high`.
    """

    low: int
    likely: int
    high: int


class WhatIf(Struct, frozen=True, kw_only=True, gc=False):
    """The same faults simulated under another protocol, against the same simulation of the one in use.

    Both savings are None where the logs do not show enough for a simulation.
    """

    JSON: ClassVar[str] = (
        "alternative, condition, unread as saved_unread_partition_ms, stopped as saved_stopped_ms, explanation"
    )

    alternative: str
    unread: Annotated[
        Saving | None,
        Meta(description="Unread time saved, added up over partitions; null where the logs leave it open."),
    ]
    stopped: Annotated[
        Saving | None,
        Meta(description="Time saved in which no partition was read; null where the logs leave it open."),
    ]
    explanation: str
    condition: Annotated[str | None, Meta(description="What the logs leave open.")] = None


class Relation(Struct, frozen=True, kw_only=True, gc=False):
    """Incidents of several groups with one thing behind them: their ids (at most twenty) and what it is."""

    JSON: ClassVar[str] = "kind, ids as incidents, groups, why"

    kind: RelationKind
    ids: tuple[str, ...]
    groups: Annotated[int, Meta(description="How many groups it concerns, this one counted.")]
    why: str


class DisturbedGroup(Struct, frozen=True, kw_only=True, gc=False):
    """What a cluster's incident did to one group, with the first lines that show it there."""

    group: str
    severity: Severity
    impact: Impact
    followups: tuple[str, ...] = ()
    generations: tuple[int, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    summary: Annotated[str, Meta(description="What this group's own lines show.")] = ""
    led: Annotated[
        tuple[str, ...],
        Meta(
            description="Its partitions that a broker led as it went out, where a member logged so: nobody could fetch "
            "them, whatever member owned them, until it was back or another broker led them."
        ),
    ] = ()
    parts: Annotated[
        tuple[str, ...], Meta(description="The ids that its own lines alone would have been reported under.")
    ] = ()


class Headline(Struct, frozen=True, kw_only=True, gc=False):
    """An incident without its proof: what puts incidents in order, counts them and lists them."""

    id: Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": 255})]
    group: Annotated[
        str | None, Meta(description="Null for an incident of scope cluster, whose groups are listed in groups.")
    ]
    cluster: str
    started_at: Time
    ended_at: Time | None
    ongoing: bool
    severity: Severity
    summary: str
    root_causes: tuple[Blame, ...]
    impact: Impact = Impact(rebalances=0)
    scope: Annotated[Scope, Meta(description="What it disturbed: one group, or several of a cluster together.")] = (
        "group"
    )
    groups: Annotated[
        tuple[DisturbedGroup, ...],
        Meta(description="The groups that a cluster's incident disturbed, the worst first; empty for a group's own."),
    ] = ()

    @property
    def group_name(self) -> str:
        """The group, or all of them in a list."""
        return ", ".join(self.group_names)

    @property
    def group_names(self) -> tuple[str, ...]:
        """Every group it disturbed."""
        return tuple([disturbed.group for disturbed in self.groups]) if self.group is None else (self.group,)

    @property
    def lasted_ms(self) -> int | None:
        """From its begin to its end; None where it has not ended, or no line has a time."""
        return elapsed(self.started_at, self.ended_at)


_WITH_PROOF = {"anyOf": [{"properties": {name: {"minItems": 1}}} for name in ("evidence", "looked_in")]}


class Incident(Headline, frozen=True, kw_only=True, gc=False):
    """Everything that follows from one first cause, in one group or in all that it disturbed."""

    JSON: ClassVar[str] = (
        "id, scope, group, cluster, started_at, ended_at, ongoing, severity, summary, root_causes, ruled_out, "
        "would_decide, followups, generations, impact, groups, what_if, occurrences, related, signs"
    )

    root_causes: Annotated[tuple[RootCause, ...], Meta(extra_json_schema={"minItems": 1})]
    ruled_out: tuple[Annotated[RuledOut, Meta(extra_json_schema=_WITH_PROOF)], ...] = ()
    would_decide: tuple[WouldDecide, ...] = ()
    signs: tuple[SignRow, ...] = ()
    """Every sign that was asked for, with what it adds to each cause: `explain INPUT#incident` shows it as a table."""
    followups: tuple[str, ...] = ()
    generations: tuple[int, ...] = ()
    what_if: tuple[WhatIf, ...] = ()
    occurrences: int = 1
    related: tuple[Relation, ...] = ()
    impact_if_running: Impact | None = None
    """What it cost if the members that it takes for paused or cut off were running; None where that changes nothing."""


class Gap(Struct, frozen=True, kw_only=True, gc=False):
    """Something that the logs do not show, and what it would decide; or a defect of this tool."""

    JSON: ClassVar[str] = "what, started_at as from, ended_at as to, consequence, kind"

    group: str | None = None
    """The group that it is about, which `what` names."""
    log: str | None = None
    """The log of which lines are missing."""

    what: str
    template: str | None = None
    """`what` with `{group}` for its group: alike for the same gap of several groups."""
    started_at: Time | None = None
    ended_at: Time | None = None
    consequence: str
    kind: Annotated[
        GapKind,
        Meta(
            description="A log that is not at hand; a group of which the logs show too little to judge it; one whose "
            "analysis broke off."
        ),
    ] = "missing"

    is_defect: bool = False
    """True if the tool lacks a rule rather than the logs a line: then `what` and `consequence` are clauses."""

    @property
    def sentences(self) -> tuple[str, str]:
        """What it is and what follows from it, the latter empty where it says nothing."""
        if not self.is_defect:
            return self.what, self.consequence
        return f"{capitalized(self.what)}.", f"{capitalized(self.consequence)}."
