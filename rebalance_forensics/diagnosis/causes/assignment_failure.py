"""The leader could not assign partitions, or could not deliver the assignment.

What happened is put forward in four ways: exceptions of the assignor in the leader's log (THROWN); assignments that
took longer than the leader's session (TOO_SLOW); without either, generations that never got an assignment (NONE_CAME);
topics whose metadata was never complete (proposals/topics.py). Each explains the rebalances that started over; the
advice is to fix or replace the assignor, or to make it faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.advice.assignors import fix_assignor, speed_up_assignor
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.rebalances.failed_assignments import (
    UndeliveredAssignments,
    assignor_failures,
    effects_of_exceptions,
    effects_of_waiting,
    failure_text,
    is_ongoing,
    leaders_in,
    never_assigned,
    trace_and_rebalance,
)
from rebalance_forensics.diagnosis.episodes.rebalances.slow_assignments import (
    SlowAssignment,
    effects_of_slowness,
    slow_assignments,
)
from rebalance_forensics.diagnosis.episodes.topics.unready_topics import never_ready_topics
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals import topics
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.diagnosis.wording.durations import how_often, occurrences, seconds, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline

THROWN = stated("assignor-threw", present="the leader logged what its assignor threw")
NONE_CAME = stated("no-assignment-came", present="the coordinator created generations and received no assignment")
TOO_SLOW = stated("assigned-too-late", present="the leader assigned for longer than its session lasts")
STILL_WAITS = (
    "The last generation got no assignment, and the group is waiting for one: its leader could not assign partitions, "
    "or could not deliver the assignment."
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Failed and late assignments; without them, generations that never got one; topics that were never ready."""
    thrown, slow = assignor_failures(timeline), slow_assignments(timeline)
    yield from (about_exceptions(timeline, run) for run in thrown)
    yield from (about_slowness(timeline, late) for late in slow)
    undelivered = () if thrown or slow else never_assigned(timeline)
    yield from (about_undelivered(timeline, waiting) for waiting in undelivered)
    yield from (topics.about_unready_topics(timeline, unready) for unready in never_ready_topics(timeline))


CAUSE = Cause(
    summary="The leader could not assign, or its assignment never arrived.",
    mechanism=(
        "The leader computes the assignment between JoinGroup and SyncGroup. When its assignor throws, no"
        " SyncGroup is sent: the members wait, the leader rejoins and the rebalance starts over."
    ),
    shows=(
        "'rebalance failed due to …' with an exception that is not Kafka's, generations that never become"
        " Stable; expired pending syncs."
    ),
    remedy="Fix the exception in the leader's log, or remove the assignor from all members.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(THROWN, DECISIVE + WEAK),
        speaks_for(topics.UNREADY, DECISIVE + WEAK),
        speaks_for(TOO_SLOW, DECISIVE),
        speaks_for(NONE_CAME, STRONG),
    ),
    implies=(
        "process-pause",
        "network-partition",
        "process-crash",
        "rebalance-straggler",
        "unstable-leader",
        "enforced-rebalance",
        "slow-processing",
        "member-left",
        "scale-out",
        "topic-metadata-change",
    ),
    settings=("partition.assignment.strategy", "group.protocol"),
    kips=("KIP-848",),
)


def about_exceptions(timeline: Timeline, run: list[Event]) -> Hypothesis:
    """Exceptions of the leader's assignor, once or again and again."""
    leaders, stopped = leaders_in(timeline, run), is_ongoing(timeline, time_of(run[-1]))
    who = ", ".join(c.name for c in culprits_of(timeline, leaders)) or "The leader"
    words = failure_text(run[0])
    return Hypothesis(
        because=run,
        circumstances=trace_and_rebalance(timeline, run),
        culprits=culprits_of(timeline, leaders[:2]),
        answers={THROWN: Present(tuple(run))},
        severity="critical" if len(run) > 2 or stopped else "warning",
        onset=time_of(run[0]),
        ongoing=stopped,
        implies=effects_of_exceptions(timeline, run, leaders),
        narrative=f"{who} could not assign partitions ({times(occurrences(run))}): {words.rstrip('. ')}.",
        advice=fix_assignor(timeline, f"It failed {how_often(run)}."),
    )


def about_slowness(timeline: Timeline, late: Sequence[SlowAssignment]) -> Hypothesis:
    """Assignments that took longer than the leader's session."""
    # AbstractCoordinator holds its lock while the leader assigns, and the heartbeat thread waits for that lock.
    took_ms = timeline.measured(max(s.took_ms for s in late))
    culprits = culprits_of(timeline, [s.leader for s in late])
    shown = tuple(e for s in late for e in s.lines)
    return Hypothesis(
        because=shown,
        culprits=culprits,
        answers={TOO_SLOW: Present(shown)},
        severity="critical" if len(late) > 2 else "warning",
        onset=time_of(late[0].joined),
        explains=tuple(d for s in late for d in s.lost),
        implies=effects_of_slowness(timeline, late),
        narrative=(
            f"{', '.join(c.name for c in culprits)} led the group and took "
            f"{'too long' if took_ms is None else f'up to {seconds(took_ms)}'} to assign: "
            "its session expired before it could deliver the assignment."
        ),
        advice=speed_up_assignor(took_ms),
    )


def about_undelivered(timeline: Timeline, undelivered: UndeliveredAssignments) -> Hypothesis:
    """Generations without an assignment; no log gives the reason."""
    lines, number, stopped = undelivered.lines, undelivered.generations, is_ongoing(timeline, undelivered.end)
    last = number <= 2 and stopped
    in_a_row = (
        f"{number} generations in a row got no assignment: the leader could not assign partitions, or could not "
        "deliver them."
    )
    return Hypothesis(
        because=lines,
        culprits=culprits_of(timeline, undelivered.leaders[:2]),
        answers={NONE_CAME: Present(lines)},
        severity="critical" if number > 2 or stopped else "warning",
        onset=undelivered.begin,
        ongoing=stopped,
        implies=effects_of_waiting(timeline, undelivered, last=last),
        narrative=STILL_WAITS if last else in_a_row,
        advice=fix_assignor(timeline, f"No assignment arrived: {times(1 if last else number)}{span(lines)}."),
    )
