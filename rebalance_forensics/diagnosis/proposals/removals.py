"""Members that somebody else took out of their group."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.advice.deployments import remove_only_the_gone
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.absences import about_absences
from rebalance_forensics.diagnosis.wording.participants import counted_members
from rebalance_forensics.timeline.group_timeline import Timeline


def about_removal(timeline: Timeline, together: Sequence[Absence], *, told: bool) -> Hypothesis:
    """An administrator removed them; those that came back by themselves were running.

    `told` is whether the coordinator says so: their own logs only say that they were members no more.
    """
    back = all(away.back_at is not None for away in together)
    participants = dict.fromkeys(away.participant for away in together)
    who = "{who}" if len(participants) == 1 else counted_members(timeline, participants)
    again = f", which joined again by {'itself' if len(participants) == 1 else 'themselves'}" if back else ""
    narrative = f"An administrator removed {who}{again}."
    if not told:
        narrative = (
            f"{who} were told at the same heartbeat that they are not in the group, though none had lost its "
            "coordinator: an administrator may have removed them."
        )
    return about_absences(
        timeline,
        together,
        severity="warning" if back or not told else "info",
        narrative=narrative,
        advice=remove_only_the_gone(together) if back else (),
    )
