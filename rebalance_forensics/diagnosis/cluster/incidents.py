"""The incidents of a cluster: one for what several groups suffered from together, made of theirs."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.case import CaseOutline
from rebalance_forensics.diagnosis.causes.coordinator_failover import STOOD_STILL_ADVICE
from rebalance_forensics.diagnosis.cluster.host_index import index_hosts
from rebalance_forensics.diagnosis.cluster.sentences import (
    NAMES_SHOWN,
    group_sentence,
    narrative_of,
    overruled_because,
    summary_of,
)
from rebalance_forensics.diagnosis.cluster.shared_faults import (
    Part,
    SharedFault,
    hosts_of_part,
    led_by,
    of_several_groups,
    shared_faults,
    went_in_turn,
)
from rebalance_forensics.diagnosis.engine.confidence import LIKELY, PROBABLE, UNSURE
from rebalance_forensics.diagnosis.model import (
    RANKS,
    Advice,
    ChainLink,
    DisturbedGroup,
    Headline,
    Impact,
    Incident,
    MemberImpact,
    Relation,
    RootCause,
    RuledOut,
    Severity,
    SignRow,
    WouldDecide,
)
from rebalance_forensics.diagnosis.wording.culprits import about
from rebalance_forensics.diagnosis.wording.durations import seconds, some
from rebalance_forensics.diagnosis.wording.event_text import LONGEST_STEP
from rebalance_forensics.diagnosis.wording.proof import interleaved
from rebalance_forensics.records import SECOND_MS, is_timed
from rebalance_forensics.timeline.evidence import message_of
from rebalance_forensics.timeline.model import BrokerOutage, Evidence, GroupHistory, GroupOutline
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS

MOST_IDS = 20
"""An incident names at most so many others; the sentence counts them all."""
HOSTS_FAULT = frozenset({
    *("process-pause", "process-crash", "network-partition", "slow-processing", "rebalance-straggler"),
    *("static-member-expired", "member-left", "thread-replacement"),
})  # fmt: skip

Relations = Mapping[str, tuple[Relation, ...]]
"""By the id of an incident."""


def relations_among(cases: Sequence[CaseOutline], shared: ClusterIncidents) -> Relations:
    """How the incidents that each group keeps for itself are related to those of others."""
    parts = [
        Part(headline, place, number)
        for place, case in enumerate(cases)
        for number, headline in enumerate(case.incidents)
        if is_timed(headline.started_at) and headline.id not in shared.whole_of
    ]
    histories = [case.history for case in cases]
    if len({(history.cluster, history.group) for history in histories}) < 2:
        return {}
    host_index = index_hosts(histories)
    by_host: dict[tuple[str, str], list[Part]] = defaultdict(list)
    for part in parts:
        if part.headline.severity != "info" and any(c.cause in HOSTS_FAULT for c in part.headline.root_causes):
            for host in hosts_of_part(host_index, part):
                by_host[part.headline.cluster, host].append(part)
    relations: dict[str, list[Relation]] = defaultdict(list)
    for (_, host), on_host in sorted(by_host.items()):
        for run in of_several_groups(on_host, ONE_REBALANCE_MS):
            _relate(relations, host, run)
    return {own: tuple(found) for own, found in relations.items()}


def _relate(relations: dict[str, list[Relation]], host: str, run: Sequence[Part]) -> None:
    groups = list(dict.fromkeys(part.group for part in run))
    listed = some([f"{part.group} ({part.cause})" for part in run], NAMES_SHOWN)
    why = (
        f"Members of {len(groups)} groups on host {host} failed within {_span(run)}: {listed}. They share the host, or"
        " a process on it."
    )
    ids = [part.headline.id for part in run]
    for own in ids:
        others = tuple(other for other in ids[: MOST_IDS + 1] if other != own)[:MOST_IDS]
        relations[own].append(Relation(kind="host", ids=others, groups=len(groups), why=why))


def with_relations(incident: Incident, relations: Relations) -> Incident:
    """The incident with its relations, if it has any."""
    return replace(incident, related=relations[incident.id]) if incident.id in relations else incident


def _span(run: Sequence[Part]) -> str:
    span = run[-1].begin - run[0].begin
    return seconds(span) if span >= SECOND_MS else "a second"


MOST_LINES = 20
LINES_OF_A_GROUP = 3
LONGEST_CHAIN = 40
FIRST_LINKS = 3
"""Of each group's chain."""
MOST_ASKED = 3
"""Incidents of groups whose open questions are asked."""

