"""Streams applications that stop as a whole: an instance requested it, or source topics are missing."""

from __future__ import annotations

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import thrown_by
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import ShutdownRequested, SourceTopicsMissing, StreamsStateChanged, ThreadFailed
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact, Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import (
    AT_ONCE_MS,
    HEARTBEAT_MS,
    NEXT_HEARTBEAT_MS,
    ONE_REBALANCE_MS,
    ONE_SCALING_MS,
    ROUND_TRIP_MS,
)

ENDING = (ShutdownRequested, ThreadFailed, Request, SourceTopicsMissing)
"""Evidence of an application that stops as a whole."""


class ShutdownAsked(Struct, frozen=True):
    """A shutdown request to all instances: its lines, the rejoins that pass it on, the exceptions before."""

    lines: tuple[Event, ...]
    asking: tuple[Event, ...]
    requests: tuple[Request, ...]
    by: Participant | None
    errors: tuple[Event, ...]
    at: int

    @property
    def exception(self) -> str | None:
        """The exception just before."""
        names = (getattr(e, "exception", None) or getattr(e, "error", None) for e in (*self.asking, *self.errors))
        return next(filter(None, names), None)


def shutdown_asked(timeline: Timeline) -> ShutdownAsked | None:
    """The request of an instance's handler, by its own lines or by the rejoins that pass it on."""
    lines: list[Event] = [e for e in timeline.of(ShutdownRequested, ThreadFailed) if _is_request(e)]
    wished = tuple(r for r in timeline.requests if r.why == "shutdown-requested")
    if not lines and not wished:
        return None
    at = time_of(lines[0]) if lines else wished[0].at
    asking = [e for e in lines if _is_asking(e)] or lines[:1]
    first = next((a for e in asking if (a := timeline.participants.of_speaker(e)) is not None), None)
    if first is None and wished:
        first = wished[0].participant
    errors = tuple(thrown_by(timeline, first, at - NEXT_HEARTBEAT_MS, at + ROUND_TRIP_MS))
    return ShutdownAsked(tuple(lines), tuple(asking), wished, first, errors, at)


def is_end(event: StreamsStateChanged) -> bool:
    """True if an instance goes into error, a final state."""
    return event.after in ("PENDING_ERROR", "ERROR")


class MissingSourceTopics(Struct, frozen=True):
    """Missing source topics that ended the application, and the lines that report them."""

    leader: Participant | None
    topics: tuple[str, ...]
    reports: tuple[SourceTopicsMissing, ...]
    lines: tuple[Event, ...]

    @property
    def at(self) -> int:
        """The first report."""
        return time_of(self.reports[0])


def missing_source_topics(timeline: Timeline) -> MissingSourceTopics | None:
    """Source topics that were reported missing just before the instances went into error."""
    missing = _fatally_missing_topics(timeline)
    if not missing:
        return None
    leader = next((e for e in missing if e.topics), missing[0])
    begin = time_of(missing[0])
    ends = [e for e in timeline.of(StreamsStateChanged).between(begin, begin + ONE_SCALING_MS) if is_end(e)]
    return MissingSourceTopics(
        leader=timeline.participants.of_speaker(leader),
        topics=tuple(sorted({t for e in missing for t in e.topics})),
        reports=tuple(missing),
        lines=(leader, *missing, *ends),
    )


def _fatally_missing_topics(timeline: Timeline) -> list[SourceTopicsMissing]:
    """Reports of missing topics just before instances went into error."""
    # Topics that appear in time end nothing.
    end = next((time_of(e) for e in timeline.of(StreamsStateChanged) if is_end(e)), 0)
    reports = [
        e
        for e in timeline.of(SourceTopicsMissing).between(end - ONE_REBALANCE_MS, end + ROUND_TRIP_MS)
        if not _is_broker(e)
    ]
    return reports if reports and time_of(reports[-1]) >= end - AT_ONCE_MS else []


def _is_broker(event: Event) -> bool:
    # A coordinator of KIP-1071 also reports internal topics that are not created yet.
    return event.speaker.role == "broker"


def ended_with_the_application(timeline: Timeline, begin: int) -> tuple[Fact, ...]:
    """The members' moves and the rebalances while the application stopped."""
    since, until = begin - HEARTBEAT_MS, begin + ONE_SCALING_MS
    facts = (*timeline.moves(since, until), *timeline.requests.between(since, until))
    return (*facts, *timeline.rebalances.between(since, until))


def _is_request(event: Event) -> bool:
    return isinstance(event, ShutdownRequested) or (
        isinstance(event, ThreadFailed) and "SHUTDOWN_APPLICATION" in (event.response or "").upper()
    )


def _is_asking(event: Event) -> bool:
    return isinstance(event, ThreadFailed) or (isinstance(event, ShutdownRequested) and event.asking)
