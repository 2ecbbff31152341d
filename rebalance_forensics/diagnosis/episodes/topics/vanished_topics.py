"""Topics deleted while members read them: commits are refused and retried.

A rebalance begins with a commit (ConsumerCoordinator.onJoinPrepare, TaskManager.handleRevocation).
UNKNOWN_TOPIC_OR_PARTITION is retriable, so the member retries until a timeout; meanwhile it neither polls nor rejoins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.coordinator import TopicChanged
from rebalance_forensics.events.partitions import OffsetCommitFailed
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import AT_ONCE_MS, HEARTBEAT_MS, NEXT_HEARTBEAT_MS, ONE_REBALANCE_MS

REFUSING = (OffsetCommitFailed,)
"""Evidence of a deleted topic."""


class VanishedTopics(Struct, frozen=True):
    """Topics that a group read until they were deleted."""

    refused: list[OffsetCommitFailed]
    deleted: list[TopicChanged]
    topics: tuple[str, ...]
    refused_by: dict[Participant | None, list[int]]
    """The times of each member's refused commits."""
    ongoing: bool
    """True if the logs end while members still retry."""

    @property
    def begin(self) -> int:
        """The first refused commit, or the deletion."""
        return min(time_of(e) for e in (self.refused[0], *self.deleted[:1]))

    @property
    def end(self) -> int:
        """The last refused commit."""
        return time_of(self.refused[-1])

    @property
    def members(self) -> int:
        """The number of members that could not commit."""
        return sum(participant is not None for participant in self.refused_by)

    def blocked_in_commit(self, absence: Absence) -> bool:
        """True if the member was still retrying a commit when the group lost it."""
        return any(0 <= absence.at - at <= HEARTBEAT_MS for at in self.refused_by.get(absence.participant, ()))

    def retries_throughout(self, participant: Participant, begin: int, end: int) -> bool:
        """True if the member retried commits all that time: it does not rejoin before they end."""
        times = [at for at in self.refused_by.get(participant, ()) if begin <= at <= end]
        return bool(times) and times[0] - begin <= HEARTBEAT_MS and end - times[-1] <= HEARTBEAT_MS

    def covers(self, topics: Collection[str], begin: int, end: int) -> bool:
        """True if these topics, changed in that time, are only the deleted ones."""
        inside = begin >= self.begin - NEXT_HEARTBEAT_MS and end <= self.end
        return inside and set(topics) <= set(self.topics)


def vanished_topics(timeline: Timeline) -> list[VanishedTopics]:
    """Every time members could not commit for long because their topic was deleted."""
    return timeline.cached_as("vanished topics", lambda: list(_vanished_topics(timeline)))


def _vanished_topics(timeline: Timeline) -> Iterator[VanishedTopics]:
    refused = [e for e in timeline.of(OffsetCommitFailed) if e.error == "UNKNOWN_TOPIC_OR_PARTITION" and e.partition]
    for run in runs(refused, time_of, ONE_REBALANCE_MS):
        begin, end = time_of(run[0]), time_of(run[-1])
        topics = {_topic(e) for e in run}
        near = timeline.of(TopicChanged).between(begin - ONE_REBALANCE_MS, end)
        deleted = [e for e in near if e.change == "deleted" and e.topic in topics]
        if deleted or end - begin >= AT_ONCE_MS:
            refused_by: dict[Participant | None, list[int]] = defaultdict(list)
            for event in run:
                refused_by[timeline.participants.of_speaker(event)].append(time_of(event))
            yield VanishedTopics(
                run, deleted, tuple(sorted(topics)), dict(refused_by), timeline.last - end <= HEARTBEAT_MS
            )


def _topic(event: OffsetCommitFailed) -> str:
    return (event.partition or "").rpartition("-")[0]
