"""The total cost of several incidents, of one group or of several groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rebalance_forensics.diagnosis.model import Impact, MemberImpact


def summed(impacts: Sequence[Impact], *, of_groups: bool = False) -> Impact:
    """Return the total cost of several incidents of one group, or of one incident each of several groups.

    A total is None if no incident has the figure, and a lower bound if some incidents lack it.
    """
    if len(impacts) == 1 and not of_groups:
        return impacts[0]

    def total(values: Iterable[int | None]) -> int | None:
        known = [value for value in values if value is not None]
        return sum(known) if known else None

    def concerned(values: Iterable[int | None]) -> int | None:
        # A group loses the same members repeatedly, but members of different groups are different.
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
        # The stops of one group follow each other; those of several groups are simultaneous.
        stopped_ms=(max(stops) if of_groups else sum(stops)) if stops else None,
        pause_ms=total(i.pause_ms for i in impacts),
        members=concerned(i.members for i in impacts),
        partitions=concerned(i.partitions for i in impacts),
        rebalances=sum(i.rebalances for i in impacts),
        of_connect=kinds.pop() if len(kinds) == 1 else None,
        by_member=_summed_by_member(impacts, of_groups) if cost is None else None,
    )


def _summed_by_member(impacts: Iterable[Impact], of_groups: bool) -> MemberImpact | None:  # noqa: FBT001 - as summed
    """Return the total cost in member time, which is all that a coordinator's log shows."""
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
