"""One member held up the join barrier."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, seconds, setting
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.culprits import culprit_of
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.long_barriers import LongBarrier, allowed_ms, long_barriers
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.open_barriers import OpenBarrier, open_barrier
from rebalance_forensics.diagnosis.setting_spans import all_have_heard_ms
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.signs import barriers
from rebalance_forensics.timeline.group_timeline import Timeline

LONG = stated(
    "long-barrier", present="the join barrier stood open longer than heartbeats and the initial delay explain"
)
LAST = stated("last-to-join", present="one member joined long after the others, or was removed because it did not join")
HEARD = stated("heard-and-did-not-join", present="it was told of the rebalance again and again and did not join")
_POLL = "Find what keeps that member from calling poll() while a rebalance runs."


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every join barrier that stood open longer than heartbeats and the initial delay explain."""
    if timeline.protocol not in ("classic", "unknown"):
        return
    for barrier in long_barriers(timeline):
        yield _held_up(timeline, barrier)
    still = open_barrier(timeline)
    if still is not None and still.open_ms > allowed_ms(timeline):
        yield _still_open(timeline, still)


def _held_up(timeline: Timeline, barrier: LongBarrier) -> Hypothesis:
    culprits = tuple(sorted({culprit_of(a) for a in barrier.last}, key=lambda c: c.name))
    who = ", ".join(c.name for c in culprits) or "A member"
    long = seconds(barrier.open_ms)
    return Hypothesis(
        because=distinct_events(barrier.lines),
        culprits=culprits,
        answers={LONG: Present(barrier.lines[:2])} | ({LAST: Present(barrier.lines[-2:])} if culprits else {}),
        actors=barrier.last,
        severity="warning",
        onset=barrier.rebalance.started_at,
        explains=(barrier.rebalance,),
        brings=(*barrier.removed, *barrier.began_by),
        narrative=f"{who} held up the join barrier of generation {barrier.rebalance.generation} for {long}.",
        advice=(
            Advice(action=_POLL, why=f"The whole group waited {long} for it."),
            _lower_the_limit(timeline, long),
        ),
    )


def _lower_the_limit(timeline: Timeline, long: str) -> Advice:
    limit = setting(timeline, "max.poll.interval.ms", 0)
    known = f" ({limit} ms)" if limit else ""
    return Advice(
        action="Lower max.poll.interval.ms: it bounds how long a rebalance waits (rebalance timeout).",
        why=f"The coordinator drops a member that has not rejoined within it{known}; it was open for {long}.",
        cost="Loops that take longer than the new value are then expelled, healthy ones too.",
    )


def _still_open(timeline: Timeline, barrier: OpenBarrier) -> Hypothesis:
    """The logs end before the last one joins: what the others wait for is in its own log."""
    begin = barrier.began_at - all_have_heard_ms(timeline)
    rebalances = [r for r in timeline.rebalances.since(begin) if r.stabilized_at is None and r.completed_at is None]
    culprits = tuple(sorted({culprit_of(a) for a in barrier.actors}, key=lambda c: c.name))
    return Hypothesis(
        because=distinct_events([*barrier.told[:4], *barrier.waiting[:4], *(e for r in rebalances for e in r.events)]),
        culprits=culprits,
        answers={LONG: Present(barrier.waiting[:2]), HEARD: Present(barrier.told[:4])},
        actors=barrier.actors,
        severity="warning",
        onset=barrier.began_at,
        ongoing=True,
        brings=(*rebalances, *timeline.arrivals.since(begin)),
        narrative=(
            f"{', '.join(c.name for c in culprits)} has been told for {seconds(barrier.open_ms)} that the group "
            f"rebalances and has not joined; the others wait, and the logs end."
        ),
        advice=(
            Advice(
                action=_POLL,
                why=f"Its heartbeats went on for {seconds(barrier.open_ms)} while the whole group waited for it.",
            ),
        ),
    )


CAUSE = Cause(
    summary="One member held up the join barrier; the whole group waited for it.",
    mechanism=(
        "The coordinator creates a generation only when every known member has sent JoinGroup, or when "
        "the rebalance timeout (max.poll.interval.ms) is over. Under eager rebalancing nobody reads "
        "meanwhile."
    ),
    shows=(
        "A long time between 'Preparing to rebalance' and 'Stabilized'; the last to rejoin, or 'removed … "
        "who haven't joined'."
    ),
    remedy="Make that member poll: a rebalance is only as fast as its slowest member.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(LONG, STRONG),
        speaks_for(LAST, STRONG),
        speaks_for(HEARD, STRONG),
        speaks_against(barriers.session_expiry_ended_it, DECISIVE),
        speaks_against(barriers.member_lost_meanwhile, DECISIVE - WEAK),
        speaks_against(barriers.coordinator_out_of_reach, DECISIVE),
    ),
    brings=("scale-out", "subscription-change", "unstable-leader"),
    lookalikes=("coordinator-failover",),
    settings=("max.poll.interval.ms", "heartbeat.interval.ms", "group.initial.rebalance.delay.ms", "group.protocol"),
    kips=("KIP-62", "KIP-848"),
)
