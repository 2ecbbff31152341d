"""From weighed findings to incidents: generations, follow-ups, impact, proof, a stable id."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rebalance_forensics.diagnosis.culprits import ids_told, the_group
from rebalance_forensics.diagnosis.finding import GUESS, Fact, Finding, fact_at
from rebalance_forensics.diagnosis.known_bugs import known_bugs_of
from rebalance_forensics.diagnosis.model import (
    Advice,
    ChainLink,
    Culprit,
    Impact,
    Incident,
    RootCause,
    RuledOut,
    Severity,
)
from rebalance_forensics.diagnosis.proof import evidence_of, most_telling
from rebalance_forensics.diagnosis.steps import what_happened
from rebalance_forensics.diagnosis.weighing import Draft, names_of
from rebalance_forensics.diagnosis.what_if import alternatives
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import WorkerAssigned
from rebalance_forensics.events.rebalancing import RebalanceStarted
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.follow_ups import REJOINS
from rebalance_forensics.timeline.in_time import InTime

SLACK_MS = 1_500
_WEIGHT: dict[Severity, int] = {"info": 0, "warning": 1, "critical": 2}


Assigned = dict[int, tuple[Draft, str]]
"""Which draft each rebalance belongs to and its trigger (a cause or a follow-up), by the rebalance's identity."""


def assign_rebalances(timeline: Timeline, drafts: list[Draft], explained: dict[int, Finding]) -> Assigned:
    """Deal the rebalances to the drafts."""
    of_finding = {id(f): d for d in drafts for f in d.findings}
    unordered: list[Fact] = [
        *timeline.departures, *timeline.arrivals, *timeline.stops, *timeline.requests, *timeline.returns,
    ]  # fmt: skip
    facts = InTime((fact for fact in unordered if id(fact) in explained), fact_at)
    found: Assigned = {}
    since = 0
    last: Draft | None = None
    for rebalance in timeline.rebalances:
        mine = _facts_of(rebalance, facts, since)
        claimed = explained.get(id(rebalance))
        finding = claimed or next((explained[id(f)] for f in mine), None)
        if claimed is not None and rebalance in claimed.core:
            last = of_finding[id(claimed)]
            found[id(rebalance)] = (last, rebalance.followup or claimed.cause)
        elif rebalance.followup and last is not None and not _begins_something(mine, explained, last, of_finding):
            found[id(rebalance)] = (last, rebalance.followup)
        elif finding is not None:
            last = of_finding[id(finding)]
            found[id(rebalance)] = (last, finding.cause)
        since = max(since, rebalance.stabilized_at or rebalance.ended_at())
    return found


def _begins_something(mine: Sequence[Fact], explained: dict[int, Finding], last: Draft, of: dict[int, Draft]) -> bool:
    return any(of[id(explained[id(f)])] is not last for f in mine)


def _facts_of(rebalance: Rebalance, facts: InTime[Fact], since: int) -> list[Fact]:
    until = (rebalance.stabilized_at or rebalance.ended_at()) + 200
    begin = min(since, rebalance.started_at) if since else rebalance.started_at - 60_000
    return facts.between(begin - 199, until)


def incident_of(timeline: Timeline, draft: Draft, mine: Sequence[tuple[Rebalance, str]]) -> Incident:
    """The public picture of one draft; `mine` are its rebalances with their triggers."""
    started, ended = draft.started_at, max([draft.last_at, *(r.ended_at() for r, _ in mine)])
    ongoing = any(f.ongoing for f in draft.findings) or _still_going(timeline, draft, mine)
    severity = max((f.severity for f in draft.findings), key=lambda s: _WEIGHT[s])
    cause = _root_cause(timeline, draft)
    generations = tuple(sorted({r.generation for r, _ in mine if r.generation is not None}))
    followups = {r.followup for r, t in mine if r.followup == t} | {f for x in draft.findings for f in x.followups}
    if any(e.delay_ms for e in timeline.of(WorkerAssigned).between(started, ended)):
        followups.add("connect-delayed")
    return Incident(
        id=_id(timeline, generations, cause),
        group=timeline.group,
        cluster=timeline.cluster,
        started_at=started,
        ended_at=None if ongoing else ended,
        ongoing=ongoing,
        severity=severity,
        summary=_summary(draft),
        root_causes=(cause,),
        ruled_out=_ruled_out(draft),
        followups=tuple(sorted(f for f in followups if f)),
        generations=generations,
        impact=impact_of(timeline, started, ended, [r for r, _ in mine]),
        what_if=alternatives(timeline, started, ended, (draft.cause,), [r for r, _ in mine]),
        occurrences=len(draft.findings),
    )


def _still_going(timeline: Timeline, draft: Draft, mine: Sequence[tuple[Rebalance, str]]) -> bool:
    open_one = bool(mine) and mine[-1][0].completed_at is None and mine[-1][0].stabilized_at is None
    return open_one and timeline.protocol == "classic" and timeline.last - draft.last_at < 30_000 and len(mine) > 1


def _root_cause(timeline: Timeline, draft: Draft) -> RootCause:
    because = [e for f in draft.findings for e in f.because]
    evidence, total = most_telling(_interleaved(draft.findings))
    return RootCause(
        cause=draft.cause,
        confidence=round(max(f.confidence for f in draft.findings), 2),
        culprits=_culprits(timeline, draft),
        narrative=draft.findings[0].narrative if len(draft.findings) == 1 else _repeated(draft),
        evidence=evidence,
        evidence_total=total,
        advice=_advice(draft.findings),
        known_bugs=known_bugs_of(timeline, draft.cause, because),
        chain=tuple(
            ChainLink(at=e.at, what=what_happened(e), evidence=evidence_of(e))
            for e in sorted(because, key=lambda e: (e.at or 0, e.origin.path, e.origin.byte_offset))[:40]
        ),
    )


