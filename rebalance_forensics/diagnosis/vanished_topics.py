"""Topics that vanished under members that read them: their commits are refused, and they try again and again.

A rebalance begins with a commit of what was read (ConsumerCoordinator.onJoinPrepare, TaskManager.handleRevocation).
UNKNOWN_TOPIC_OR_PARTITION can be retried, so the member does until a timeout; meanwhile it neither polls nor rejoins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rebalance_forensics.diagnosis.episodes import Away, runs
from rebalance_forensics.events.coordinator import TopicChanged
from rebalance_forensics.events.partitions import OffsetCommitFailed
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.told import time_of

SUSTAINED_MS = 10_000
"""A broker that has just started does not know its partitions for a moment; their members ask it again."""
ONE_TOPIC_MS = 60_000
JUST_MS = 2_000
"""A refused commit is repeated after retry.backoff.ms, at most a second."""


@dataclass(frozen=True, slots=True)
class Vanished:
    """Topics that a group read until they were deleted."""

    refused: list[OffsetCommitFailed]
    deleted: list[TopicChanged]
    topics: tuple[str, ...]
    actors: frozenset[Actor]
    still: bool
    """Whether the logs end before the members let go."""

    @property
    def begin(self) -> int:
        """The first sign of it."""
        return min(time_of(e) for e in (self.refused[0], *self.deleted[:1]))

    @property
    def end(self) -> int:
        """The last commit that was refused."""
        return time_of(self.refused[-1])


def vanished_topics(timeline: Timeline) -> list[Vanished]:
    """Every time that members could not commit for long because their topic was gone."""
    return timeline.once("vanished topics", lambda: list(_vanished_topics(timeline)))


def held_up_by_vanished_topic(timeline: Timeline, away: Away) -> bool:
    """Whether a member was still trying to commit what it had read of a deleted topic when the group lost it."""
    return any(
        away.actor in vanished.actors
        and any(0 <= away.at - time_of(e) <= JUST_MS for e in _refused_of(timeline, away.actor, vanished))
        for vanished in vanished_topics(timeline)
    )


def _vanished_topics(timeline: Timeline) -> Iterator[Vanished]:
    refused = [e for e in timeline.of(OffsetCommitFailed) if e.error == "UNKNOWN_TOPIC_OR_PARTITION" and e.partition]
    for run in runs(refused, time_of, ONE_TOPIC_MS):
        begin, end = time_of(run[0]), time_of(run[-1])
        topics = {_topic(e) for e in run}
        near = timeline.of(TopicChanged).between(begin - ONE_TOPIC_MS, end)
        deleted = [e for e in near if e.change == "deleted" and e.topic in topics]
        if deleted or end - begin >= SUSTAINED_MS:
            actors = {actor for e in run if (actor := timeline.cast.of_speaker(e)) is not None}
            still = timeline.last - end <= JUST_MS
            yield Vanished(run, deleted, tuple(sorted(topics)), frozenset(actors), still)


def _topic(event: OffsetCommitFailed) -> str:
    return (event.partition or "").rpartition("-")[0]


def _refused_of(timeline: Timeline, actor: Actor, vanished: Vanished) -> list[OffsetCommitFailed]:
    theirs = timeline.said_by(actor, OffsetCommitFailed).between(vanished.begin, vanished.end)
    return [e for e in theirs if e.error == "UNKNOWN_TOPIC_OR_PARTITION"]
