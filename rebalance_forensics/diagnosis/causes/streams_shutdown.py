"""An instance asked the whole Streams application to stop (KIP-671, KIP-662).

What happened: an uncaught exception handler answered SHUTDOWN_APPLICATION (SHUTDOWN_REQUESTED, or REJOINED_TO_SHUT_DOWN
where only the rejoins that pass it on are logged), or the leader found source topics missing (SOURCE_TOPICS_NAMED,
TOPICS_MISSED_AT_THE_END). It explains all departures of the end; the advice is to start all instances again, or to
create the topics first.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import thrown_by
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import DECISIVE, WEAK, Present, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
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

SHUTDOWN_REQUESTED = clue(
    "application-shutdown-requested", DECISIVE + WEAK, "an instance sent a shutdown request for the entire application"
)
REJOINED_TO_SHUT_DOWN = clue(
    "rejoined-to-shut-down", DECISIVE, "a member rejoined to pass on a shutdown request of the application"
)
SOURCE_TOPICS_NAMED = clue(
    "missing-source-topics-named", DECISIVE + WEAK, "the leader names the source topics it missed"
)
TOPICS_MISSED_AT_THE_END = clue(
    "source-topics-missing", DECISIVE, "source topics were reported missing just before the instances went into ERROR"
)
# Evidence of an application that stops as a whole.
ENDING = (ShutdownRequested, ThreadFailed, Request, SourceTopicsMissing)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """At most one hypothesis: a requested shutdown, else missing source topics."""
    asked = shutdown_asked(timeline)
    missing = missing_source_topics(timeline) if asked is None else None
    if asked is not None:
        yield about_shutdown_asked(timeline, asked)
    if missing is not None:
        yield about_missing_source_topics(timeline, missing)


CAUSE = Cause(
    summary="An instance asked the whole Streams application to stop.",
    mechanism=(
        "The uncaught exception handler answers SHUTDOWN_APPLICATION, or the leader finds source topics missing:"
        " the error code travels in the subscription and the assignment, and every instance shuts down."
    ),
    shows=(
        "'sent shutdown request for the entire application', 'Detected that shutdown was requested'; source topics "
        "missing, then state ERROR."
    ),
    remedy="Fix the exception or create the topics; restart all instances.",
    usual="fault",
    propose=propose,
    evidence_types=ENDING,
    implies=(
        "shutdown",
        "scale-in",
        "member-left",
        "rolling-restart",
        "process-crash",
        "assignment-failure",
        "scale-out",
        "startup",
        "thread-replacement",
    ),
    lookalikes=("shutdown", "thread-replacement"),
    settings=("num.stream.threads",),
    kips=("KIP-671", "KIP-662"),
)


def about_shutdown_asked(timeline: Timeline, asked: ShutdownAsked) -> Hypothesis:
    """One instance asked the whole application to stop."""
    culprits = culprits_of(timeline, [asked.by]) if asked.by is not None else ()
    who = culprits[0].name if culprits else "An instance"
    after = f" after {asked.exception}" if asked.exception else ""
    passed_on = tuple(e for r in asked.requests for e in r.events)
    return Hypothesis(
        # A thread rejoins hundreds of times to pass the request on; the lines of the others prove more.
        because=[*asked.asking[:2], *asked.errors[:3], *passed_on[:3], *asked.lines, *passed_on],
        culprits=culprits,
        severity="critical",
        ongoing=not timeline.starts.since(asked.at + 1),  # no instance comes back by itself
        onset=asked.at,
        explains=ended_with_the_application(timeline, asked.at),
        participants=(asked.by,) if asked.by is not None else (),
        clues={SHUTDOWN_REQUESTED: Present(asked.lines)}
        if asked.lines
        else {REJOINED_TO_SHUT_DOWN: Present(passed_on)},
        narrative=f"{who} asked the whole Streams application to shut down{after}; every instance stops.",
        advice=start_again(asked, len(timeline.membership.members)),
    )


def about_missing_source_topics(timeline: Timeline, missing: MissingSourceTopics) -> Hypothesis:
    """The leader found source topics missing and put the error code into every assignment."""
    culprits = culprits_of(timeline, [missing.leader]) if missing.leader is not None else ()
    which = ", ".join(missing.topics) or "of the topology"
    return Hypothesis(
        because=missing.lines,
        culprits=culprits,
        severity="critical",
        ongoing=not timeline.starts.since(missing.at + 1),
        onset=missing.at,
        explains=ended_with_the_application(timeline, missing.at),
        participants=(missing.leader,) if missing.leader is not None else (),
        clues={SOURCE_TOPICS_NAMED if missing.topics else TOPICS_MISSED_AT_THE_END: Present(missing.reports)},
        narrative=(
            f"{culprits[0].name if culprits else 'The leader'} found source topics missing ({which}) and told "
            "every instance in its assignment; their threads stop."
        ),
        advice=create_source_topics(which),
    )


def start_again(asked: ShutdownAsked, instances: int) -> tuple[Advice, ...]:
    """A Streams application that one of its instances stopped."""
    what = "that exception" if asked.exception else "what triggered the shutdown"
    again = Advice(
        action=f"Fix {what}, then restart the application.",
        why=f"SHUTDOWN_APPLICATION stopped all instances ({instances} in these logs); none restarts by itself.",
        cost="REPLACE_THREAD would keep the application running, but a poison record kills the new thread as well.",
    )
    return (again,)


def create_source_topics(which: str) -> tuple[Advice, ...]:
    """Source topics without which a Streams application stops."""
    create = Advice(
        action=f"Create the missing source topics ({which}), then start the application again.",
        why="Streams creates its internal topics but never its source topics; no instance restarts by itself.",
    )
    return (create,)


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
