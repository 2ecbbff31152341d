"""Evidence of membership in an excerpt, where members that no line shows may have been in the group."""

from __future__ import annotations

from rebalance_forensics.events.epochs import GroupEpochBumped, MemberTransitioned
from rebalance_forensics.events.membership import MemberIdIssued, MemberJoined
from rebalance_forensics.events.rebalances import (
    AssignmentComputed,
    GenerationStabilized,
    GroupEmptied,
    JoinSucceeded,
    RebalanceStarted,
)
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import AT_ONCE_MS

# The first group epoch of the newer protocols from 4.3 on; before, it is 1.
FIRST_EPOCH = 2


def joins_empty_group(timeline: Timeline, begin: int, until: int) -> bool:
    """True if a line shows that the group was empty when a member joined."""
    if timeline.of(GroupEmptied).last(until) is not None:
        return True
    since = begin - AT_ONCE_MS
    if any(e.generation == 0 for e in timeline.of(RebalanceStarted).between(since, until)):
        return True
    first = (GenerationStabilized, JoinSucceeded, AssignmentComputed)
    if any(getattr(e, "generation", None) == 1 for e in timeline.of(*first).between(since, until)):
        return True
    if any(
        0 < (getattr(e, "epoch", None) or 0) <= FIRST_EPOCH
        for e in timeline.of(GroupEpochBumped, MemberTransitioned).between(since, until)
    ):
        return True
    states = [e.state for e in timeline.of(MemberIdIssued).between(begin, until)]
    states += [e.state for e in timeline.of(MemberJoined).between(begin, until)]
    return "Empty" in states or "Dead" in states


def states_full_membership(timeline: Timeline, begin: int, until: int, departed: int) -> bool:
    """True if a line shows that these were all members: an empty group afterwards, or a count before."""
    if timeline.of(GroupEmptied).any_between(begin, until):
        return True
    counted = timeline.membership.counts.last(begin)
    return counted is not None and 0 < counted.members <= departed


def joins_stable_group(timeline: Timeline, at: int) -> bool:
    """True if the coordinator gives a newcomer an id in a group state that needs members."""
    # GroupCoordinator logs the group's true state there (KIP-394).
    issued = timeline.of(MemberIdIssued).first(at - AT_ONCE_MS)
    return issued is not None and time_of(issued) <= at and issued.state in ("Stable", "CompletingRebalance")
