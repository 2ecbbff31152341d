"""The incidents of a cluster: each fault that disturbed several groups becomes one incident, made from theirs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.case import CaseOutline
from rebalance_forensics.diagnosis.causes.coordinator_failover import STOOD_STILL_ADVICE
from rebalance_forensics.diagnosis.cluster.host_index import index_hosts
from rebalance_forensics.diagnosis.cluster.impacts import summed
from rebalance_forensics.diagnosis.cluster.relations import Relations, relations_among
from rebalance_forensics.diagnosis.cluster.sentences import group_sentence, narrative_of, overruled_because, summary_of
from rebalance_forensics.diagnosis.cluster.shared_faults import (
    Part,
    SharedFault,
    led_by,
    restarted_in_turn,
    shared_faults,
)
from rebalance_forensics.diagnosis.engine.confidence import LIKELY, PROBABLE, UNSURE
from rebalance_forensics.diagnosis.model import (
    RANKS,
    Advice,
    ChainLink,
    DisturbedGroup,
    Impact,
    Incident,
    RootCause,
    RuledOut,
    Severity,
    SignRow,
    WouldDecide,
)
from rebalance_forensics.diagnosis.wording.culprits import about, kind_of
from rebalance_forensics.diagnosis.wording.event_text import LONGEST_STEP
from rebalance_forensics.diagnosis.wording.proof import interleaved
from rebalance_forensics.records import EpochMs, is_timed, natural
from rebalance_forensics.timeline.evidence import message_of
from rebalance_forensics.timeline.model import BrokerOutage, Evidence, GroupHistory, GroupOutline
from rebalance_forensics.timeline.time_index import grouped, lists_by_key
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS

T = TypeVar("T")
MOST_LINES = 20
LINES_OF_A_GROUP = 3
LONGEST_CHAIN = 40
FIRST_LINKS = 3
"""At most this many links of each group's chain are shown."""
MOST_ASKED = 3
"""At most this many groups' incidents contribute missing logs."""

Whole = Callable[[int, int], Incident]
"""Loads an incident, by the number of its case and its number there."""


class ClusterIncidents(Struct, frozen=True):
    """The incidents of clusters, and the groups' own incidents that became a part of them."""

    incidents: tuple[Incident, ...] = ()
    cluster_incident_of: Mapping[str, str] = {}
    """Id of a group's incident -> id of the cluster's incident."""
    triggers: Mapping[tuple[str, str, int], str] = {}
    """(cluster, group, generation) -> the cause of the cluster's incident that triggered it."""
    running: frozenset[str] = frozenset()
    """Incidents of groups whose members were running while a broker did not respond to them."""
    relations: Relations = {}

    def own(self, incidents: Iterable[Incident]) -> tuple[Incident, ...]:
        """Return a group's incidents that did not become a part of a cluster's, with their relations."""
        return tuple(self.related(incident) for incident in incidents if incident.id not in self.cluster_incident_of)

    def related(self, incident: Incident) -> Incident:
        """Return an incident with its relations, if it has any."""
        return replace(incident, related=self.relations[incident.id]) if incident.id in self.relations else incident

    def in_history(self, history: GroupHistory) -> GroupHistory:
        """Return a history whose unread spans and generations refer to the cluster's incidents."""
        if not self.cluster_incident_of:
            return history
        place = (history.cluster, history.group)
        return replace(
            history,
            unread=tuple(
                [
                    replace(span, incident=whole)
                    if (whole := self.cluster_incident_of.get(each.incident or ""))
                    else span
                    for each in history.unread
                    if (span := each.if_running() if each.incident in self.running else each) is not None
                ]
            ),
            generations=tuple(
                [
                    replace(generation, trigger=cause)
                    if (cause := self.triggers.get((*place, generation.generation)))
                    and generation.trigger not in (None, generation.followup)
                    else generation
                    for generation in history.generations
                ]
            ),
        )


