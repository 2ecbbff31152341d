"""The assignors of the simulation: range and sticky."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence


def in_ranges(members: Sequence[str], partitions: Sequence[str]) -> dict[str, set[str]]:
    """RangeAssignor: of every topic each member gets a row of partitions, the first ones one more."""
    given: dict[str, set[str]] = {member: set() for member in members}
    topics: dict[str, list[str]] = defaultdict(list)
    for partition in partitions:
        topics[partition.rpartition("-")[0]].append(partition)
    for of_topic in topics.values():
        each, more = divmod(len(of_topic), len(members))
        begin = 0
        for slot, member in enumerate(members):
            end = begin + each + (slot < more)
            given[member].update(of_topic[begin:end])
            begin = end
    return given


def sticky(
    members: Sequence[str], partitions: Sequence[str], owned: Mapping[str, Collection[str]]
) -> dict[str, set[str]]:
    """CooperativeStickyAssignor and KIP-848's uniform: even shares, and as few moves as that allows."""
    each, more = divmod(len(partitions), len(members))
    given: dict[str, set[str]] = {}
    taken: set[str] = set()
    for member in sorted(members, key=lambda member_id: -len(owned.get(member_id, ()))):
        before = owned.get(member, ())
        kept = [p for p in partitions if p in before and p not in taken]
        share = each + (more > 0 and len(kept) > each)
        more -= share > each
        given[member] = set(kept[:share])
        taken |= given[member]
    free = [p for p in partitions if p not in taken]
    for partition in free:
        poorest = min(members, key=lambda member_id: len(given[member_id]))
        given[poorest].add(partition)
    return given
