"""Join barriers that stood open for long: rebalances that waited for one member."""

from __future__ import annotations

from rebalance_forensics.diagnosis.advice.poll_loops import poll_at_last, poll_during_rebalances
from rebalance_forensics.diagnosis.episodes.rebalances.long_barriers import LongBarrier
from rebalance_forensics.diagnosis.episodes.rebalances.open_barriers import OpenBarrier
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import each_culprit
from rebalance_forensics.diagnosis.wording.durations import lasting
from rebalance_forensics.timeline.group_timeline import Timeline

LONG = stated(
    "long-barrier", present="the join barrier stood open longer than heartbeats and the initial delay explain"
)
LAST = stated("last-to-join", present="one member joined long after the others, or was removed because it did not join")
HEARD = stated("heard-and-did-not-join", present="it was told of the rebalance again and again and did not join")


def about_long_barrier(timeline: Timeline, barrier: LongBarrier) -> Hypothesis:
    """Who joined last, or was removed because it did not join, held up the others."""
    culprits, generation = each_culprit(barrier.last), barrier.rebalance.generation
    open_ms = timeline.measured(barrier.open_ms)
    who, them = ", ".join(c.name for c in culprits) or "A member", "it" if len(culprits) < 2 else "them"
    return Hypothesis(
        because=barrier.lines,
        culprits=culprits,
        answers={LONG: Present(barrier.lines[:2])} | ({LAST: Present(barrier.lines[-2:])} if culprits else {}),
        participants=barrier.last,
        severity="warning",
        onset=barrier.rebalance.started_at,
        explains=(barrier.rebalance,),
        brings=(*barrier.removed, *barrier.began_by),
        narrative=(
            f"{who} held up generation {generation}{lasting(open_ms)}: the others had to wait for {them} to rejoin."
        ),
        advice=poll_during_rebalances(timeline, open_ms),
    )


def about_open_barrier(timeline: Timeline, barrier: OpenBarrier) -> Hypothesis:
    """The logs end before the last one joins: what the others wait for is in its own log."""
    culprits, rebalances = each_culprit(barrier.participants), barrier.rebalances(timeline)
    has = "has" if len(culprits) == 1 else "have"
    open_ms = timeline.measured(barrier.open_ms)
    return Hypothesis(
        because=[*barrier.told[:4], *barrier.waiting[:4], *(e for r in rebalances for e in r.events)],
        culprits=culprits,
        answers={LONG: Present(barrier.waiting[:2]), HEARD: Present(barrier.told[:4])},
        participants=barrier.participants,
        severity="warning",
        onset=barrier.began_at,
        ongoing=True,
        brings=(*rebalances, *barrier.arrivals(timeline)),
        narrative=(
            f"{', '.join(c.name for c in culprits)} {has} known of the rebalance{lasting(open_ms)} "
            f"and {has} not rejoined; the others are still waiting when the logs end."
        ),
        advice=poll_at_last(open_ms),
    )
