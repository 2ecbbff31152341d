"""Topics of a group that were deleted, are missing or do not fit a Streams topology.

Commits for a deleted topic fail and are retried. A rebalance begins with a commit (ConsumerCoordinator.onJoinPrepare,
TaskManager.handleRevocation). UNKNOWN_TOPIC_OR_PARTITION is retriable, so the member retries until a timeout;
meanwhile, it neither polls nor rejoins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import windows
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline, listed_once
from rebalance_forensics.timeline.identity.names import topic_of
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.timeouts import OFFSETS_WRITE, setting_ms

# Evidence of a deleted topic.
REFUSING = (ev.OffsetCommitFailed,)
# Evidence of members waiting for topics.
WAITING = (ev.StreamsStatusReported, ev.SourceTopicsMissing)


class VanishedTopics(Struct, frozen=True):
    """Topics that a group read until they were deleted."""

    refused: list[ev.OffsetCommitFailed]
    deleted: list[ev.TopicChanged]
    topics: tuple[str, ...]
    refused_by: dict[Participant | None, list[int]]
    """The times of each member's refused commits."""
    ongoing: bool
    """True if the logs end while members still retry."""

    @property
    def begin(self) -> int:
        """Time of the first failed commit, or of the deletion if that is earlier."""
        return min(time_of(e) for e in (self.refused[0], *self.deleted[:1]))

    @property
    def end(self) -> int:
        """Time of the last failed commit."""
        return time_of(self.refused[-1])

    @property
    def is_certain(self) -> bool:
        """True if brokers logged the deletion, or commits failed for longer than a broker takes to learn of a topic."""
        return bool(self.deleted) or self.end - self.begin >= windows.AT_ONCE_MS

    @property
    def members(self) -> int:
        """The number of members that could not commit."""
        return sum(participant is not None for participant in self.refused_by)

    def blocked_in_commit(self, absence: Absence) -> bool:
        """True if the member was still retrying a commit when the group lost it."""
        return any(0 <= absence.at - at <= windows.HEARTBEAT_MS for at in self.refused_by.get(absence.participant, ()))

    def retries_throughout(self, participant: Participant, begin: int, end: int) -> bool:
        """True if the member retried commits all that time; it cannot rejoin until they end."""
        times = [at for at in self.refused_by.get(participant, ()) if begin <= at <= end]
        return bool(times) and times[0] - begin <= windows.HEARTBEAT_MS and end - times[-1] <= windows.HEARTBEAT_MS

    def covers(self, topics: Collection[str], begin: int, end: int) -> bool:
        """True if these topics changed during this time and all of them are among the deleted topics."""
        inside = begin >= self.begin - windows.NEXT_HEARTBEAT_MS and end <= self.end
        return inside and set(topics) <= set(self.topics)


@listed_once
def vanished_topics(timeline: Timeline) -> Iterator[VanishedTopics]:
    """Each time members could not commit because their topic was deleted, for long or until their log ends."""
    refused = [e for e in timeline.of(ev.OffsetCommitFailed) if e.error == "UNKNOWN_TOPIC_OR_PARTITION" and e.partition]
    for run in runs(refused, time_of, windows.ONE_REBALANCE_MS):
        begin, end = time_of(run[0]), time_of(run[-1])
        topics = {topic_of(e.partition or "") for e in run}
        near = timeline.of(ev.TopicChanged).between(begin - windows.ONE_REBALANCE_MS, end)
        deleted = [e for e in near if e.change == "deleted" and e.topic in topics]
        ongoing = timeline.last - end <= windows.HEARTBEAT_MS
        by_member = grouped(run, timeline.participants.of_speaker).items()
        refused_by = {member: [time_of(e) for e in lines] for member, lines in by_member}
        vanished = VanishedTopics(run, deleted, tuple(sorted(topics)), refused_by, ongoing)
        # A broker that has just started may not know its topics yet; if the log continues, it learned of this topic.
        if vanished.is_certain or ongoing:
            yield vanished


class UnreadyTopics(Struct, frozen=True):
    """The reports while members waited for topics, and the topics that they name."""

    reports: list[Event]
    topics: tuple[str, ...]
    missing: bool
    deleted: bool
    """True if they are missing and the group had tasks before: it read them until they were deleted."""
    end: int
    """Time of the last report, or until when the coordinator, which reports them once, found them missing."""

    @property
    def begin(self) -> int:
        """Time of the first report."""
        return time_of(self.reports[0])


def rebalances_without_topics(timeline: Timeline, unready: UnreadyTopics) -> tuple[Fact, ...]:
    """The rebalances while topics are missing or do not fit, and the joins and departures at the end."""
    rebalances = timeline.rebalances.between(unready.begin - setting_ms(timeline, OFFSETS_WRITE), unready.end)
    return (*rebalances, *timeline.moves(unready.end - windows.ROUND_TRIP_MS, unready.end + windows.AT_ONCE_MS))


