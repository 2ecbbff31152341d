"""Relations between incidents of several groups with a common host that remain separate incidents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rebalance_forensics.diagnosis.cluster.host_index import HostIndex
from rebalance_forensics.diagnosis.cluster.sentences import NAMES_SHOWN
from rebalance_forensics.diagnosis.cluster.shared_faults import Part, hosts_of_part, runs_of_several_groups
from rebalance_forensics.diagnosis.model import Relation
from rebalance_forensics.diagnosis.wording.durations import seconds, some
from rebalance_forensics.records import SECOND_MS
from rebalance_forensics.timeline.time_index import lists_by_key
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS

MOST_IDS = 20
"""At most this many related incidents are listed; the sentence counts all of them."""
HOSTS_FAULT = frozenset({
    *("process-pause", "process-crash", "network-partition", "slow-processing", "rebalance-straggler"),
    *("static-member-expired", "member-left", "thread-replacement"),
})  # fmt: skip

Relations = Mapping[str, tuple[Relation, ...]]
"""Incident id -> its relations."""


def relations_among(parts: Iterable[Part], host_index: HostIndex) -> Relations:
    """Return the relations of the incidents that did not become part of a cluster's incident."""
    faults = (part for part in parts if part.headline.severity != "info")
    of_hosts = (part for part in faults if any(c.cause in HOSTS_FAULT for c in part.headline.root_causes))
    by_host = lists_by_key(
        ((part.headline.cluster, host), part) for part in of_hosts for host in hosts_of_part(host_index, part)
    )
    relations: dict[str, list[Relation]] = defaultdict(list)
    for (_, host), on_host in sorted(by_host.items()):
        for run in runs_of_several_groups(on_host, ONE_REBALANCE_MS):
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


def _span(run: Sequence[Part]) -> str:
    span = run[-1].begin - run[0].begin
    return seconds(span) if span >= SECOND_MS else "a second"
