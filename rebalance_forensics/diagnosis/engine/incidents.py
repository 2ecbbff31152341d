"""Turn drafts into incidents: generations, follow-ups, impact, rivals, ruled-out causes, a stable id."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.diagnosis.behind import outlined
from rebalance_forensics.diagnosis.cause import Cause
from rebalance_forensics.diagnosis.engine.confidence import GUESS
from rebalance_forensics.diagnosis.engine.contest import Outcome
from rebalance_forensics.diagnosis.engine.differential import rivals_of, ruled_out, sign_table, would_decide
from rebalance_forensics.diagnosis.engine.drafts import Draft, names_of
from rebalance_forensics.diagnosis.engine.impact import (
    impact_of,
    left_unread,
    stopped_by_rebalancing_ms,
    stopped_for_good,
)
from rebalance_forensics.diagnosis.engine.weights import Weighed
from rebalance_forensics.diagnosis.episodes.runs import ONE_PLAN
from rebalance_forensics.diagnosis.model import RANKS, Advice, ChainLink, Culprit, Incident, RootCause, Severity
from rebalance_forensics.diagnosis.reference.known_bugs import known_bugs_of
from rebalance_forensics.diagnosis.what_if.alternatives import alternatives
from rebalance_forensics.diagnosis.wording.culprits import about, ids_in_evidence, kind_of, the_group
from rebalance_forensics.diagnosis.wording.event_text import what_happened
from rebalance_forensics.diagnosis.wording.proof import interleaved, select_evidence
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import WorkerAssigned
from rebalance_forensics.records import natural
from rebalance_forensics.timeline.event_index import by_time_then_origin
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.facts import Rebalance, fact_at
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import Behind, UnreadSpan
from rebalance_forensics.timeline.ownership.member_time import MemberSpan
from rebalance_forensics.timeline.time_index import lists_by_key
from rebalance_forensics.timeline.windows import AT_ONCE_MS, ONE_SCALING_MS, REQUEST_TIMEOUT_MS

LONGEST_CHAIN = 40


def root_cause(timeline: Timeline, cause: str, findings: Sequence[Weighed], confidence: float) -> RootCause:
    """Return one cause of an incident, with the evidence and advice of all its hypotheses."""
    hypotheses = [w.hypothesis for w in findings]
    because = [e for h in hypotheses for e in h.because]
    circumstances = [e for h in hypotheses for e in h.circumstances]
    evidence, total = select_evidence(interleaved([h.because for h in hypotheses]), circumstances)
    return RootCause(
        cause=cause,
        confidence=confidence,
        culprits=_culprits(timeline, findings),
        narrative=_first_fault(findings).hypothesis.narrative,
        evidence=evidence,
        evidence_total=total,
        occurrences=len(hypotheses),
        affected=tuple(_others(findings)),
        advice=_advice(findings),
        behind=_behind(findings),
        known_bugs=known_bugs_of(timeline, cause, because),
        chain=tuple([_link(timeline, event) for event in sorted(because, key=by_time_then_origin)[:LONGEST_CHAIN]]),
    )


def _link(timeline: Timeline, event: Event) -> ChainLink:
    # Cached, because rivals explain the same lines; with the event, so that no other gets its id.
    _, link = timeline.cached_as(
        ("link", id(event)),
        lambda: (event, ChainLink(at=event.at, what=what_happened(event), evidence=evidence_of(event))),
    )
    return link


def _behind(findings: Sequence[Weighed]) -> tuple[Behind, ...]:
    """Return the cause behind the first finding for which the logs show one."""
    return outlined(next((w.hypothesis.behind for w in findings if w.hypothesis.behind), ()))


def _advice(findings: Sequence[Weighed]) -> tuple[Advice, ...]:
    """Return each kind of advice once, with the culprits' names and the figures of the longest occurrence."""
    kept: dict[str, Advice] = {}
    hypotheses = [w.hypothesis for w in findings]
    for hypothesis in (
        sorted(hypotheses, key=lambda h: h.started_at() - h.last_at()) if len(hypotheses) > 1 else hypotheses
    ):
        for advice in hypothesis.advice:
            kept.setdefault(kind_of(advice), advice)
    return about(kept.values(), list(dict.fromkeys(c for h in hypotheses for c in h.culprits)))