Whole = Callable[[int, int], Incident]
"""The whole incident of a case by its number."""


class ClusterIncidents(Struct, frozen=True):
    """The incidents of clusters, and which of them each group's own incident became a part of."""

    incidents: tuple[Incident, ...] = ()
    whole_of: Mapping[str, str] = {}
    """The id of a group's incident -> that of the cluster's."""
    triggers: Mapping[tuple[str, str, int], str] = {}
    """(cluster, group, generation) -> the cause of the cluster's incident that began it."""
    running: frozenset[str] = frozenset()
    """The incidents of groups whose members ran while a broker did not answer them."""

    def own(self, incidents: Iterable[Incident]) -> tuple[Incident, ...]:
        """A case's incidents without those that became a part of a cluster's."""
        return tuple(incident for incident in incidents if incident.id not in self.whole_of)

    def in_history(self, history: GroupHistory) -> GroupHistory:
        """A history whose unread spans and generations point to the cluster's incident."""
        if not self.whole_of:
            return history
        place = (history.cluster, history.group)
        return replace(
            history,
            unread=tuple(
                [
                    replace(span, incident=whole) if (whole := self.whole_of.get(each.incident or "")) else span
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
    """One incident for each thing that disturbed several groups; `whole` fetches the incidents that become a part."""
    # Lines without times of two groups have no order among each other: nothing shows that they fell together.
    parts = [
        Part(headline, case, number)
        for case, outline in enumerate(cases)
        for number, headline in enumerate(outline.incidents)
        if is_timed(headline.started_at)
    ]
    histories = [case.history for case in cases]
    incidents: list[Incident] = []
    whole_of: dict[str, str] = {}
    triggers: dict[tuple[str, str, int], str] = {}
    running: set[str] = set()

    def moments_of(part: Part) -> list[int]:
        evidence = whole(part.case, part.number).root_causes[0].evidence
        return [line.timestamp for line in evidence if line.timestamp is not None]

    for fault in shared_faults(histories, parts, moments_of):
        own = _parts_of(fault, whole)
        if fault.kind == "broker":
            running.update(incident.id for incident in own)
            own = [replace(i, impact=i.impact_if_running) if i.impact_if_running is not None else i for i in own]
        best = fault.parts[_shows_it_best(fault, own)]
        incident = _incident(fault, own, histories, whole(best.case, best.number).signs)
        incidents.append(incident)
        for of_group in own:
            whole_of[of_group.id] = incident.id
            if of_group.root_causes[0].cause != fault.cause:
                place = (of_group.cluster, of_group.group or "")
                triggers |= {(*place, number): fault.cause for number in of_group.generations}
    return ClusterIncidents(tuple(incidents), whole_of, triggers, frozenset(running))


def _parts_of(fault: SharedFault, whole: Whole) -> list[Incident]:
    """The incidents that become one, each with no more than the one is made of."""
    # A night of 20,000 groups has 170,000 of them in memory at once: whole, and with each line as often as it is
    # quoted, they were 2 GB.
    once: dict[object, Any] = {}
    found: dict[int, Incident] = {}
    # Those of one case one after another, as they lie in its file.
    for place in sorted(
        range(len(fault.parts)), key=lambda place: (fault.parts[place].case, fault.parts[place].number)
    ):
        part = fault.parts[place]
        found[place] = _without_bulk(whole(part.case, part.number), part.headline, fault.cause, place, once)
    return [found[place] for place in range(len(fault.parts))]


def _without_bulk(
    incident: Incident, headline: Headline, shared_cause: str, place: int, once: dict[object, Any]
) -> Incident:
    # What other parts quote or advise as well is kept once.
    def lean(cause: RootCause) -> RootCause:
        chain = cause.chain[:FIRST_LINKS] if cause.cause == shared_cause else ()
        return replace(
            cause,
            narrative="",
            evidence=tuple([once.setdefault(line, line) for line in cause.evidence]),
            chain=tuple([replace(link, evidence=once.setdefault(link.evidence, link.evidence)) for link in chain]),
            advice=once.setdefault(cause.advice, cause.advice),
        )

    first, *others = incident.root_causes
    return replace(
        incident,
        id=headline.id,
        group=headline.group,
        cluster=headline.cluster,
        summary=headline.summary,
        impact=headline.impact,
        root_causes=(lean(first), *(lean(cause) for cause in others if cause.cause == shared_cause)),
        ruled_out=incident.ruled_out if place == 0 else tuple([_named(row.cause) for row in incident.ruled_out]),
        would_decide=incident.would_decide if place < MOST_ASKED else (),
        signs=(),
        what_if=(),
    )


@cache
def _named(cause: str) -> RuledOut:
    return RuledOut(cause=cause, why="", sign="")


def _shows_it_best(fault: SharedFault, own: Sequence[Incident]) -> int:
    def shown(place: int) -> tuple[bool, float, int]:
        verdict = own[place].root_causes[0]
        return verdict.cause == fault.cause, verdict.confidence, -own[place].started_at

    return max(range(len(own)), key=shown)


def _incident(
    fault: SharedFault, own: Sequence[Incident], histories: Sequence[GroupOutline], signs: Sequence[SignRow]
) -> Incident:
    led = {h.group: led_by(fault, h) for h in histories if h.cluster == own[0].cluster}
    groups = tuple(replace(group, led=led.get(group.group, ())) for group in _disturbed(fault, own))
    ongoing = any(incident.ongoing for incident in own)
    ends = [incident.ended_at for incident in own if incident.ended_at is not None]
    verdict = _root_cause(fault, own, groups, histories)
    severity = _severity(fault, groups)
    is_sure = any(each.root_causes[0].confidence >= 0.9 for each in own)
    return Incident(
        id=_id(fault, verdict),
        scope="cluster",
        group=None,
        groups=groups,
        cluster=own[0].cluster,
        started_at=min(incident.started_at for incident in own),
        ended_at=None if ongoing else max(ends, default=own[-1].started_at),
        ongoing=ongoing,
        severity=severity,
        summary=summary_of(fault, groups),
        root_causes=(verdict,),
        ruled_out=_ruled_out(fault, own),
        would_decide=_would_decide(fault, own, sure=is_sure),
        signs=(_several_groups(fault, own), *signs),
        followups=tuple(sorted({name for incident in own for name in incident.followups})),
        impact=summed([group.impact for group in groups], of_groups=True),
        occurrences=_occurrences(own),
    )


def _would_decide(fault: SharedFault, own: Sequence[Incident], *, sure: bool) -> tuple[WouldDecide, ...]:
    """The logs that would settle it, without those that decide between causes which the groups together rule out.

    Where the lines of some group are `sure`, they are those that would show what is behind it.
    """
    logs = (log for each in own[:MOST_ASKED] for log in each.would_decide)
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


def _disturbed(fault: SharedFault, own: Sequence[Incident]) -> tuple[DisturbedGroup, ...]:
    """The groups, the worst first; a group that was disturbed again and again once."""
    by_group = grouped(own, lambda incident: incident.group or "")
    rows = [
        DisturbedGroup(
            group=group,
            severity=min((_severity_of_part(fault, i) for i in incidents), key=RANKS.__getitem__),
            impact=summed([i.impact for i in incidents]),
            followups=tuple(sorted({name for i in incidents for name in i.followups})),
            generations=tuple(sorted({number for i in incidents for number in i.generations})),
            evidence=_interleaved([i.root_causes[0].evidence for i in incidents])[:LINES_OF_A_GROUP],
            summary=group_sentence(incidents),
            parts=tuple([i.id for i in incidents]),
        )
        for group, incidents in by_group.items()
    ]
    return tuple(sorted(rows, key=_worst_first))


def _severity_of_part(fault: SharedFault, incident: Incident) -> Severity:
    """That of a group's own incident; what it took for critical and is another fault is so by its cost alone."""
    overruled = incident.root_causes[0].cause != fault.cause
    costly = incident.ongoing or incident.impact.unread_partition_ms or incident.impact.stopped_ms
    return "warning" if incident.severity == "critical" and overruled and not costly else incident.severity


def _worst_first(row: DisturbedGroup) -> tuple[int, int, int, int, str, int, str]:
    # group-2 before group-10.
    cost = row.impact
    return (
        -(cost.unread_partition_ms or 0),
        -(cost.stopped_ms or 0),
        -cost.rebalances,
        RANKS[row.severity],
        row.group.rstrip("0123456789"),
        len(row.group),
        row.group,
    )


def summed(impacts: Sequence[Impact], *, of_groups: bool = False) -> Impact:
    """What several incidents cost together: of one group, or one of each of several groups.

    Nothing is known of the whole where nothing is known of any; where something is unknown of one, it is at least that.
    """
    if len(impacts) == 1 and not of_groups:
        return impacts[0]

    def total(values: Iterable[int | None]) -> int | None:
        known = [value for value in values if value is not None]
        return sum(known) if known else None

    def concerned(values: Iterable[int | None]) -> int | None:
        # The members that a group loses again and again are the same; those of several groups are others.
        known = [value for value in values if value is not None]
        return None if not known else sum(known) if of_groups else max(known)

    unread = [(i.longest_unread_ms or 0, n) for n, i in enumerate(impacts) if i.longest_unread_ms is not None]
    longest, place = max(unread, key=lambda pair: (pair[0], -pair[1]), default=(None, 0))
    partition = impacts[place].longest_unread_partition if unread else None
    stops = [i.stopped_ms for i in impacts if i.stopped_ms is not None]
    unknown = any(i.unread_partition_ms is None for i in impacts)
    kinds = {i.of_connect for i in impacts}
    uncounted = not of_groups or any(i.known_partitions is None for i in impacts)
    cost = total(i.unread_partition_ms for i in impacts)
    return Impact(
        unread_partition_ms=cost,
        unread_partitions=total(i.unread_partitions for i in impacts),
        known_partitions=None if uncounted else total(i.known_partitions for i in impacts),
        unread_at_least=None if cost is None else unknown or any(i.unread_at_least for i in impacts),
        longest_unread_ms=longest,
        longest_unread_partition=partition,
        # Of one group the stops follow each other; several groups stop at the same time.
        stopped_ms=(max(stops) if of_groups else sum(stops)) if stops else None,
        pause_ms=total(i.pause_ms for i in impacts),
        members=concerned(i.members for i in impacts),
        partitions=concerned(i.partitions for i in impacts),
        rebalances=sum(i.rebalances for i in impacts),
        of_connect=kinds.pop() if len(kinds) == 1 else None,
        by_member=_summed_by_member(impacts, of_groups) if cost is None else None,
    )


def _summed_by_member(impacts: Iterable[Impact], of_groups: bool) -> MemberImpact | None:  # noqa: FBT001 - as summed
    """What the impacts cost in time of members: all that a coordinator's log shows of it."""
    known = [impact.by_member for impact in impacts if impact.by_member is not None]
    if not known:
        return None
    over_groups, over_time = (sum, max) if of_groups else (max, sum)
    sizes = [each.of_members for each in known if each.of_members is not None]
    least = [each.stopped_at_least_ms for each in known if each.stopped_at_least_ms is not None]
    most = [each.stopped_at_most_ms for each in known if each.stopped_at_most_ms is not None]
    return MemberImpact(
        members=over_groups(each.members for each in known),
        of_members=over_groups(sizes) if len(sizes) == len(known) else None,
        unread_member_ms=sum(each.unread_member_ms for each in known),
        longest_ms=max(each.longest_ms for each in known),
        at_least=any(each.at_least for each in known),
        stopped_at_least_ms=over_time(least) if least else None,
        stopped_at_most_ms=over_time(most) if len(most) == len(known) else None,
    )


def _severity(fault: SharedFault, groups: Sequence[DisturbedGroup]) -> Severity:
    """The worst of its groups; brokers that were restarted in turn and cost no group any work were planned."""
    in_turn = went_in_turn(fault)
    unharmed = all(not group.impact.unread_partition_ms and not group.impact.rebalances for group in groups)
    if fault.kind == "broker" and in_turn and unharmed:
        return "info"
    return min((group.severity for group in groups), key=RANKS.__getitem__)


def _root_cause(
    fault: SharedFault, own: Sequence[Incident], groups: Sequence[DisturbedGroup], histories: Sequence[GroupOutline]
) -> RootCause:
    causes = [cause for incident in own for cause in incident.root_causes if cause.cause == fault.cause]
    causes = causes or [_first_seen_together(fault, own)]
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
        advice=_advice(fault, causes),
        behind=next(
            (links for links in (*(o.behind for o in fault.outages), *(c.behind for c in causes)) if links), ()
        ),
        known_bugs=tuple({bug.jira: bug for cause in causes for bug in cause.known_bugs}.values()),
        chain=_chain(fault, causes),
    )


def _first_seen_together(fault: SharedFault, own: Sequence[Incident]) -> RootCause:
    """A cause that no group's own lines suggest."""
    evidence = _lines_of(fault.outages) or _interleaved([incident.root_causes[0].evidence for incident in own])
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
    """That of the surest group, or less where no line shows which of the coordinators it was, or what members share."""
    surest = max(cause.confidence for cause in causes)
    if fault.kind == "credential" and len({part.group for part in fault.parts}) > 2:
        # A broker names no client that it refuses: chance explains the moment in one group, not in three.
        return max(surest, LIKELY if surest >= PROBABLE else PROBABLE)
    # Members that no line places on one host may have lost anything else that they share.
    unplaced = fault.kind == "host" and surest < LIKELY and any(c.kind != "host" for c in fault.culprits)
    return min(surest, UNSURE) if fault.is_shared or unplaced else surest


def _occurrences(own: Sequence[Incident]) -> int:
    """How often the group with the most incidents was disturbed."""
    by_group: dict[str | None, int] = defaultdict(int)
    for incident in own:
        by_group[incident.group] += incident.occurrences
    return max(by_group.values()) if len(own) > len(by_group) else 1


def _lines_of(outages: Iterable[BrokerOutage]) -> tuple[Evidence, ...]:
    return tuple(dict.fromkeys(line for outage in outages for line in outage.evidence))


def _interleaved(proofs: Sequence[Sequence[Evidence]]) -> tuple[Evidence, ...]:
    return tuple(dict.fromkeys(interleaved(proofs)))


def _advice(fault: SharedFault, causes: Sequence[RootCause]) -> tuple[Advice, ...]:
    """That of the surest: every group has the same from one broker. A broker that stood still was not restarted."""
    shown = [cause for cause in causes if cause.behind]
    if not shown and fault.outages and all(outage.how == "froze" for outage in fault.outages):
        return about((STOOD_STILL_ADVICE,), fault.culprits)
    # Settings have other names in groups of another protocol: what most groups need comes first.
    alike = Counter(_actions(cause) for cause in causes)
    surest = max(shown or causes, key=lambda cause: (cause.confidence, alike[_actions(cause)], len(cause.advice)))
    return about(surest.advice, fault.culprits)


def _actions(cause: RootCause) -> tuple[str, ...]:
    return tuple(advice.template or advice.action for advice in cause.advice)


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


def _ruled_out(fault: SharedFault, own: Sequence[Incident]) -> tuple[RuledOut, ...]:
    """What its groups' lines contradict throughout, and what the lines of one suggest and those of others rule out."""
    suggested = {incident.root_causes[0].cause: incident for incident in reversed(own)}
    shown = [(incident.group, incident.root_causes[0]) for incident in own]
    agreeing = [(group, cause) for group, cause in shown if cause.cause == fault.cause]
    found = [
        RuledOut(
            cause=cause,
            why=overruled_because(fault),
            sign="other-groups-at-that-time",
            evidence=_interleaved(
                [other.evidence for group, other in agreeing or shown if agreeing or group != incident.group]
            )[:LINES_OF_A_GROUP],
        )
        for cause, incident in sorted(suggested.items())
        if cause not in (fault.cause, "unexplained")
    ]
    named = {row.cause for row in found} | {fault.cause}
    common = set.intersection(*({row.cause for row in incident.ruled_out} for incident in own))
    found += [row for row in own[0].ruled_out if row.cause in common - named]
    return tuple(sorted(found, key=lambda row: row.cause))


def _several_groups(fault: SharedFault, own: Sequence[Incident]) -> SignRow:
    """What only the groups together show, beside the signs of the group whose lines show it best."""
    return SignRow(
        sign="several-groups-at-once",
        says=f"{len({incident.group for incident in own})} groups were disturbed at that time",
        answer="present",
        weighs=((fault.cause, 4),),
        evidence=_interleaved([i.root_causes[0].evidence[:1] for i in own])[:LINES_OF_A_GROUP],
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
