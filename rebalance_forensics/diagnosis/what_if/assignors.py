"""Who gets which partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence


def in_ranges(members: Sequence[str], partitions: Sequence[str]) -> dict[str, set[str]]:
    """RangeAssignor: of every topic each member gets a row of partitions, the first ones one more."""
    given: dict[str, set[str]] = {member: set() for member in members}
    topics: dict[str, list[str]] = defaultdict(list)
    for partition in partitions:
        topics[partition.rpartition("-")[0]].append(partition)
    for mine in topics.values():
        each, more = divmod(len(mine), len(members))
        begin = 0
        for slot, member in enumerate(members):
            end = begin + each + (slot < more)
            given[member].update(mine[begin:end])
            begin = end
    return given


def sticky(
    members: Sequence[str], partitions: Sequence[str], held: Mapping[str, Collection[str]]
) -> dict[str, set[str]]:
    """CooperativeStickyAssignor and KIP-848's uniform: even shares, and as few moves as that allows."""
    each, more = divmod(len(partitions), len(members))
    given: dict[str, set[str]] = {}
    taken: set[str] = set()
    for member in sorted(members, key=lambda one: -len(held.get(one, ()))):
        before = held.get(member, ())
        mine = [p for p in partitions if p in before and p not in taken]
        share = each + (more > 0 and len(mine) > each)
        more -= share > each
        given[member] = set(mine[:share])
        taken |= given[member]
    free = [p for p in partitions if p not in taken]
    for partition in free:
        poorest = min(members, key=lambda one: len(given[one]))
        given[poorest].add(partition)
    return given
