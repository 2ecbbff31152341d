"""The results of the diagnosis: incidents, root causes, culprits, evidence and advice. Times are epoch ms, UTC.

JSON, tables and texts are generated from these Structs; `JSON` is explained in timeline/model.py.
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
    """The client, host, broker, … that caused it; `names` are its other names that an operator may know."""

    kind: CulpritKind
    name: str
    names: tuple[str, ...] = ()


class Advice(Struct, frozen=True, kw_only=True, gc=False):
    """What to do, why, and its cost or trade-off, with the figures of this incident."""

    JSON: ClassVar[str] = "action, why, cost"

    action: str
    why: str
    cost: str | None = None
    template: str | None = None
    """The action with `{who}` in place of the culprits and `{figure}` in place of `figure`, if it has them."""
    figure: int | None = None
    """The value to set, for `{figure}`; it may differ between occurrences."""


class KnownBug(Struct, frozen=True, kw_only=True, gc=False):
    """A Kafka bug whose affected versions and log signature match."""

    jira: str
    title: str
    fixed_in: str | None


class ChainLink(Struct, frozen=True, kw_only=True, gc=False):
    """One step on the way from the first event to the last effect."""

    at: Time | None
    what: str
    evidence: Evidence | None = None


class Blame(Struct, frozen=True, kw_only=True, gc=False):
    """A cause, its confidence and its culprits."""

    cause: str
    confidence: Probability
    culprits: tuple[Culprit, ...]

    @property
    def culprit_names(self) -> tuple[str, ...]:
        """The names of the culprits."""
        return tuple(culprit.name for culprit in self.culprits)


class RootCause(Blame, frozen=True, kw_only=True, gc=False):
    """A cause with its evidence: `evidence` has the 20 most relevant of `evidence_total` lines."""

    JSON: ClassVar[str] = (
        "cause, confidence, culprits, whole_narrative as narrative, evidence, behind, advice, known_bugs, "
        "evidence_total, chain, occurrences, affected"
    )

    narrative: str
    """What happened the first time; `whole_narrative` adds how often it happened and to which members."""
    evidence: Annotated[tuple[Evidence, ...], Meta(extra_json_schema={"maxItems": 20})]
    evidence_total: Amount
    occurrences: Annotated[int, Meta(extra_json_schema={"minimum": 1})] = 1
    affected: Annotated[
        tuple[str, ...], Meta(description="Affected members other than those that the narrative names.")
    ] = ()
    advice: tuple[Advice, ...] = ()
    known_bugs: tuple[KnownBug, ...] = ()
    chain: tuple[ChainLink, ...] = ()
    behind: Annotated[
        tuple[Behind, ...], Meta(description="The causes behind it, nearest first; empty if no log shows them.")
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
    """A log that would have shown a sign, and the time for which it was searched."""

    JSON: ClassVar[str] = "path, started_at as from, ended_at as to"

    path: str
    started_at: Time
    ended_at: Time


class RuledOut(Struct, frozen=True, kw_only=True, gc=False):
    """A rejected cause and the sign that contradicts it, with its lines or with the logs that were searched."""

    cause: str
    why: str
    sign: Annotated[str, Meta(description="The sign that contradicts it; `signs` has its weights.")]
    evidence: tuple[Evidence, ...] = ()
    looked_in: tuple[SearchedLog, ...] = ()


class WouldDecide(Struct, frozen=True, kw_only=True, gc=False):
    """A missing log that would distinguish between the remaining causes; times are None if any time will do."""

    JSON: ClassVar[str] = "needs, who, started_at as from, ended_at as to, between"

    needs: str
    who: str | None
    started_at: Time | None
    ended_at: Time | None
    between: tuple[str, ...]
    template: str | None = None
    """`needs` with `{who}` in place of the member that wrote the log and `{s}` for the plural, if it names one."""


SignAnswer = Literal["present", "absent", "unobservable"]


class Weight(Struct, frozen=True, kw_only=True, gc=False):
    """What a sign adds to the base-2 log-odds of a cause."""

    cause: str
    weight: int


class SignRow(Struct, frozen=True, kw_only=True, gc=False, cache_hash=True):
    """A sign evaluated for an incident: the answer of the logs, and its weight for each cause that uses the sign."""

    JSON: ClassVar[str] = "sign, says, answer, weights as weighs, evidence, looked_in"

    sign: str
    says: str
    answer: SignAnswer
    weighs: tuple[tuple[str, int], ...]
    """Causes, and what the sign adds to the base-2 log-odds of each."""
    evidence: tuple[Evidence, ...] = ()
    looked_in: tuple[SearchedLog, ...] = ()

    @property
    def weights(self) -> tuple[Weight, ...]:
        """The weight for each cause, in the form that JSON shows."""
        return tuple([Weight(cause=cause, weight=weight) for cause, weight in self.weighs])


class MemberImpact(Struct, frozen=True, kw_only=True, gc=False):
    """The cost in member time: for how long the partitions of absent members, whichever they were, had no reader.

    `stopped_at_least_ms` and `stopped_at_most_ms` bound the time for which the whole group was stopped: eager members
    revoke their partitions when they learn of a rebalance, and none owns any once all have rejoined. None if unknown.
    """

    JSON: ClassVar[str] = (
        "members, of_members, unread_member_ms, longest_ms as longest_unread_ms, at_least, stopped_at_least_ms, "
        "stopped_at_most_ms"
    )

    members: Amount
    of_members: Annotated[Amount | None, Meta(description="Number of members of the group before the incident.")]
    unread_member_ms: Annotated[Amount, Meta(description="Unread time summed over members.")]
    longest_ms: Amount
    at_least: Annotated[
        bool,
        Meta(
            description="True if it may have been longer: no timeout of a member is known, or no line shows when "
            "another member took over."
        ),
    ]
    stopped_at_least_ms: Amount | None = None
    stopped_at_most_ms: Amount | None = None


class Impact(Struct, frozen=True, kw_only=True, gc=False):
    """The cost of an incident; null, never 0, if the logs do not show it."""

    JSON: ClassVar[str] = (
        "unread_partition_ms, unread_at_least, longest_unread_ms, longest_unread_partition, stopped_ms, pause_ms, "
        "members, partitions, rebalances, by_member"
    )

    unread_partition_ms: Annotated[
        Amount | None, Meta(description="Time for which a partition had no reader, summed over partitions.")
    ] = None
    unread_partitions: int | None = None
    """Number of partitions unread for at least half as long as the longest."""
    known_partitions: int | None = None
    """Number of partitions with a known owner."""
    unread_at_least: Annotated[
        bool | None,
        Meta(
            description="True if more may have been unread, or for longer: some members have no log, or no timeout "
            "bounds the time."
        ),
    ] = None
    longest_unread_ms: Annotated[
        Amount | None, Meta(description="The longest time for which one partition was unread.")
    ] = None
    longest_unread_partition: str | None = None
    stopped_ms: Annotated[Amount | None, Meta(description="Time for which no partition of the group was read.")] = None
    pause_ms: Annotated[
        Amount | None,
        Meta(description="Pauses summed over members; null if no client log at INFO covers the time."),
    ] = None
    members: Annotated[Amount | None, Meta(description="Members that paused; null if pause_ms is.")] = None
    partitions: Annotated[Amount | None, Meta(description="Partitions of these pauses; null if pause_ms is.")] = None
    rebalances: Amount
    of_connect: bool | None = False
    """True if the partitions are connectors and tasks, as in a Connect cluster; None for groups of both kinds."""
    by_member: Annotated[
        MemberImpact | None,
        Meta(
            description="The cost by coordinators' logs if no line names partitions; null if partitions are known, or "
            "nothing is."
        ),
    ] = None


class Saving(Struct, frozen=True, kw_only=True, gc=False):
    """The time in ms that another protocol would have saved; negative if it would have cost more.

    `likely` is the median; four in five simulations lie between `low` and `high`.
    """

    low: int
    likely: int
    high: int


class WhatIf(Struct, frozen=True, kw_only=True, gc=False):
    """The same faults simulated under another protocol, compared with a simulation of the one in use.

    Both savings are None if the logs do not show enough for a simulation.
    """

    JSON: ClassVar[str] = (
        "alternative, condition, unread as saved_unread_partition_ms, stopped as saved_stopped_ms, explanation"
    )

    alternative: str
    unread: Annotated[
        Saving | None,
        Meta(description="Unread time saved, summed over partitions; null if unknown."),
    ]
    stopped: Annotated[
        Saving | None,
        Meta(description="Time saved for which no partition was read; null if unknown."),
    ]
    explanation: str
    condition: Annotated[str | None, Meta(description="What would have to be true, if the logs do not show it.")] = None


class Relation(Struct, frozen=True, kw_only=True, gc=False):
    """Incidents of several groups with a common origin: their ids (at most 20) and what they share."""

    JSON: ClassVar[str] = "kind, ids as incidents, groups, why"

    kind: RelationKind
    ids: tuple[str, ...]
    groups: Annotated[int, Meta(description="Number of groups, including this one.")]
    why: str


class DisturbedGroup(Struct, frozen=True, kw_only=True, gc=False):
    """The effect of a cluster's incident on one group, with the first lines that show it there."""

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
            description="Its partitions that a broker led when it failed, if a member logged that: no member could "
            "fetch them until the broker was back or another broker led them."
        ),
    ] = ()
    parts: Annotated[
        tuple[str, ...], Meta(description="The ids of the incidents that its own lines alone would have led to.")
    ] = ()