def summary_of(findings: Sequence[Weighed]) -> str:
    """Return the narrative of the first fault, and the number of other members affected."""
    narrative, others = _first_fault(findings).hypothesis.narrative, _others(findings)
    if not others:
        return narrative
    who = f"{others[0]} was" if len(others) == 1 else f"{len(others)} other members were"
    return f"{narrative} {who} affected as well."


def _others(findings: Sequence[Weighed]) -> list[str]:
    if len(findings) == 1:
        return []
    return sorted({name for weighed in findings for name in names_of(weighed)} - names_of(_first_fault(findings)))


def _first_fault(findings: Sequence[Weighed]) -> Weighed:
    """Return the first finding above severity info (a planned stop before failures explains little), else the first."""
    return next((weighed for weighed in findings if weighed.hypothesis.severity != "info"), findings[0])


def _culprits(timeline: Timeline, findings: Sequence[Weighed]) -> tuple[Culprit, ...]:
    blamed = {id(c): c for w in findings for c in w.hypothesis.culprits}
    ids = ids_in_evidence(timeline, (e for w in findings for e in w.hypothesis.because))
    found: dict[str, Culprit] = {}
    for culprit in blamed.values():
        known = found.get(culprit.name)
        names = {*culprit.names, *(known.names if known else ids.get(culprit.name, ()))}
        found[culprit.name] = Culprit(kind=culprit.kind, name=culprit.name, names=tuple(sorted(names, key=natural)))
    groups = [c for c in found.values() if c.kind == "group"]
    if groups:
        return (groups[0],)
    members = [c for c in found.values() if c.kind in ("client", "instance", "worker")]
    if len(members) > 1 and len(members) == len(found) and len(members) >= len(timeline.membership.members):
        group = the_group(timeline)
        return (Culprit(kind="group", name=group.name, names=tuple(sorted((c.name for c in members), key=natural))),)
    return tuple(found[name] for name in sorted(found, key=natural))


# An incident and its own unread spans.
IncidentAndUnread = tuple[Incident, Sequence[UnreadSpan]]
# At this confidence or above, an incident asks for no further log to settle its verdict.
SURE = 0.9


def incident_of(
    timeline: Timeline,
    causes: Mapping[str, Cause],
    outcome: Outcome,
    draft: Draft,
    assigned: Sequence[tuple[Rebalance, str]],
    unread: Sequence[UnreadSpan],
    absent_members: Sequence[MemberSpan],
    shared: Sequence[Rebalance] = (),
) -> Incident:
    """Return the incident of one draft; `assigned` are its rebalances with their triggers, `unread` its unread spans.

    `absent_members` are the spans of absent members that coordinators' logs show. `shared` are rebalances of other
    incidents that removed its members as well.
    """
    hypotheses = [w.hypothesis for w in draft.findings]
    started, ended = draft.started_at, ended_at(draft, assigned)
    rebalances = [r for r, _ in assigned]
    confidence, rivals = rivals_of(draft.findings, outcome)
    severity = _severity(timeline, draft, confidence, unread)
    not_over = severity != "info" and left_unread(unread)
    ongoing = not_over or any(h.ongoing for h in hypotheses) or _still_going(timeline, draft, assigned)
    verdict = root_cause(timeline, draft.cause, draft.findings, confidence)
    generations = tuple(sorted({r.generation for r in rebalances if r.generation is not None}))
    followups = {t for r, t in assigned if r.followup == t} | {f for h in hypotheses for f in h.followups}
    work_assigned = timeline.of(WorkerAssigned)
    if work_assigned and any(e.delay_ms for e in work_assigned.between(started, ended)):
        followups.add("connect-delayed")
    first = draft.findings[0]
    impact = impact_of(timeline, started, ended, rebalances, unread, absent_members)
    impact = replace(impact, rebalances=impact.rebalances + len(shared)) if shared else impact
    running = [span for each in unread if (span := each.if_running()) is not None]
    if_running = (
        None
        if running == [*unread]
        else replace(
            impact_of(timeline, started, ended, rebalances, running, absent_members), rebalances=impact.rebalances
        )
    )
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
        would_decide=would_decide(timeline, causes, first, rivals, sure=confidence >= SURE),
        signs=sign_table(timeline, first, rivals, outcome.contradicted.get(first, ())),
        impact_if_running=if_running,
        followups=tuple(sorted(followups)),
        generations=generations,
        impact=impact,
        what_if=alternatives(timeline, started, ended, impact, rebalances),
        occurrences=len(draft.findings),
    )


