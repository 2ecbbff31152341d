"""Join barriers that stood open for long: rebalances that waited for one member."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.poll_loops import (
    allow_slower_rejoins,
    poll_at_last,
    poll_during_rebalances,
)
from rebalance_forensics.diagnosis.episodes.rebalances.hearings import Hearing
from rebalance_forensics.diagnosis.episodes.rebalances.late_joins import late_joins
from rebalance_forensics.diagnosis.episodes.rebalances.long_barriers import (
    LongBarrier,
    allowed_ms,
    long_barriers,
)
from rebalance_forensics.diagnosis.episodes.rebalances.open_barriers import OpenBarrier, open_barrier
from rebalance_forensics.diagnosis.episodes.rebalances.rebalance_timeouts import RebalanceTimeouts, rebalance_timeouts
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, stated
from rebalance_forensics.diagnosis.wording.culprits import each_culprit
from rebalance_forensics.diagnosis.wording.durations import counted, lasting, span, times
from rebalance_forensics.events.rebalances import JoinStarted, JoinSucceeded, RebalanceStarted
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline

LONG = stated(
    "long-barrier", present="the join barrier stood open longer than heartbeats and the initial delay explain"
)
LAST = stated("last-to-join", present="one member joined long after the others, or was removed because it did not join")
REMOVED = stated(
    "removed-at-rebalance-timeout",
    present="the coordinator removed it because it did not take part in the rebalance before the timeout",
)
REMOVED_AGAIN = stated(
    "removed-at-every-rebalance-timeout", present="rebalance after rebalance it was removed at the rebalance timeout"
)
HEARD = stated("heard-and-did-not-join", present="it was told of the rebalance again and again and did not join")

WAITED_ALONE = stated("only-newcomer-heard", present="only a newcomer's log shows how long it waited to be let in")


def about_barriers(timeline: Timeline) -> Iterator[Hypothesis]:
    """Those that ended, the late joins that a member's own log alone shows, and the one that stands open at the end.

    What a rebalance timeout ended once is part of the long barrier, if it was long; what it ended again and again is a
    timeout shorter than the members need.
    """
    barriers = list(long_barriers(timeline))
    told = {departure.id for barrier in barriers for departure in barrier.removed}
    missed = [
        m for m in rebalance_timeouts(timeline) if len(m.found) > 1 or not told.issuperset(d.id for d in m.departures)
    ]
    repeated = {r.id for m in missed for r in m.rebalances}
    barriers = [b for b in barriers if b.rebalance.id not in repeated]
    yield from (about_rebalance_timeouts(timeline, m) for m in missed)
    yield from (about_long_barrier(timeline, barrier) for barrier in barriers)
    yield from (about_late_join(timeline, late) for late in late_joins(timeline, barriers))
    still = open_barrier(timeline)
    if still is not None and still.open_ms > allowed_ms(timeline):
        yield about_open_barrier(timeline, still)


def about_long_barrier(timeline: Timeline, barrier: LongBarrier) -> Hypothesis:
    """Who joined last, or was removed because it did not join, held up the others."""
    culprits, generation = each_culprit(barrier.last), barrier.rebalance.generation
    open_ms = timeline.measured(barrier.open_ms)
    who, them = ", ".join(c.name for c in culprits) or "A member", "it" if len(culprits) < 2 else "them"
    return Hypothesis(
        because=barrier.lines,
        culprits=culprits,
        answers={LONG: Present(barrier.lines[:2])} | _who_tells(barrier),
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


def _who_tells(barrier: LongBarrier) -> dict[Sign, Answer]:
    """Who came last; or that nobody but a newcomer is heard, which may have come with others into an empty group."""
    if barrier.last:
        return {LAST: Present(barrier.lines[-2:])}
    alone = all(isinstance(e, JoinStarted | JoinSucceeded) for e in barrier.lines)
    return {WAITED_ALONE: Present(barrier.lines[:2])} if alone else {}


def about_rebalance_timeouts(timeline: Timeline, missed: RebalanceTimeouts) -> Hypothesis:
    """Members that the coordinator removed at the rebalance timeout, once or again and again."""
    culprits, lines = each_culprit(missed.participants), [one.line for one in missed.found]
    opened = [e for r in missed.rebalances for e in r.events if isinstance(e, RebalanceStarted)]
    returns, timeout_ms = missed.returns(timeline), missed.timeout_ms(timeline)
    timeout_ms = None if timeout_ms is None else timeline.measured(timeout_ms)
    return Hypothesis(
        because=[*lines[:2], *opened[:2], *lines[2:], *(e for back in returns for e in back.events[:1]), *opened[2:]],
        culprits=culprits,
        answers={REMOVED: Present(tuple(lines[:4]))}
        | ({REMOVED_AGAIN: Present(tuple(lines[:4]))} if len(lines) > 1 else {}),
        participants=missed.participants,
        severity="warning",
        onset=min([*(r.started_at for r in missed.rebalances), time_of(lines[0])]),
        explains=(*missed.departures, *missed.rebalances),
        brings=tuple(returns),
        narrative=_timeouts_in_words(timeline, missed, ", ".join(c.name for c in culprits), timeout_ms),
        advice=(
            allow_slower_rejoins(timeline, timeout_ms, missed.needed_ms(timeline))
            if len(lines) > 1
            else poll_during_rebalances(timeline, timeout_ms)
        ),
    )


def _timeouts_in_words(timeline: Timeline, missed: RebalanceTimeouts, who: str, timeout_ms: int | None) -> str:
    """What the members failed to do in time: to rejoin, or under KIP-848 to give up partitions."""
    revoking = missed.found[0].line.why == "revocation-timeout"
    timeout = f"before the rebalance timeout{lasting(timeout_ms, ' ({})')} expired"
    if len(missed.found) == 1:
        was, them = ("was", "it") if len(missed.participants) == 1 else ("were", "them")
        waits = "" if revoking else f": the others in the group had to wait for {them} until then"
        late = "giving up partitions" if revoking else "rejoining"
        return f"{who} {was} removed from the group for not {late} {timeout}{waits}."
    lines = [one.line for one in missed.found]
    removed = counted(len(missed.departures), "member")
    back = "; they came back as new members" if missed.returns(timeline) else ""
    late = "give up partitions" if revoking else "rejoin"
    return f"{who} did not {late} {timeout}, {times(len(lines))}{span(lines)}: {removed} removed{back}."


def about_late_join(timeline: Timeline, late: Hearing) -> Hypothesis:
    """Its own log shows how long it let a rebalance wait; whoever else was in the group waited for it."""
    culprits, rebalances = each_culprit((late.participant,)), late.joined(timeline)
    lasted_ms = timeline.measured(late.lasted_ms)
    joined = (late.ended_by,) if late.ended_by else ()
    return Hypothesis(
        because=[*late.told[:4], late.told[-1], *joined],
        culprits=culprits,
        answers={LONG: Present((late.told[0], *joined)), HEARD: Present(late.told[:4])},
        participants=(late.participant,),
        severity="warning",
        onset=late.began_at,
        explains=tuple(rebalances),
        narrative=(
            f"{culprits[0].name} knew of the rebalance{lasting(lasted_ms)} before it rejoined; "
            "until then the group had to wait for it."
        ),
        advice=poll_during_rebalances(timeline, lasted_ms),
    )


def about_open_barrier(timeline: Timeline, barrier: OpenBarrier) -> Hypothesis:
    """The logs end before the last one joins: what the others wait for is in its own log."""
    culprits, rebalances = each_culprit(barrier.participants), barrier.rebalances(timeline)
    has = "has" if len(culprits) == 1 else "have"
    wait = "a rebalance waits for every member" if barrier.is_one else "but picked lines may leave out that it did"
    wait = "the others are still waiting when the logs end" if barrier.waiting else wait
    open_ms = timeline.measured(barrier.open_ms)
    heard = {HEARD: Present(barrier.told[:4])}
    return Hypothesis(
        because=[*barrier.told[:4], *barrier.waiting[:4], *(e for r in rebalances for e in r.events)],
        culprits=culprits,
        answers=heard | ({LONG: Present(barrier.waiting[:2] or barrier.told[-1:])} if barrier.is_one else {}),
        participants=barrier.participants,
        severity="warning",
        onset=barrier.began_at,
        ongoing=True,
        brings=(*rebalances, *barrier.arrivals(timeline)),
        narrative=(
            f"{', '.join(c.name for c in culprits)} {has} known of the rebalance{lasting(open_ms)} "
            f"and {has} not rejoined; {wait}."
        ),
        advice=poll_at_last(open_ms),
    )
