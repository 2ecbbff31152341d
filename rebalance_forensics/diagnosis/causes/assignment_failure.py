"""The leader could not assign or deliver."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.rebalances.failed_assignments import assignor_failures, never_assigned
from rebalance_forensics.diagnosis.episodes.rebalances.slow_assignments import slow_assignments
from rebalance_forensics.diagnosis.episodes.topics.unready_topics import never_ready_topics
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals import assignments, topics
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Assignor exceptions at the leader; without its log, generations that never get an assignment."""
    thrown, slow = assignor_failures(timeline), slow_assignments(timeline)
    yield from (assignments.about_exceptions(timeline, run) for run in thrown)
    yield from (assignments.about_slowness(timeline, late) for late in slow)
    undelivered = () if thrown or slow else never_assigned(timeline)
    yield from (assignments.about_undelivered(timeline, waiting) for waiting in undelivered)
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
        speaks_for(assignments.THROWN, DECISIVE + WEAK),
        speaks_for(topics.UNREADY, DECISIVE + WEAK),
        speaks_for(assignments.TOO_SLOW, DECISIVE),
        speaks_for(assignments.NONE_CAME, STRONG),
    ),
    brings=(
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