def cluster_incidents(cases: Sequence[CaseOutline], whole: Whole) -> ClusterIncidents:
    """Return one incident for each fault that disturbed several groups; `whole` loads the groups' incidents."""
    histories = [case.history for case in cases]
    if len({(history.cluster, history.group) for history in histories}) < 2:
        return ClusterIncidents()
    # Without times, nothing shows that lines of two groups were logged at the same time.
    parts = [
        Part(headline, case, number)
        for case, outline in enumerate(cases)
        for number, headline in enumerate(outline.incidents)
        if is_timed(headline.started_at)
    ]
    host_index = index_hosts(histories)
    incidents: list[Incident] = []
    cluster_incident_of: dict[str, str] = {}
    triggers: dict[tuple[str, str, int], str] = {}
    running: set[str] = set()

    def moments_of(part: Part) -> list[int]:
        evidence = whole(part.case, part.number).root_causes[0].evidence
        return [line.timestamp for line in evidence if line.timestamp is not None]

    for fault in shared_faults(histories, parts, host_index, moments_of):
        own = _disturbances(fault, whole)
        if fault.kind == "broker":
            running.update(each.id for each in own)
        best = fault.parts[_shows_it_best(fault, own)]
        asked = [whole(part.case, part.number) for part in fault.parts[:MOST_ASKED]]
        incident = _incident(fault, own, asked, histories, whole(best.case, best.number).signs)
        incidents.append(incident)
        for each in own:
            cluster_incident_of[each.id] = incident.id
            if each.cause != fault.cause:
                place = (each.headline.cluster, each.group)
                triggers |= {(*place, number): fault.cause for number in each.generations}
    relations = relations_among([part for part in parts if part.headline.id not in cluster_incident_of], host_index)
    return ClusterIncidents(tuple(incidents), cluster_incident_of, triggers, frozenset(running), relations)


class Disturbance(Part, frozen=True, kw_only=True):
    """A group's own incident, reduced to what the cluster's incident is made from."""

    impact: Impact
    """Its cost; in a broker outage, the cost if the members that it assumes were paused were running."""
    evidence: tuple[Evidence, ...]
    """The lines that support its own verdict."""
    shared: tuple[RootCause, ...]
    """Its root causes that are also the cluster's, each with the first links of its chain."""
    ruled_out: frozenset[str]
    followups: tuple[str, ...]
    generations: tuple[int, ...]
    occurrences: int

    @property
    def id(self) -> str:
        """The id of the incident that its own lines alone would have led to."""
        return self.headline.id


def _disturbances(fault: SharedFault, whole: Whole) -> list[Disturbance]:
    """Return the groups' incidents that become one."""
    # A night of 20,000 groups has 170,000 of these in memory at once, so equal lines and advice are shared.
    kept: dict[Any, Any] = {}

    def held_once(part: T) -> T:
        first: T = kept.setdefault(part, part)
        return first

    def lean(cause: RootCause) -> RootCause:
        return replace(
            cause,
            narrative="",
            evidence=tuple(map(held_once, cause.evidence)),
            chain=tuple([replace(link, evidence=held_once(link.evidence)) for link in cause.chain[:FIRST_LINKS]]),
            advice=held_once(cause.advice),
        )

    found: dict[int, Disturbance] = {}
    # Load the incidents of one case in the order of its file.
    for place, part in sorted(enumerate(fault.parts), key=lambda pair: (pair[1].case, pair[1].number)):
        incident, headline = whole(part.case, part.number), part.headline
        if_running = incident.impact_if_running if fault.kind == "broker" else None
        ruled_out = frozenset(row.cause for row in incident.ruled_out)
        found[place] = Disturbance(
            headline,
            part.case,
            part.number,
            impact=headline.impact if if_running is None else if_running,
            evidence=tuple(map(held_once, incident.root_causes[0].evidence)),
            shared=tuple([lean(cause) for cause in incident.root_causes if cause.cause == fault.cause]),
            ruled_out=held_once(ruled_out),
            followups=incident.followups,
            generations=incident.generations,
            occurrences=incident.occurrences,
        )
    return [found[place] for place in range(len(fault.parts))]


