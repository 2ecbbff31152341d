"""What no hypothesis explains: shown as such, never counted as benign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.engine.triggers import Assigned
from rebalance_forensics.diagnosis.engine.weighing import Weighed
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.events.rebalancing import RebalanceStarted
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.follow_ups import REJOINS

UNEXPLAINED = "unexplained"


def left_over(timeline: Timeline, assigned: Assigned) -> Iterator[Weighed]:
    """The rebalances that nothing explains, each with those that only follow up on it."""
    found: list[list[Rebalance]] = []
    for rebalance in timeline.rebalances:
        if rebalance.id in assigned or not rebalance.events or _is_birth(timeline, rebalance):
            continue
        if rebalance.followup and found:
            found[-1].append(rebalance)
        else:
            found.append([rebalance])
    return map(_unexplained, found)


def _is_birth(timeline: Timeline, rebalance: Rebalance) -> bool:
    """The first rebalance needs no cause where the group formed; in logs that begin later it does."""
    return rebalance is timeline.rebalances[0] and (rebalance.generation is None or rebalance.generation <= 1)


def _unexplained(rebalances: Sequence[Rebalance]) -> Weighed:
    """A rebalance whose cause the logs do not show; what was looked for stands in the narrative."""
    first = rebalances[0]
    began = (
        f"Generation {first.generation} followed up on an earlier one ({first.followup})"
        if first.followup
        else f"Generation {first.generation} began{_by_whom(first)}"
    )
    hypothesis = Hypothesis(
        because=tuple(first.events),
        culprits=(),
        severity="info",
        explains=tuple(rebalances),
        narrative=(
            f"{began} and no reason {'for that one ' if first.followup else ''}was logged: no departure, no "
            "arrival, no changed subscription or metadata, no coordinator move and no reason of a client was found."
        ),
    )
    return Weighed(cause=UNEXPLAINED, hypothesis=hypothesis, answers=(), odds=0)


def _by_whom(rebalance: Rebalance) -> str:
    """The coordinator names the member whose JoinGroup began it, if nothing else."""
    opened = (e for e in rebalance.events if isinstance(e, RebalanceStarted))
    first = next((e for e in opened if e.trigger in REJOINS and e.members), None)
    if first is None:
        return ""
    return f" when {'its leader ' if first.trigger == 'leader-rejoined' else ''}{first.members[0]} rejoined,"
