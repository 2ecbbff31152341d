"""An administrator removed members (Admin.removeMembersFromConsumerGroup, KIP-345, KIP-800)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import absences
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import expelled_at_once
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.proposals import about_absences
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, speaks_against, speaks_for
from rebalance_forensics.diagnosis.signs import connections, departures, heartbeats
from rebalance_forensics.diagnosis.wording.culprits import counted_members
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import TICK_MS


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members removed by one request; without the coordinator's log, members that lost their membership at once."""
    logged = runs(absences(timeline, ("removed-by-admin",)), lambda a: a.at, TICK_MS)
    # Members' logs show only that they were no longer in the group.
    for together, is_logged in (
        *((run, True) for run in logged),
        *((run, False) for run in expelled_at_once(timeline)),
    ):
        back = all(away.back_at is not None for away in together)
        participants = dict.fromkeys(away.participant for away in together)
        who = "{who}" if len(participants) == 1 else counted_members(timeline, participants)
        rejoined = "it rejoined on its own" if len(participants) == 1 else "all of them rejoined on their own"
        again = f"; {rejoined}" if back else ""
        narrative = f"An administrator removed {who}{again}."
        if not is_logged:
            narrative = (
                f"{who} learned within one heartbeat interval that they are not in the group, though none had lost its "
                "coordinator: an administrator may have removed them."
            )
        find = Advice(
            action=(
                "Find out who calls Admin.removeMembersFromConsumerGroup: a cleanup job, an operator, a script. It may "
                "only remove static members that will not come back."
            ),
            why=(
                "A member that is removed while it runs loses its partitions until the group has rebalanced"
                f"{f'; {len(together)} rejoined' if back else ''}."
            ),
        )
        yield about_absences(
            timeline,
            together,
            severity="warning" if back or not is_logged else "info",
            narrative=narrative,
            advice=(find,) if back else (),
        )


CAUSE = Cause(
    propose=propose,
    signs=(
        speaks_for(departures.removed_by_admin, DECISIVE + WEAK),
        speaks_for(heartbeats.expelled_with_others, STRONG + WEAK),
        speaks_against(connections.disconnects, STRONG),
    ),
    implies=("shutdown", "scale-in", "startup", "scale-out", "static-member-restart"),
    lookalikes=("shutdown", "static-member-fenced", "process-pause"),
    silence="fenced",
)
