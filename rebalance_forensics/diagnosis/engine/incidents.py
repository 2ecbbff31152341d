"""From drafts to incidents: generations, follow-ups, impact, rivals, what is ruled out, a stable id."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.diagnosis.cause import Cause
from rebalance_forensics.diagnosis.engine.confidence import GUESS
from rebalance_forensics.diagnosis.engine.contest import Outcome
from rebalance_forensics.diagnosis.engine.differential import rivals_of, ruled_out, sign_table
from rebalance_forensics.diagnosis.engine.drafts import Draft
from rebalance_forensics.diagnosis.engine.impact import (
    impact_of,
    left_unread,
    stopped_by_rebalancing_ms,
    stopped_for_good,
)
from rebalance_forensics.diagnosis.engine.root_causes import root_cause, summary_of
from rebalance_forensics.diagnosis.engine.wanted_logs import would_decide
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Incident, RootCause, Severity
from rebalance_forensics.diagnosis.what_if.alternatives import alternatives
from rebalance_forensics.events.connect import WorkerAssigned
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import UnreadSpan
from rebalance_forensics.timeline.ownership import MemberSpan
from rebalance_forensics.timeline.windows import LONG_STOP_MS, STILL_OPEN_MS

Told = tuple[Incident, Sequence[UnreadSpan]]
"""An incident, and the spans without a reader that are its own."""
SURE = 0.9
"""From here on an incident asks for no further log."""
_WEIGHT: dict[Severity, int] = {"info": 0, "warning": 1, "critical": 2}


def incident_of(
    timeline: Timeline,
    causes: Mapping[str, Cause],
    outcome: Outcome,
    draft: Draft,
    mine: Sequence[tuple[Rebalance, str]],
    unread: Sequence[UnreadSpan],
    members_gone: Sequence[MemberSpan],
) -> Incident:
    """The public picture of one draft; `mine` are its rebalances with their triggers, `unread` what it left unread.

    `members_gone` says the same by members, as coordinators tell it.
    """
    told = [w.hypothesis for w in draft.findings]
    started, ended = draft.started_at, ended_at(draft, mine)
    rebalances = [r for r, _ in mine]
    confidence, rivals = rivals_of(draft.findings, outcome)
    severity = _severity(timeline, told, confidence, unread)
    not_over = severity != "info" and left_unread(unread)
    ongoing = not_over or any(h.ongoing for h in told) or _still_going(timeline, draft, mine)
    verdict = root_cause(timeline, draft.cause, draft.findings, confidence)
    generations = tuple(sorted({r.generation for r in rebalances if r.generation is not None}))
    followups = {r.followup for r, t in mine if r.followup == t} | {f for h in told for f in h.followups}
    assigned = timeline.of(WorkerAssigned)
    if assigned and any(e.delay_ms for e in assigned.between(started, ended)):
        followups.add("connect-delayed")
    first = draft.findings[0]
    impact = impact_of(timeline, started, ended, rebalances, unread, members_gone)
    return Incident(
        id=_id(timeline, generations, verdict),
        group=timeline.group,
        cluster=timeline.cluster,
        started_at=started,
        ended_at=None if ongoing else ended,
        ongoing=ongoing,
        severity=severity,
        summary=summary_of(draft.findings),
        root_causes=(verdict, *[root_cause(timeline, r.cause, r.weighed, r.confidence) for r in rivals]),
        ruled_out=ruled_out(timeline, causes, draft.findings, outcome, [r.cause for r in rivals]),
        would_decide=would_decide(timeline, causes, first, rivals) if confidence < SURE or rivals else (),
        signs=sign_table(first, rivals, outcome.contradicted.get(first, ())),
        followups=tuple(sorted([f for f in followups if f])),
        generations=generations,
        impact=impact,
        what_if=alternatives(timeline, started, ended, impact, rebalances),
        occurrences=len(draft.findings),
    )


def ended_at(draft: Draft, mine: Sequence[tuple[Rebalance, str]]) -> int:
    """Its last known effect, the rebalances that it brought included."""
    last = draft.last_at
    for rebalance, _ in mine:
        last = max(last, rebalance.ended_at())
    return last


def _severity(
    timeline: Timeline, told: Sequence[Hypothesis], confidence: float, unread: Sequence[UnreadSpan]
) -> Severity:
    """The worst of its hypotheses, and what it cost: a fault that stopped the group for good is critical.

    A plan that kept the whole group from reading for long, other than by shutting it down, is felt like a fault. A
    guess is not critical.
    """
    worst = max([h.severity for h in told], key=_WEIGHT.__getitem__)
    if worst == "info" and (timeline.measured(stopped_by_rebalancing_ms(timeline, unread)) or 0) >= LONG_STOP_MS:
        worst = "warning"
    if worst == "warning" and stopped_for_good(timeline, unread):
        worst = "critical"
    return "warning" if worst == "critical" and confidence <= GUESS else worst


def _still_going(timeline: Timeline, draft: Draft, mine: Sequence[tuple[Rebalance, str]]) -> bool:
    open_one = bool(mine) and mine[-1][0].completed_at is None and mine[-1][0].stabilized_at is None
    return (
        open_one and timeline.protocol == "classic" and timeline.last - draft.last_at < STILL_OPEN_MS and len(mine) > 1
    )


def _id(timeline: Timeline, generations: Sequence[int], cause: RootCause) -> str:
    first = cause.evidence[0]
    name = first.path.rsplit("/", 1)[-1]
    return _hashed(timeline.cluster, timeline.group, str(generations[:1]), name, first.text)


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]


def with_ids_of_their_own(found: Iterable[Told]) -> Iterator[Told]:
    """Tell incidents apart that begin with one line: an alert or a link that goes by the id means one of them.

    Each comes with the spans that it left unread, oldest incident first.
    """
    taken: set[str] = set()
    for one, unread in sorted(found, key=lambda told: (told[0].started_at, told[0].id, told[0].summary)):
        mine = one.id
        while mine in taken:
            mine = _hashed(mine, *(f"{cause.cause} {cause.narrative}" for cause in one.root_causes))
        taken.add(mine)
        yield one if mine == one.id else replace(one, id=mine), unread