def ended_at(draft: Draft, assigned: Sequence[tuple[Rebalance, str]]) -> int:
    """Return the time of its last known effect, including its rebalances."""
    return max([draft.last_at, *(rebalance.ended_at() for rebalance, _ in assigned)])


def _severity(timeline: Timeline, draft: Draft, confidence: float, unread: Sequence[UnreadSpan]) -> Severity:
    """Return the worst severity of its findings, raised by cost: a fault that stops the group for good is critical."""
    # A planned change that stopped the whole group for long, unless it was a shutdown, is a warning. A guess is not
    # critical.
    worst = min([w.hypothesis.severity for w in draft.findings], key=RANKS.__getitem__)
    stopped = timeline.measured(stopped_by_rebalancing_ms(timeline, unread)) or 0
    if worst == "info" and (stopped >= REQUEST_TIMEOUT_MS or _keeps_recurring(timeline, draft)):
        worst = "warning"
    if worst == "warning" and stopped_for_good(timeline, unread):
        worst = "critical"
    return "warning" if worst == "critical" and confidence <= GUESS else worst


def _keeps_recurring(timeline: Timeline, draft: Draft) -> bool:
    """True if a planned change keeps recurring for the same member, or for the group as a whole."""
    # A script that creates connectors is done in two minutes, and a deployment restarts each member once. A loop that
    # rewrites configurations, restarts members or changes subscriptions affects the same ones again. A job that runs
    # every minute in its own group interrupts no other member.
    if draft.cause in ("startup", "shutdown") or timeline.measured(draft.last_at - draft.started_at) is None:
        return False
    facts = (fact for weighed in draft.findings for fact in weighed.hypothesis.explains)
    visits = lists_by_key(
        ((type(fact), None if isinstance(fact, Rebalance) else fact.participant), fact_at(fact)) for fact in facts
    )
    return any(max(v) - min(v) >= ONE_SCALING_MS and _occurrences_of(v) > ONE_PLAN for v in visits.values())


def _occurrences_of(visits: Iterable[int]) -> int:
    """Count the occurrences: one that follows another at once is part of it, even in a tight loop."""
    began: list[int] = []
    for at in sorted(visits):
        if not began or at - began[-1] > AT_ONCE_MS:
            began.append(at)
    return len(began)


def _still_going(timeline: Timeline, draft: Draft, assigned: Sequence[tuple[Rebalance, str]]) -> bool:
    is_open = bool(assigned) and assigned[-1][0].completed_at is None and assigned[-1][0].stabilized_at is None
    return (
        is_open
        and timeline.protocol == "classic"
        and timeline.last - draft.last_at < REQUEST_TIMEOUT_MS
        and len(assigned) > 1
    )


def _id(timeline: Timeline, generations: Sequence[int], cause: RootCause) -> str:
    first = cause.evidence[0]
    name = first.path.rsplit("/", 1)[-1]
    return _hashed(timeline.cluster, timeline.group, str(generations[:1]), name, first.text)


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]


def with_unique_ids(found: Iterable[IncidentAndUnread]) -> Iterator[IncidentAndUnread]:
    """Give incidents with the same first line different ids: alerts and links refer to an incident by its id.

    Yields each incident with its unread spans, oldest first.
    """
    taken: set[str] = set()
    for incident, unread in sorted(found, key=lambda pair: (pair[0].started_at, pair[0].id, pair[0].summary)):
        incident_id = incident.id
        while incident_id in taken:
            incident_id = _hashed(incident_id, *(f"{cause.cause} {cause.narrative}" for cause in incident.root_causes))
        taken.add(incident_id)
        yield incident if incident_id == incident.id else replace(incident, id=incident_id), unread