@listed_once
def unready_topics(timeline: Timeline) -> Iterator[UnreadyTopics]:
    """Every long wait for topics that did not end in an application error."""
    # KIP-1071: the coordinator checks the topology and, since 4.1, reports the problem to each member in its heartbeat
    # response (StreamsGroupHeartbeatResponse.Status). In the classic protocol, the leader checks the topics.
    reports = [e for e in timeline.of(ev.StreamsStatusReported, ev.SourceTopicsMissing) if _topics(e)]
    for run in runs(reports, time_of, windows.ONE_REBALANCE_MS):
        begin, last = time_of(run[0]), time_of(run[-1])
        missing = any(not isinstance(e, ev.StreamsStatusReported) or e.missing_topics for e in run)
        # Missing topics that end the application are the cause `streams-shutdown`.
        ends = timeline.of(ev.StreamsStateChanged).between(
            last - windows.ROUND_TRIP_MS, last + windows.ONE_REBALANCE_MS
        )
        failed = any(e.after in ("PENDING_ERROR", "ERROR") for e in ends)
        end = last if any(e.speaker.role != "broker" for e in run) else _found_again(timeline, last)
        if not missing or (end - begin >= windows.AT_ONCE_MS and not failed):
            topics = sorted({topic for e in run for topic in _topics(e)})
            yield UnreadyTopics(run, tuple(topics), missing, missing and _were_there(timeline, begin), end)


def _topics(report: Event) -> tuple[str, ...]:
    if isinstance(report, ev.StreamsStatusReported):
        return report.missing_topics or report.misfit_topics
    # In the classic protocol, the leader logs them.
    if not isinstance(report, ev.SourceTopicsMissing) or report.speaker.role != "broker" or report.internal:
        return ()
    return report.topics if report.group else ()


def _were_there(timeline: Timeline, at: int) -> bool:
    # A task needs all source topics of its subtopology.
    checked = timeline.of(ev.StreamsStatusReported).between(0, at - 1)
    return _had_tasks(timeline, at) or any(e.topology == "complete" and e.group for e in checked)


def _had_tasks(timeline: Timeline, before: int) -> bool:
    return any(e.active for e in timeline.of(ev.TasksAssigned).between(0, before - 1))


def _found_again(timeline: Timeline, since: int) -> int:
    checked = timeline.of(ev.StreamsStatusReported).onwards(since)
    return next((time_of(e) for e in checked if e.topology == "complete"), timeline.last)


class LostInternalTopics(Struct, frozen=True):
    """Changelog and repartition topics of a running streams group that were deleted, and the lines that show it."""

    topics: tuple[str, ...]
    deleted: tuple[ev.TopicChanged, ...]
    reports: tuple[Event, ...]
    restored: Event | None
    """The line that shows them created again: of the coordinator, or of a member that gets tasks again."""


@listed_once
def lost_internal_topics(timeline: Timeline) -> Iterator[LostInternalTopics]:
    """Every time the coordinator of a running streams group (KIP-1071) missed internal topics."""
    reports = [e for e in timeline.of(ev.SourceTopicsMissing, ev.StreamsStatusReported) if _internal(timeline, e)]
    for run in runs(reports, time_of, windows.ONE_REBALANCE_MS):
        begin, topics = time_of(run[0]), {topic for e in run for topic in _internal(timeline, e)}
        near = timeline.of(ev.TopicChanged).between(begin - windows.ONE_REBALANCE_MS, begin)
        deleted = tuple(e for e in near if e.change == "deleted" and e.topic in topics)
        # An application that starts for the first time, or after a reset, creates them.
        running = timeline.membership.number_at(begin - windows.NEXT_HEARTBEAT_MS) > 0
        if running and (deleted or _had_tasks(timeline, begin)):
            yield LostInternalTopics(tuple(sorted(topics)), deleted, tuple(run), _restored(timeline, run))


def _internal(timeline: Timeline, report: Event) -> tuple[str, ...]:
    if isinstance(report, ev.StreamsStatusReported):
        return report.internal_topics
    topics = report.topics if isinstance(report, ev.SourceTopicsMissing) and report.internal else ()
    # 4.1 logs no group, but internal topics are named after the application, and so is its group.
    return topics if report.group else tuple(topic for topic in topics if topic.startswith(f"{timeline.group}-"))


def _restored(timeline: Timeline, reports: list[Event]) -> Event | None:
    # Until the topics exist, the coordinator assigns no task.
    members = {timeline.participants.of_speaker(e) for e in reports if e.speaker.role != "broker"}
    after = timeline.of(ev.StreamsStatusReported, ev.TasksAssigned).onwards(time_of(reports[0]) + 1)
    return next(
        (
            e
            for e in after
            if (isinstance(e, ev.StreamsStatusReported) and e.topology == "complete")
            or (isinstance(e, ev.TasksAssigned) and e.active and timeline.participants.of_speaker(e) in members)
        ),
        None,
    )
