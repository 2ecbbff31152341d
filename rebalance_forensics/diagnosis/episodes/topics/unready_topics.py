"""KIP-1071 Streams groups without tasks because topics of their topology are missing or do not fit.

The coordinator checks the topology; from 4.1 on it reports the problem to each member in its heartbeat response
(StreamsGroupHeartbeatResponse.Status). Before, and in the classic protocol, the leader finds out by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.streams import StreamsStateChanged, StreamsStatusReported, TasksAssigned
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import OFFSETS_WRITE, setting_ms
from rebalance_forensics.timeline.windows import AT_ONCE_MS, ONE_REBALANCE_MS, ROUND_TRIP_MS

_MISSING = re.compile(r"\(1\) Source topics? ([^()]+?) (?:are|is) missing")
_UNFIT = re.compile(r"\(2\) [^(]*?\btopics? ([\w.-]+)")


WAITING = (StreamsStatusReported,)
"""Evidence of members waiting for topics."""


class UnreadyTopics(Struct, frozen=True):
    """The status reports while members waited, and the topics these are about."""

    reports: list[StreamsStatusReported]
    topics: tuple[str, ...]
    missing: bool
    read_before: bool
    """True if the group had tasks before: the topics were deleted."""

    @property
    def begin(self) -> int:
        """The first report."""
        return time_of(self.reports[0])

    @property
    def end(self) -> int:
        """The last report."""
        return time_of(self.reports[-1])


def never_ready_topics(timeline: Timeline) -> list[UnreadyTopics]:
    """Waits for topics that the application had not read before, or that do not fit its topology."""
    return [u for u in unready_topics(timeline) if not (u.missing and u.read_before)]


def deleted_source_topics(timeline: Timeline) -> list[UnreadyTopics]:
    """Waits for topics that the application read until they were deleted."""
    return [u for u in unready_topics(timeline) if u.missing and u.read_before]


def unready_topics(timeline: Timeline) -> list[UnreadyTopics]:
    """Every long wait for topics that did not end in an application error."""
    return timeline.cached_as("unready topics", lambda: list(_unready_topics(timeline)))


def rebalances_without_topics(timeline: Timeline, unready: UnreadyTopics) -> tuple[Fact, ...]:
    """The rebalances while topics are missing or do not fit, and the members' moves at the end."""
    rebalances = timeline.rebalances.between(unready.begin - setting_ms(timeline, OFFSETS_WRITE), unready.end)
    return (*rebalances, *timeline.moves(unready.end - ROUND_TRIP_MS, unready.end + AT_ONCE_MS))


def _unready_topics(timeline: Timeline) -> Iterator[UnreadyTopics]:
    reports = [e for e in timeline.of(StreamsStatusReported) if e.speaker.role != "broker" and _topics(e.detail or "")]
    for run in runs(reports, time_of, ONE_REBALANCE_MS):
        begin, end, missing = time_of(run[0]), time_of(run[-1]), _missing(run)
        if not missing or (end - begin >= AT_ONCE_MS and not _failed_after(timeline, end)):
            topics = sorted({topic for e in run for topic in _topics(e.detail or "")})
            yield UnreadyTopics(run, tuple(topics), missing, _had_tasks(timeline, begin))


def _had_tasks(timeline: Timeline, until: int) -> bool:
    # A task needs all source topics of its subtopology.
    return any(e.active for e in timeline.of(TasksAssigned).between(0, until - 1))


def _topics(detail: str) -> list[str]:
    found = _MISSING.search(detail) or _UNFIT.search(detail)
    return [name for name in re.split(r"[\s,\[\]]+", found[1]) if name] if found else []


def _missing(run: list[StreamsStatusReported]) -> bool:
    return any(_MISSING.search(e.detail or "") for e in run)


def _failed_after(timeline: Timeline, at: int) -> bool:
    # Missing topics that end the application are the cause `streams-shutdown`.
    ends = timeline.of(StreamsStateChanged).between(at - ROUND_TRIP_MS, at + ONE_REBALANCE_MS)
    return any(e.after in ("PENDING_ERROR", "ERROR") for e in ends)
