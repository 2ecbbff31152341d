"""An administrator removed members."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.deployments import remove_only_the_gone
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import absences
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.absences import about_absences
from rebalance_forensics.diagnosis.signs import departures
from rebalance_forensics.diagnosis.wording.participants import counted_members
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import SAME_STEP_MS


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that one request removed; those that come back by themselves were running."""
    removed = absences(timeline, ("removed-by-admin",))
    for together in runs(removed, lambda a: a.at, SAME_STEP_MS):
        back = all(a.back_at is not None for a in together)
        participants = dict.fromkeys(a.participant for a in together)
        who = "{who}" if len(participants) == 1 else counted_members(timeline, participants)
        again = f", which joined again by {'itself' if len(participants) == 1 else 'themselves'}" if back else ""
        yield about_absences(
            timeline,
            together,
            severity="warning" if back else "info",
            narrative=f"An administrator removed {who}{again}.",
            advice=remove_only_the_gone(together) if back else (),
        )


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
    signs=(speaks_for(departures.removed_by_admin, DECISIVE + WEAK),),
    brings=("shutdown", "scale-in", "startup", "scale-out", "process-pause", "static-member-restart"),
    lookalikes=("shutdown", "static-member-fenced"),
    kips=("KIP-345", "KIP-800"),
)