def _shows_it_best(fault: SharedFault, own: Sequence[Disturbance]) -> int:
    def shown(place: int) -> tuple[bool, float, int]:
        verdict = own[place].headline.root_causes[0]
        return verdict.cause == fault.cause, verdict.confidence, -own[place].begin

    return max(range(len(own)), key=shown)


def _incident(
    fault: SharedFault,
    own: Sequence[Disturbance],
    asked: Sequence[Incident],
    histories: Sequence[GroupOutline],
    signs: Sequence[SignRow],
) -> Incident:
    cluster = own[0].headline.cluster
    led = {h.group: led_by(fault, h) for h in histories if h.cluster == cluster}
    groups = tuple(replace(group, led=led.get(group.group, ())) for group in _disturbed(fault, own))
    ongoing = any(each.headline.ongoing for each in own)
    ends = [each.headline.ended_at for each in own if each.headline.ended_at is not None]
    verdict = _root_cause(fault, own, groups, histories)
    severity = _severity(fault, groups)
    is_sure = any(each.headline.root_causes[0].confidence >= 0.9 for each in own)
    return Incident(
        id=_id(fault, verdict),
        scope="cluster",
        group=None,
        groups=groups,
        cluster=cluster,
        started_at=EpochMs(min(each.begin for each in own)),
        ended_at=None if ongoing else max(ends, default=EpochMs(own[-1].begin)),
        ongoing=ongoing,
        severity=severity,
        summary=summary_of(fault, groups),
        root_causes=(verdict,),
        ruled_out=_ruled_out(fault, own, asked[0].ruled_out),
        would_decide=_would_decide(fault, asked, sure=is_sure),
        signs=(_several_groups(fault, own), *signs),
        followups=tuple(sorted({name for each in own for name in each.followups})),
        impact=summed([group.impact for group in groups], of_groups=True),
        occurrences=_occurrences(own),
    )


def _would_decide(fault: SharedFault, asked: Sequence[Incident], *, sure: bool) -> tuple[WouldDecide, ...]:
    """Return the logs that would settle it, except between causes that the groups together rule out.

    If the verdict of a group is `sure`, return those that would show the cause behind it.
    """
    logs = (log for each in asked for log in each.would_decide)
    wanted = (log for log in logs if log.between == (fault.cause,) or (fault.cause in log.between and not sure))
    froze = [o for o in fault.outages if o.how == "froze" and not o.behind]
    of_brokers = (
        WouldDecide(
            needs=f"kafkaServer-gc.log of {name} and the kernel's log of its host",
            who=name,
            started_at=min(o.started_at for o in froze if o.broker == name) - ONE_REBALANCE_MS,
            ended_at=max(o.ended_at or o.started_at for o in froze if o.broker == name),
            between=(fault.cause,),
        )
        for name in dict.fromkeys(o.broker for o in froze)
    )
    return tuple(dict.fromkeys((*of_brokers, *wanted)))[:4]


def _disturbed(fault: SharedFault, own: Sequence[Disturbance]) -> tuple[DisturbedGroup, ...]:
    """Return the disturbed groups, worst first; each group once, even if it was disturbed repeatedly."""
    rows = [
        DisturbedGroup(
            group=group,
            severity=min((_severity_of_part(fault, each) for each in of_group), key=RANKS.__getitem__),
            impact=summed([each.impact for each in of_group]),
            followups=tuple(sorted({name for each in of_group for name in each.followups})),
            generations=tuple(sorted({number for each in of_group for number in each.generations})),
            evidence=_interleaved([each.evidence for each in of_group])[:LINES_OF_A_GROUP],
            summary=group_sentence([each.headline.summary for each in of_group]),
            parts=tuple([each.id for each in of_group]),
        )
        for group, of_group in grouped(own, attrgetter("group")).items()
    ]
    return tuple(sorted(rows, key=_worst_first))


