"""One group's case: its events in, its history, incidents and gaps out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rebalance_forensics.diagnosis.finding import Finding
from rebalance_forensics.diagnosis.gaps import broken_off, gaps_of
from rebalance_forensics.diagnosis.incidents import (
    Assigned,
    assign_rebalances,
    incident_of,
    unexplained,
    with_ids_of_their_own,
)
from rebalance_forensics.diagnosis.model import Gap, Incident
from rebalance_forensics.diagnosis.partition_of_group import told_partition
from rebalance_forensics.diagnosis.registry import findings_of
from rebalance_forensics.diagnosis.tips import tips
from rebalance_forensics.diagnosis.weighing import QUIET_MS, Draft, merged, weigh
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.build import Timeline, build
from rebalance_forensics.timeline.clocks import FileClock
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.follow_ups import TELLING, mark_follow_ups
from rebalance_forensics.timeline.history import history_of
from rebalance_forensics.timeline.model import Generation, GroupHistory
from rebalance_forensics.timeline.surroundings import Surroundings


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCase:
    """Everything the report says of one group."""

    history: GroupHistory
    incidents: tuple[Incident, ...]
    gaps: tuple[Gap, ...]
    clocks: tuple[FileClock, ...]


def investigate(cluster: str, group: str, events: Iterable[Event], shared: Iterable[Event] | Surroundings) -> GroupCase:
    """Rebuild the group's history and find out what disturbed it; the order of the events does not matter."""
    timeline = build(cluster, group, events, shared)
    mark_follow_ups(timeline.rebalances, timeline.of(*TELLING), timeline.mode)
    findings, broken = findings_of(timeline)
    drafts, explained = weigh(timeline, findings)
    assigned = assign_rebalances(timeline, drafts, explained)
    for draft in merged(_left_over(timeline, assigned), QUIET_MS):
        drafts.append(draft)
        assigned |= {id(r): (draft, trigger) for r, trigger in _unexplained_in(draft)}
    found = with_ids_of_their_own(_incidents(timeline, drafts, assigned))
    incidents = sorted(found, key=lambda i: (i.started_at, i.id))
    timeline.generations = _triggered(timeline, assigned)
    return GroupCase(
        history=replace(history_of(timeline), reading=tips(timeline), offsets_partition=told_partition(timeline.own)),
        incidents=tuple(incidents),
        gaps=(*gaps_of(timeline, incidents), *broken_off(timeline, broken)),
        clocks=timeline.clocks,
    )


def _left_over(timeline: Timeline, assigned: Assigned) -> list[Finding]:
    """The rebalances that nothing explains, each with those that only follow up on it."""
    found: list[Finding] = []
    for rebalance in timeline.rebalances:
        if id(rebalance) in assigned or not rebalance.events or _is_birth(timeline, rebalance):
            continue
        if rebalance.followup and found:
            found[-1].claims += (rebalance,)
        else:
            found.append(unexplained(rebalance))
    return found


def _unexplained_in(draft: Draft) -> Iterator[tuple[Rebalance, str]]:
    """The rebalances of a draft that only has claims of this kind, with their triggers."""
    for finding in draft.findings:
        for claim in finding.claims:
            if isinstance(claim, Rebalance):
                yield claim, claim.followup or draft.cause


def _incidents(timeline: Timeline, drafts: Sequence[Draft], assigned: Assigned) -> list[Incident]:
    mine: dict[Draft, list[tuple[Rebalance, str]]] = {draft: [] for draft in drafts}
    for rebalance in timeline.rebalances:
        if id(rebalance) in assigned:
            draft, trigger = assigned[id(rebalance)]
            mine[draft].append((rebalance, trigger))
    return [incident_of(timeline, draft, rebalances) for draft, rebalances in mine.items()]


def _is_birth(timeline: Timeline, rebalance: Rebalance) -> bool:
    """The first rebalance needs no cause where the group formed; in logs that begin later it does."""
    return rebalance is timeline.rebalances[0] and (rebalance.generation is None or rebalance.generation <= 1)


def _triggered(timeline: Timeline, assigned: Assigned) -> list[Generation]:
    triggers = {r.generation: assigned[id(r)][1] for r in timeline.rebalances if id(r) in assigned}
    followups = {r.generation: r.followup for r in reversed(timeline.rebalances)}
    found = []
    for generation in timeline.generations:
        followup = followups.get(generation.generation)
        trigger = triggers.get(generation.generation) or followup
        found.append(replace(generation, trigger=trigger, followup=followup) if trigger else generation)
    return found
