"""Incidents of groups that have something in common without being one: members of the same host that failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from rebalance_forensics.diagnosis.case import CaseOutline, GroupCase
from rebalance_forensics.diagnosis.cluster.blows import Part, hosts_of_part, of_several_groups
from rebalance_forensics.diagnosis.cluster.incidents import ClusterIncidents
from rebalance_forensics.diagnosis.cluster.member_hosts import whereabouts_of
from rebalance_forensics.diagnosis.cluster.sentences import some
from rebalance_forensics.diagnosis.model import Incident, Relation
from rebalance_forensics.diagnosis.wording.durations import seconds
from rebalance_forensics.records import SECOND_MS, is_timed
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS

MOST_IDS = 20
"""An incident names at most so many others; the sentence counts them all."""
HOSTS_FAULT = frozenset({
    *("process-pause", "process-crash", "network-partition", "slow-processing", "rebalance-straggler"),
    *("static-member-expired", "member-left", "thread-replacement"),
})  # fmt: skip

Case = TypeVar("Case", bound=GroupCase)
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
    whereabouts = whereabouts_of(histories)
    by_host: dict[tuple[str, str], list[Part]] = defaultdict(list)
    for part in parts:
        if part.headline.severity != "info" and any(c.cause in HOSTS_FAULT for c in part.headline.root_causes):
            for host in hosts_of_part(whereabouts, part):
                by_host[part.headline.cluster, host].append(part)
    relations: dict[str, list[Relation]] = defaultdict(list)
    for (_, host), on_host in sorted(by_host.items()):
        for run in of_several_groups(on_host, ONE_REBALANCE_MS):
            _relate(relations, host, run)
    return {own: tuple(found) for own, found in relations.items()}


def _relate(relations: dict[str, list[Relation]], host: str, run: Sequence[Part]) -> None:
    groups = list(dict.fromkeys(part.group for part in run))
    listed = some([f"{part.group} ({part.cause})" for part in run])
    why = (
        f"Members of {len(groups)} groups on host {host} failed within {_span(run)}: {listed}. They share the host, or"
        " a process on it."
    )
    ids = [part.headline.id for part in run]
    for own in ids:
        others = tuple(other for other in ids[: MOST_IDS + 1] if other != own)[:MOST_IDS]
        relations[own].append(Relation(kind="host", ids=others, groups=len(groups), why=why))


def in_cluster(case: Case, shared: ClusterIncidents, relations: Relations) -> Case:
    """The case with the incidents that it keeps for itself, and what they have to do with those of other groups."""
    return replace(
        case,
        history=shared.in_history(case.history),
        incidents=tuple(with_relations(incident, relations) for incident in shared.own(case.incidents)),
    )


def with_relations(incident: Incident, relations: Relations) -> Incident:
    """The incident with its relations, if it has any."""
    return replace(incident, related=relations[incident.id]) if incident.id in relations else incident


def _span(run: Sequence[Part]) -> str:
    span = run[-1].begin - run[0].begin
    return seconds(span) if span >= SECOND_MS else "a second"
