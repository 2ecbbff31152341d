"""An administrator removed members."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import absences
from rebalance_forensics.diagnosis.episodes.members.expulsions import expelled_at_once
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.removals import about_removal
from rebalance_forensics.diagnosis.signs import connections, departures, heartbeats
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import SAME_STEP_MS


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that one request removed; without the coordinator's log, those that were unknown all at once."""
    for together in runs(absences(timeline, ("removed-by-admin",)), lambda a: a.at, SAME_STEP_MS):
        yield about_removal(timeline, together, told=True)
    for together in expelled_at_once(timeline):
        yield about_removal(timeline, together, told=False)


CAUSE = Cause(
    summary="An administrator removed members from the group.",
    mechanism=(
        "Admin.removeMembersFromConsumerGroup sends LeaveGroup for static members, or for all. The group rebalances "
        "without them; one that still runs is told UNKNOWN_MEMBER_ID, loses its partitions and joins as a new member."
    ),
    shows="Leave reason 'member was removed by an admin', or, of a static member, words of the administrator's own.",
    remedy="Remove only static members that do not come back; to restart or scale, stop the processes instead.",
    usual="planned",
    propose=propose,
    signs=(
        speaks_for(departures.removed_by_admin, DECISIVE + WEAK),
        speaks_for(heartbeats.expelled_with_others, STRONG + WEAK),
        speaks_against(connections.disconnects, STRONG),
    ),
    brings=("shutdown", "scale-in", "startup", "scale-out", "static-member-restart"),
    lookalikes=("shutdown", "static-member-fenced", "process-pause"),
    kips=("KIP-345", "KIP-800"),
)