def _advice(findings: Sequence[Finding]) -> tuple[Advice, ...]:
    """Each piece once: occurrences differ in their numbers only, and those of the longest count."""
    kept: dict[str, Advice] = {}
    for finding in sorted(findings, key=lambda f: f.started_at() - f.last_at()):
        for advice in finding.advice:
            kept.setdefault("".join(c for c in advice.action if not c.isdigit()), advice)
    return tuple(kept.values())


def _interleaved(findings: Sequence[Finding]) -> list[Event]:
    """The best line of every occurrence first, then the second best, and so on."""
    found: list[Event] = []
    rank, left = 0, list(findings)
    while left:
        found += [f.because[rank] for f in left]
        rank += 1
        left = [f for f in left if len(f.because) > rank]
    return found


def _summary(draft: Draft) -> str:
    """The first finding, and to how many more it happened: a verdict that names one of many would mislead."""
    first = draft.findings[0]
    others = sorted(draft.names - names_of(first))
    if not others:
        return first.narrative
    return f"{_sentence(first.narrative)} The same befell {others[0] if len(others) == 1 else f'{len(others)} others'}."


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _repeated(draft: Draft) -> str:
    first = draft.findings[0]
    others = sorted(draft.names - names_of(first))
    times = f" It happened {len(draft.findings)} times." if len(draft.findings) > len(others) + 1 else ""
    return _sentence(first.narrative) + times + (f" The same befell {', '.join(others)}." if others else "")


def _culprits(timeline: Timeline, draft: Draft) -> tuple[Culprit, ...]:
    blamed = {id(c): c for f in draft.findings for c in f.culprits}
    ids = ids_told(timeline, (e for f in draft.findings for e in f.because))
    found: dict[str, Culprit] = {}
    for culprit in blamed.values():
        known = found.get(culprit.name)
        names = {*culprit.names, *(known.names if known else ids.get(culprit.name, ()))}
        found[culprit.name] = Culprit(kind=culprit.kind, name=culprit.name, names=tuple(sorted(names)))
    groups = [c for c in found.values() if c.kind == "group"]
    if groups:
        return (groups[0],)
    members = [c for c in found.values() if c.kind in ("client", "instance", "worker")]
    if len(members) > 1 and len(members) == len(found) and len(members) >= len(timeline.actors()):
        group = the_group(timeline)
        return (Culprit(kind="group", name=group.name, names=tuple(sorted(c.name for c in members))),)
    return tuple(found[name] for name in sorted(found))


def _ruled_out(draft: Draft) -> tuple[RuledOut, ...]:
    return tuple(dict.fromkeys(r for f in draft.findings for r in f.ruled_out))


def impact_of(timeline: Timeline, started: int, ended: int, rebalances: Sequence[Rebalance]) -> Impact:
    """Pauses that overlap the incident, clipped to nothing: a pause counts whole or not at all."""
    pauses = timeline.pauses.touching(started, ended + SLACK_MS)
    world = [(r.completed_at or r.ended_at()) - r.started_at for r in rebalances if timeline.mode == "eager"]
    return Impact(
        pause_ms=sum((p.ended_at or max(ended, p.started_at)) - p.started_at for p in pauses),
        members=len({p.client_id or p.member_id for p in pauses}),
        partitions=len({x for p in pauses for x in p.partitions}),
        rebalances=len(rebalances),
        stop_the_world_ms=sum(world),
    )


def _id(timeline: Timeline, generations: Sequence[int], cause: RootCause) -> str:
    first = cause.evidence[0]
    name = first.path.rsplit("/", 1)[-1]
    return _hashed(timeline.cluster, timeline.group, str(generations[:1]), name, first.text)


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]


def with_ids_of_their_own(incidents: Iterable[Incident]) -> Iterator[Incident]:
    """Tell incidents apart that begin with one line: an alert or a link that goes by the id means one of them."""
    taken: set[str] = set()
    for one in sorted(incidents, key=lambda one: (one.started_at, one.id, one.summary)):
        mine = one.id
        while mine in taken:
            mine = _hashed(mine, *(f"{cause.cause} {cause.narrative}" for cause in one.root_causes))
        taken.add(mine)
        yield replace(one, id=mine)


def unexplained(rebalance: Rebalance) -> Finding:
    """A rebalance whose cause the logs do not show; what was looked for stands in the narrative."""
    began = (
        f"Generation {rebalance.generation} followed up on an earlier one ({rebalance.followup})"
        if rebalance.followup
        else f"Generation {rebalance.generation} began{_by_whom(rebalance)}"
    )
    return Finding(
        because=tuple(rebalance.events),
        culprits=(),
        confidence=GUESS,
        severity="info",
        claims=(rebalance,),
        narrative=(
            f"{began} and no line says {'what that one was for' if rebalance.followup else 'why'}: no departure, no "
            "arrival, no changed subscription or metadata, no coordinator move and no reason of a client was found."
        ),
        cause="unexplained",
        rank=99,
    )


def _by_whom(rebalance: Rebalance) -> str:
    """The coordinator names the member whose JoinGroup began it, if nothing else."""
    opened = (e for e in rebalance.events if isinstance(e, RebalanceStarted))
    first = next((e for e in opened if e.trigger in REJOINS and e.members), None)
    if first is None:
        return ""
    return f" when {'its leader ' if first.trigger == 'leader-rejoined' else ''}{first.members[0]} rejoined,"
