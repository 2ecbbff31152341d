"""Which groups hang on which broker: the leader of a group's partition of `__consumer_offsets` coordinates it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.coordinator.partition_of_group import offsets_partition
from rebalance_forensics.timeline.model import CoordinatorTerm, GroupOutline
from rebalance_forensics.timeline.windows import REQUEST_TIMEOUT_MS

PARTITIONS_SHOWN = 6

Place = tuple[str, str]


class Homes(Struct, frozen=True):
    """The partition each group lives in, the groups of each partition, and the terms of each coordinator."""

    partitions: dict[Place, tuple[int, bool]]
    """(cluster, group) -> partition, and whether a line tells it; else it is the hash over the default number.

    A group is missing whose partition no line tells, where those of others show that the number is another one.
    """
    tenants: dict[tuple[str, int], list[str]]
    terms: dict[Place, list[tuple[str, CoordinatorTerm]]]
    """(cluster, broker) -> the groups it coordinated, and when."""

    def of_these(self, cluster: str, groups: Sequence[str]) -> str:
        """Where these groups live, in words; empty where that is not known of all."""
        homes = [home for group in groups if (home := self.partitions.get((cluster, group))) is not None]
        if not homes or len(homes) < len(groups):
            return ""
        numbers = sorted({partition for partition, _ in homes})
        by_name = "" if all(is_logged for _, is_logged in homes) else ", by the hash of their names over 50 partitions"
        shown = ", ".join(map(str, numbers[:PARTITIONS_SHOWN])) + (" …" if len(numbers) > PARTITIONS_SHOWN else "")
        return f"{'partition' if len(numbers) == 1 else 'partitions'} {shown} of __consumer_offsets{by_name}"

    def coordinated_by(self, cluster: str, broker: str, at: int) -> list[str]:
        """The groups that a broker coordinated then, or that live in the same partition as one of them."""
        coordinated = [group for group, term in self.terms.get((cluster, broker), ()) if _during(term, at)]
        known_homes = (self.partitions.get((cluster, group)) for group in coordinated)
        homes = {home[0] for home in known_homes if home is not None}
        housed = [group for home in sorted(homes) for group in self.tenants[cluster, home]]
        return sorted({*coordinated, *housed})


def homes_of(histories: Sequence[GroupOutline]) -> Homes:
    """Index the groups, once for all incidents."""
    partitions: dict[Place, tuple[int, bool]] = {}
    tenants: dict[tuple[str, int], list[str]] = defaultdict(list)
    terms: dict[Place, list[tuple[str, CoordinatorTerm]]] = defaultdict(list)
    changed = {h.cluster for h in histories if h.offsets_partition not in (None, offsets_partition(h.group))}
    for history in histories:
        logged = history.offsets_partition
        if logged is not None or history.cluster not in changed:
            home = logged if logged is not None else offsets_partition(history.group)
            partitions[history.cluster, history.group] = home, logged is not None
            tenants[history.cluster, home].append(history.group)
        for term in history.coordinators:
            terms[history.cluster, term.broker].append((history.group, term))
    return Homes(partitions, tenants, terms)


def _during(term: CoordinatorTerm, at: int) -> bool:
    begun = term.started_at is None or term.started_at <= at
    return begun and (term.ended_at is None or term.ended_at >= at - REQUEST_TIMEOUT_MS)
