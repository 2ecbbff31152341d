"""One group's case: its events in, its history, incidents and gaps out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rebalance_forensics.diagnosis.gaps import gaps_of
from rebalance_forensics.diagnosis.incidents import assign_rebalances, incident_of, unexplained
from rebalance_forensics.diagnosis.model import Gap, Incident
from rebalance_forensics.diagnosis.registry import findings_of
from rebalance_forensics.diagnosis.tips import tips
from rebalance_forensics.diagnosis.weighing import Draft, weigh
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.build import Timeline, build
from rebalance_forensics.timeline.clocks import FileClock
from rebalance_forensics.timeline.follow_ups import mark_follow_ups
from rebalance_forensics.timeline.history import history_of
from rebalance_forensics.timeline.model import Generation, GroupHistory


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCase:
    """Everything the report says of one group."""

    history: GroupHistory
    incidents: tuple[Incident, ...]
    gaps: tuple[Gap, ...]
    clocks: tuple[FileClock, ...]


def investigate(cluster: str, group: str, events: Iterable[Event], shared: Iterable[Event]) -> GroupCase:
    """Rebuild the group's history and find out what disturbed it; the order of the events does not matter."""
    timeline = build(cluster, group, events, shared)
    mark_follow_ups(timeline.rebalances, timeline.events)
    drafts, explained = weigh(timeline, findings_of(timeline))
    assigned = assign_rebalances(timeline, drafts, explained)
    for rebalance in timeline.rebalances[1:]:
        if id(rebalance) not in assigned and rebalance.events:
            finding = unexplained(rebalance)
            if finding is not None:
                draft = _same_unexplained(drafts, finding.started_at())
                draft.findings.append(finding)
                assigned[id(rebalance)] = (draft, "unexplained")
    incidents = sorted(
        (
            incident_of(timeline, d, [(r, assigned[id(r)][1]) for r in timeline.rebalances if _belongs(assigned, r, d)])
            for d in drafts
        ),
        key=lambda i: (i.started_at, i.id),
    )
    triggers = {r.generation: assigned[id(r)][1] for r in timeline.rebalances if id(r) in assigned}
    timeline.generations = [_triggered(g, triggers, timeline) for g in timeline.generations]
    return GroupCase(
        history=replace(history_of(timeline), reading=tips(timeline)),
        incidents=tuple(incidents),
        gaps=gaps_of(timeline, incidents),
        clocks=timeline.clocks,
    )


def _belongs(assigned: dict[int, tuple[Draft, str]], rebalance: object, draft: Draft) -> bool:
    found = assigned.get(id(rebalance))
    return found is not None and found[0] is draft


def _same_unexplained(drafts: list[Draft], at: int) -> Draft:
    for draft in drafts:
        if draft.cause == "unexplained" and at - draft.last_at <= 5 * 60 * 1000:
            return draft
    draft = Draft()
    drafts.append(draft)
    return draft


def _triggered(generation: Generation, triggers: dict[int | None, str], timeline: Timeline) -> Generation:
    followup = next((r.followup for r in timeline.rebalances if r.generation == generation.generation), None)
    trigger = triggers.get(generation.generation) or followup
    return replace(generation, trigger=trigger, followup=followup)