def _severity_of_part(fault: SharedFault, part: Disturbance) -> Severity:
    """Return the severity of a group's own incident; if its own cause was wrong, only its cost makes it critical."""
    severity, costly = part.headline.severity, part.impact.unread_partition_ms or part.impact.stopped_ms
    is_critical = part.cause == fault.cause or part.headline.ongoing or costly
    return severity if severity != "critical" or is_critical else "warning"


def _worst_first(row: DisturbedGroup) -> tuple[object, ...]:
    unread, stopped = row.impact.unread_partition_ms or 0, row.impact.stopped_ms or 0
    return -unread, -stopped, -row.impact.rebalances, RANKS[row.severity], natural(row.group)


def _severity(fault: SharedFault, groups: Sequence[DisturbedGroup]) -> Severity:
    """Return the worst severity of its groups; brokers restarted in turn at no cost were a planned change."""
    in_turn = restarted_in_turn(fault)
    unharmed = all(not group.impact.unread_partition_ms and not group.impact.rebalances for group in groups)
    if fault.kind == "broker" and in_turn and unharmed:
        return "info"
    return min((group.severity for group in groups), key=RANKS.__getitem__)


def _root_cause(
    fault: SharedFault, own: Sequence[Disturbance], groups: Sequence[DisturbedGroup], histories: Sequence[GroupOutline]
) -> RootCause:
    causes = [cause for each in own for cause in each.shared] or [_first_seen_together(fault, own)]
    lines = [_lines_of(fault.outages), *[cause.evidence for cause in causes]]
    evidence = _interleaved(lines)
    return RootCause(
        cause=fault.cause,
        confidence=_confidence(fault, causes),
        culprits=fault.culprits,
        narrative=narrative_of(fault, groups, histories),
        evidence=evidence[:MOST_LINES],
        evidence_total=max(len(evidence), sum(cause.evidence_total for cause in causes)),
        occurrences=_occurrences(own),
        advice=_advice(fault, causes, own),
        behind=next(
            (links for links in (*(o.behind for o in fault.outages), *(c.behind for c in causes)) if links), ()
        ),
        known_bugs=tuple({bug.jira: bug for cause in causes for bug in cause.known_bugs}.values()),
        chain=_chain(fault, causes),
    )


def _first_seen_together(fault: SharedFault, own: Sequence[Disturbance]) -> RootCause:
    """Return a root cause that no group's own lines suggest."""
    evidence = _lines_of(fault.outages) or _interleaved([each.evidence for each in own])
    return RootCause(
        cause=fault.cause,
        confidence=PROBABLE,
        culprits=fault.culprits,
        narrative="",
        evidence=evidence,
        evidence_total=len(evidence),
        advice=about((STOOD_STILL_ADVICE,), fault.culprits) if fault.kind == "broker" else (),
    )


def _confidence(fault: SharedFault, causes: Sequence[RootCause]) -> float:
    """Return the highest confidence of a group, or less if no line shows which coordinator or host was at fault."""
    surest = max(cause.confidence for cause in causes)
    if fault.kind == "credential" and len({part.group for part in fault.parts}) > 2:
        # A broker does not log the client that it rejects: one group may match by chance, but not three.
        return max(surest, LIKELY if surest >= PROBABLE else PROBABLE)
    # Members that no line places on the same host may have something else in common.
    unplaced = fault.kind == "host" and surest < LIKELY and any(c.kind != "host" for c in fault.culprits)
    return min(surest, UNSURE) if fault.is_shared or unplaced else surest


def _occurrences(own: Sequence[Disturbance]) -> int:
    """Return the number of incidents of the group that has the most."""
    by_group = grouped(own, attrgetter("group")).values()
    often = max(sum(each.occurrences for each in of_group) for of_group in by_group)
    return often if len(own) > len(by_group) else 1


def _lines_of(outages: Iterable[BrokerOutage]) -> tuple[Evidence, ...]:
    return tuple(dict.fromkeys(line for outage in outages for line in outage.evidence))


