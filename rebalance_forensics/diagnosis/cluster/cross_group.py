"""What only shows when groups are seen together: one coordinator, one host, one topic or one deployment behind many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.case import CaseOutline, GroupCase
from rebalance_forensics.diagnosis.cluster.coordinator_groups import Homes, homes_of
from rebalance_forensics.diagnosis.cluster.member_hosts import Whereabouts, whereabouts_of
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.model import Headline, Incident, Relation, RelationKind
from rebalance_forensics.diagnosis.wording.durations import seconds
from rebalance_forensics.records import is_timed
from rebalance_forensics.timeline.model import GroupOutline
from rebalance_forensics.timeline.windows import METADATA_AGE_MS, ONE_REBALANCE_MS

MOST_IDS = 20
"""An incident names at most so many others; the sentence counts them all."""
NAMES_TOLD = 6
BROKERS_FAULT = frozenset({"coordinator-failover", "offsets-topic-unavailable"})
HOSTS_FAULT = frozenset({
    *("process-pause", "process-crash", "network-partition", "slow-processing", "rebalance-straggler"),
    *("static-member-expired", "member-left", "thread-replacement"),
})  # fmt: skip
DEPLOYMENT = frozenset({"rolling-restart", "static-member-restart"})
_LOST = {
    "coordinator-failover": "lost the same coordinator",
    "offsets-topic-unavailable": "could not be stored in __consumer_offsets by the same broker",
}

Case = TypeVar("Case", bound=GroupCase)
Place = tuple[str, str]
"""A cluster and the name of something in it."""
Relations = Mapping[str, tuple[Relation, ...]]
"""By the id of an incident."""


class _Together(Struct, frozen=True):
    """Incidents of several groups with one thing behind them."""

    kind: RelationKind
    seen: tuple[Headline, ...]
    why: str


def relations_among(cases: Sequence[CaseOutline]) -> Relations:
    """How the incidents of each group are related to those of others."""
    # Lines without times of two groups have no order among each other: nothing shows that they fell together.
    seen = [incident for case in cases for incident in case.incidents if is_timed(incident.started_at)]
    relations: dict[str, list[Relation]] = defaultdict(list)
    for together in _all_together([case.history for case in cases], seen):
        ids = [incident.id for incident in together.seen]
        for own in ids:
            others = tuple(other for other in ids[: MOST_IDS + 1] if other != own)[:MOST_IDS]
            relations[own].append(Relation(kind=together.kind, ids=others, groups=_groups(together), why=together.why))
    return {own: tuple(found) for own, found in relations.items()}


def related(case: Case, relations: Relations) -> Case:
    """The case with what its incidents have to do with those of other groups."""
    return replace(case, incidents=tuple(with_relations(incident, relations) for incident in case.incidents))


def with_relations(incident: Incident, relations: Relations) -> Incident:
    """The incident with its relations, if it has any."""
    return replace(incident, related=relations[incident.id]) if incident.id in relations else incident


def _groups(together: _Together) -> int:
    return len({incident.group for incident in together.seen})


def _causes(incident: Headline) -> frozenset[str]:
    return frozenset(cause.cause for cause in incident.root_causes)


def _culprits(incident: Headline, *kinds: str) -> Iterator[str]:
    return (c.name for cause in incident.root_causes for c in cause.culprits if c.kind in kinds)


def _all_together(histories: Sequence[GroupOutline], seen: Sequence[Headline]) -> Iterator[_Together]:
    if len({(history.cluster, history.group) for history in histories}) < 2:
        return
    yield from _one_broker(homes_of(histories), seen)
    yield from _one_host(whereabouts_of(histories), seen)
    yield from _one_topic(seen)
    yield from _one_deployment(seen)


def _one_broker(homes: Homes, seen: Iterable[Headline]) -> Iterator[_Together]:
    by_broker: dict[Place, list[Headline]] = defaultdict(list)
    for incident in seen:
        if _causes(incident) & BROKERS_FAULT:
            for broker in dict.fromkeys(_culprits(incident, "broker")):
                by_broker[incident.cluster, broker].append(incident)
    for (cluster, broker), incidents in sorted(by_broker.items()):
        for run in _of_several_groups(incidents, ONE_REBALANCE_MS):
            causes = frozenset.union(*(_causes(incident) for incident in run)) & BROKERS_FAULT
            verb = _LOST[min(causes)] if len(causes) == 1 else "were disturbed by the same broker"
            groups = _names(run)
            why = f"{len(groups)} groups {verb}, {broker}, within {_span(run)}: {_some(groups)}."
            why += homes.of_these(cluster, groups) + homes.besides(cluster, broker, groups, run[0].started_at)
            yield _Together("coordinator", tuple(run), why)


def _one_host(whereabouts: Whereabouts, seen: Iterable[Headline]) -> Iterator[_Together]:
    by_host: dict[Place, list[Headline]] = defaultdict(list)
    for incident in seen:
        if incident.severity != "info" and _causes(incident) & HOSTS_FAULT:
            names = _culprits(incident, "client", "instance", "worker", "thread", "host")
            for host in whereabouts.hosts_of(incident.cluster, incident.group, names):
                by_host[incident.cluster, host].append(incident)
    for (_, host), incidents in sorted(by_host.items()):
        for run in _of_several_groups(incidents, ONE_REBALANCE_MS):
            groups = _names(run)
            listed = _some([f"{incident.group} ({incident.root_causes[0].cause})" for incident in run])
            why = f"Members of {len(groups)} groups on host {host} failed within {_span(run)}: {listed}."
            yield _Together("host", tuple(run), f"{why} They share the host, or a process on it.")


def _one_topic(seen: Iterable[Headline]) -> Iterator[_Together]:
    by_topic: dict[Place, list[Headline]] = defaultdict(list)
    for incident in seen:
        if "topic-metadata-change" in _causes(incident):
            for topic in dict.fromkeys(_culprits(incident, "topic")):
                by_topic[incident.cluster, topic].append(incident)
    topics: dict[tuple[str, ...], tuple[list[Headline], list[str]]] = {}
    for (_, topic), incidents in sorted(by_topic.items()):
        for run in _of_several_groups(incidents, METADATA_AGE_MS):
            topics.setdefault(tuple(incident.id for incident in run), (run, []))[1].append(topic)
    for run_of, names in topics.values():
        groups = _names(run_of)
        what = f"topic{'s' if len(names) > 1 else ''} {_some(names)}"
        why = f"The same change of {what} made {len(groups)} groups rebalance within {_span(run_of)}: {_some(groups)}."
        yield _Together("topic", tuple(run_of), why)


def _one_deployment(seen: Iterable[Headline]) -> Iterator[_Together]:
    by_cluster: dict[str, list[Headline]] = defaultdict(list)
    for incident in seen:
        if _causes(incident) & DEPLOYMENT:
            by_cluster[incident.cluster].append(incident)
    for _, incidents in sorted(by_cluster.items()):
        for run in _of_several_groups(incidents, ONE_REBALANCE_MS):
            groups = _names(run)
            why = f"The members of {len(groups)} groups were restarted one after another at the same time: "
            yield _Together("deployment", tuple(run), f"{why}{_some(groups)}. It looks like one deployment.")


def _of_several_groups(incidents: Iterable[Headline], gap_ms: int) -> Iterator[list[Headline]]:
    for run in runs(incidents, lambda incident: incident.started_at, gap_ms):
        if len({incident.group for incident in run}) > 1:
            yield sorted(run, key=lambda incident: (incident.started_at, incident.group, incident.id))


def _names(run: Iterable[Headline]) -> list[str]:
    return list(dict.fromkeys(incident.group for incident in run))


def _span(run: Sequence[Headline]) -> str:
    span = run[-1].started_at - run[0].started_at
    return seconds(span) if span >= 1_000 else "a second"


def _some(names: Sequence[str]) -> str:
    rest = len(names) - NAMES_TOLD
    return f"{', '.join(names[:NAMES_TOLD])} and {rest} more" if rest > 0 else ", ".join(names)