class Headline(Struct, frozen=True, kw_only=True, gc=False):
    """An incident without its evidence: enough to sort, count and list incidents."""

    id: Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": 255})]
    group: Annotated[
        str | None, Meta(description="Null for an incident of scope cluster, which lists its groups in groups.")
    ]
    cluster: str
    started_at: Time
    ended_at: Time | None
    ongoing: bool
    severity: Severity
    summary: str
    root_causes: tuple[Blame, ...]
    impact: Impact = Impact(rebalances=0)
    scope: Annotated[
        Scope, Meta(description="Whether it disturbed one group, or several groups of a cluster together.")
    ] = "group"
    groups: Annotated[
        tuple[DisturbedGroup, ...],
        Meta(description="The groups that a cluster's incident disturbed, worst first; empty for scope group."),
    ] = ()

    @property
    def group_name(self) -> str:
        """The name of the group, or of all groups, separated by commas."""
        return ", ".join(self.group_names)

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of all groups that it disturbed."""
        return tuple([disturbed.group for disturbed in self.groups]) if self.group is None else (self.group,)

    @property
    def lasted_ms(self) -> int | None:
        """Its duration; None if it has not ended, or the lines have no times."""
        return elapsed(self.started_at, self.ended_at)


_WITH_PROOF = {"anyOf": [{"properties": {name: {"minItems": 1}}} for name in ("evidence", "looked_in")]}


class Incident(Headline, frozen=True, kw_only=True, gc=False):
    """All consequences of one initial cause, in one group or in all groups that it disturbed."""

    JSON: ClassVar[str] = (
        "id, scope, group, cluster, started_at, ended_at, ongoing, severity, summary, root_causes, ruled_out, "
        "would_decide, followups, generations, impact, groups, what_if, occurrences, related, signs"
    )

    root_causes: Annotated[tuple[RootCause, ...], Meta(extra_json_schema={"minItems": 1})]
    ruled_out: tuple[Annotated[RuledOut, Meta(extra_json_schema=_WITH_PROOF)], ...] = ()
    would_decide: tuple[WouldDecide, ...] = ()
    signs: tuple[SignRow, ...] = ()
    """Every sign that was checked, with its weight for each cause; `explain INPUT#incident` shows it as a table."""
    followups: tuple[str, ...] = ()
    generations: tuple[int, ...] = ()
    what_if: tuple[WhatIf, ...] = ()
    occurrences: int = 1
    related: tuple[Relation, ...] = ()
    impact_if_running: Impact | None = None
    """Its cost if the members that it assumes were paused or cut off were running; None if that is the same."""


class Gap(Struct, frozen=True, kw_only=True, gc=False):
    """Something that the logs do not show, and what it would settle; or a defect of this tool."""

    JSON: ClassVar[str] = "what, started_at as from, ended_at as to, consequence, kind"

    group: str | None = None
    """The group that it is about and that `what` names."""
    log: str | None = None
    """The log that lacks lines."""

    what: str
    template: str | None = None
    """`what` with `{group}` in place of the group: equal for the same gap of several groups."""
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
    """True if it is a defect of this tool, not of the logs; `what` and `consequence` are then clauses."""

    @property
    def sentences(self) -> tuple[str, str]:
        """Return the gap and its consequence as sentences; the second is empty if it has none."""
        if not self.is_defect:
            return self.what, self.consequence
        return f"{capitalized(self.what)}.", f"{capitalized(self.consequence)}."