def _interleaved(proofs: Sequence[Sequence[Evidence]]) -> tuple[Evidence, ...]:
    return tuple(dict.fromkeys(interleaved(proofs)))


def _advice(fault: SharedFault, causes: Sequence[RootCause], own: Sequence[Disturbance]) -> tuple[Advice, ...]:
    """Return the advice of the surest groups, without advice on restarts for a broker that only stalled.

    A reason that differs between groups, in its figures for example, is attributed to its group.
    """
    shown = [cause for cause in causes if cause.behind]
    if not shown and fault.outages and all(outage.how == "froze" for outage in fault.outages):
        return about((STOOD_STILL_ADVICE,), fault.culprits)
    # Settings have different names in groups of other protocols: what most groups need comes first.
    alike = Counter(_actions(cause) for cause in causes)
    surest = max(shown or causes, key=lambda cause: (cause.confidence, alike[_actions(cause)], len(cause.advice)))
    group = next((each.group for each in own if any(cause is surest for cause in each.shared)), "")
    reasons = lists_by_key((kind_of(a), a.why) for cause in causes for a in cause.advice)
    advice = [
        replace(a, why=f"In group {group}: {a.why}") if len(set(reasons[kind_of(a)])) > 1 else a for a in surest.advice
    ]
    return about(advice, fault.culprits)


def _actions(cause: RootCause) -> tuple[str, ...]:
    return tuple(map(kind_of, cause.advice))


def _chain(fault: SharedFault, causes: Sequence[RootCause]) -> tuple[ChainLink, ...]:
    links = [
        ChainLink(at=line.timestamp, what=f"{outage.broker}: {message_of(line.text, LONGEST_STEP)}", evidence=line)
        for outage in fault.outages
        for line in outage.evidence[:2]
    ]
    of_groups = [link for cause in causes for link in cause.chain[:FIRST_LINKS]]
    known = {link.evidence for link in links}
    links += [link for link in of_groups if link.evidence not in known]
    ordered = sorted(dict.fromkeys(links), key=lambda link: (link.at or 0, link.what))
    return tuple(ordered[:LONGEST_CHAIN])


def _ruled_out(fault: SharedFault, own: Sequence[Disturbance], of_first: Sequence[RuledOut]) -> tuple[RuledOut, ...]:
    """Return causes that the lines of all groups contradict, or that some groups suggest and others rule out."""
    suggested = {each.cause: each.group for each in reversed(own)}
    agreeing = [each.evidence for each in own if each.cause == fault.cause]
    found = [
        RuledOut(
            cause=cause,
            why=overruled_because(fault),
            sign="other-groups-at-that-time",
            evidence=_interleaved(agreeing or [each.evidence for each in own if each.group != group])[
                :LINES_OF_A_GROUP
            ],
        )
        for cause, group in sorted(suggested.items())
        if cause not in (fault.cause, "unexplained")
    ]
    named = {row.cause for row in found} | {fault.cause}
    common = frozenset.intersection(*(each.ruled_out for each in own))
    found += [row for row in of_first if row.cause in common - named]
    return tuple(sorted(found, key=lambda row: row.cause))


def _several_groups(fault: SharedFault, own: Sequence[Disturbance]) -> SignRow:
    """Return the sign that only the groups together show, in addition to those of the surest group."""
    return SignRow(
        sign="several-groups-at-once",
        says=f"{len({each.group for each in own})} groups were disturbed at that time",
        answer="present",
        weighs=((fault.cause, 4),),
        evidence=_interleaved([each.evidence[:1] for each in own])[:LINES_OF_A_GROUP],
    )


def _id(fault: SharedFault, verdict: RootCause) -> str:
    first = verdict.evidence[0]
    name = first.path.rsplit("/", 1)[-1]
    parts = (
        fault.parts[0].headline.cluster,
        "cluster",
        fault.kind,
        fault.culprits[0].name if fault.culprits else "",
        name,
    )
    return hashlib.sha256("\x00".join((*parts, first.text)).encode()).hexdigest()[:16]
