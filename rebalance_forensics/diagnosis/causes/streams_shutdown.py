"""An instance shut down the whole Streams application (KIP-671, KIP-662)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import thrown_by
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import DECISIVE, WEAK, Present, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.diagnosis.wording.durations import listed
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.events.streams import (
    ShutdownRequested,
    SourceTopicsMissing,
    StreamsStateChanged,
    StreamsStatusReported,
    ThreadFailed,
)
from rebalance_forensics.timeline import windows
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact, Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant

# Lines that may show a shutdown request.
_ASKING = (ShutdownRequested, ThreadFailed, StreamsStatusReported)
_MISSING_SOURCE_TOPIC = "MissingSourceTopicException"
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

THREW_MISSING_SOURCE_TOPIC = clue(
    "missing-source-topic-thrown",
    DECISIVE,
    "a stream thread threw MissingSourceTopicException, as it does when the leader reports missing source topics",
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """A requested shutdown, else missing source topics; at most one hypothesis."""
    lines = [e for e in timeline.of(*_ASKING) if shows_request(e)]
    requests = [r for r in timeline.requests if r.why == "shutdown-requested"]
    if lines or requests:
        yield about_shutdown_asked(timeline, lines, requests)
    elif missing := _fatally_missing_topics(timeline):
        yield about_missing_source_topics(timeline, missing)


CAUSE = Cause(
    propose=propose,
    evidence_types=(*_ASKING, Request, SourceTopicsMissing, ExceptionLogged),
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
    silence="stopped",
)


def shows_request(event: Event) -> bool:
    """True for a line of an instance that asks for a shutdown, or of one that learns of the request."""
    match event:
        case ThreadFailed(response=response):
            return "SHUTDOWN_APPLICATION" in (response or "").upper()
        case StreamsStatusReported(shutdown_by=asking):
            return asking is not None
    return isinstance(event, ShutdownRequested)


def about_shutdown_asked(timeline: Timeline, lines: Sequence[Event], requests: Sequence[Request]) -> Hypothesis:
    """A shutdown that an instance requested, according to its own lines or to rejoins that pass the request on."""
    at = time_of(lines[0]) if lines else requests[0].at
    asking = [e for e in lines if isinstance(e, ThreadFailed) or getattr(e, "asking", False)]
    by = next((a for e in asking if (a := timeline.participants.of_speaker(e)) is not None), None)
    if by is None:
        # Members of a streams group (KIP-1071) do not pass the request on.
        members = (getattr(e, "shutdown_by", None) or getattr(e, "member", None) for e in lines)
        by = next((a for member in members if (a := timeline.participants.of_member(member)) is not None), None)
    if by is None and requests:
        by = _first_to_pass_it_on(timeline, requests[0])
    errors = thrown_by(timeline, by, at - windows.NEXT_HEARTBEAT_MS, at + windows.ROUND_TRIP_MS)
    names = (getattr(e, "exception", None) or getattr(e, "error", None) for e in (*asking, *errors))
    exception: str | None = next(filter(None, names), None)
    culprits = culprits_of(timeline, [by]) if by is not None else ()
    passed_on = tuple(e for r in requests for e in r.events)
    shown = {SHUTDOWN_REQUESTED: Present(tuple(lines))} if lines else {REJOINED_TO_SHUT_DOWN: Present(passed_on)}
    what = f"the cause of {exception.rpartition('.')[2]}" if exception else "what triggered the shutdown"
    again = Advice(
        action=f"Fix {what}, then restart the application.",
        why=f"SHUTDOWN_APPLICATION stopped all instances ({len(timeline.membership.members)} in these logs); none "
        "restarts by itself.",
        cost="REPLACE_THREAD would keep the application running, but a poison record kills the new thread as well.",
    )
    return Hypothesis(
        # At most three rejoins first: a thread rejoins hundreds of times to pass the request on.
        because=[*(asking or lines)[:2], *errors[:3], *passed_on[:3], *lines, *passed_on],
        culprits=culprits,
        severity="critical",
        ongoing=not timeline.starts.since(at + 1),  # no instance comes back by itself
        onset=at,
        explains=ended_with_the_application(timeline, at),
        participants=(by,) if by is not None else (),
        clues=shown,
        narrative=f"{culprits[0].name if culprits else 'An instance'} asked the whole Streams application to shut down"
        f"{f' after {exception}' if exception else ''}; every instance stops.",
        advice=(again,),
    )


def _first_to_pass_it_on(timeline: Timeline, request: Request) -> Participant | None:
    """The instance of the first rejoin that passes the request on, if no line shows that it only received it."""
    # An instance logs that it asks at WARN or ERROR. If it asks with its last thread, it adds a thread, whose JoinGroup
    # carries the request (KafkaStreams.handleStreamsUncaughtException): then the first rejoin is that of another one.
    by, since = request.participant, request.at - windows.PROCESS_START_MS
    if by is None or by.has_log:
        return None
    return None if any(fact.participant != by for fact in timeline.moves(since, request.at)) else by


def about_missing_source_topics(timeline: Timeline, missing: Sequence[Event]) -> Hypothesis:
    """A shutdown because the leader found source topics missing, which it reports in every assignment."""
    reports = [e for e in missing if isinstance(e, SourceTopicsMissing)]
    at, first = time_of(missing[0]), next((e for e in reports if e.topics), missing[0])
    # Only the leader logs the topics; every thread throws the exception (StreamsRebalanceListener).
    leader = timeline.participants.of_speaker(first) if reports else None
    culprits = culprits_of(timeline, [leader]) if leader is not None else ()
    topics = sorted({t for e in reports for t in e.topics})
    which = listed(topics) or "of the topology"
    ends = (e for e in timeline.of(StreamsStateChanged).between(at, at + windows.ONE_SCALING_MS) if is_end(e))
    create = Advice(
        action=f"Create the missing source topics ({which}), then start the application again.",
        why="Streams creates its internal topics but never its source topics; no instance restarts by itself.",
    )
    shown = SOURCE_TOPICS_NAMED if topics else TOPICS_MISSED_AT_THE_END if reports else THREW_MISSING_SOURCE_TOPIC
    return Hypothesis(
        because=(first, *missing, *ends),
        culprits=culprits,
        severity="critical",
        ongoing=not timeline.starts.since(at + 1),
        onset=at,
        explains=ended_with_the_application(timeline, at),
        participants=(leader,) if leader is not None else (),
        clues={shown: Present(tuple(missing))},
        narrative=(
            f"{culprits[0].name if culprits else 'The leader'} found source topics missing ({which}) and reported "
            "it to every instance in the assignment; their threads stop."
        ),
        advice=(create,),
    )


def is_end(event: StreamsStateChanged) -> bool:
    """True if an instance goes into the final state ERROR."""
    return event.after in ("PENDING_ERROR", "ERROR")


def _fatally_missing_topics(timeline: Timeline) -> Sequence[Event]:
    """Reports of missing topics just before instances went into ERROR, and the exceptions of their threads."""
    # Topics that are created in time do no harm. The coordinator of a KIP-1071 group also reports internal topics that
    # have not been created yet.
    failures = timeline.of(ThreadFailed, ExceptionLogged)
    thrown = [e for e in failures if (getattr(e, "exception", None) or "").endswith(_MISSING_SOURCE_TOPIC)]
    ends = [*thrown[:1], *(e for e in timeline.of(StreamsStateChanged) if is_end(e))]
    end = min(map(time_of, ends), default=0)
    near = timeline.of(SourceTopicsMissing).between(end - windows.ONE_REBALANCE_MS, end + windows.ROUND_TRIP_MS)
    reports = [e for e in near if e.speaker.role != "broker"]
    return [*reports, *thrown] if thrown or (reports and time_of(reports[-1]) >= end - windows.AT_ONCE_MS) else []


def ended_with_the_application(timeline: Timeline, begin: int) -> tuple[Fact, ...]:
    """The departures, arrivals and rebalances while the application stopped."""
    since, until = begin - windows.HEARTBEAT_MS, begin + windows.ONE_SCALING_MS
    facts = (*timeline.moves(since, until), *timeline.requests.between(since, until))
    return (*facts, *timeline.rebalances.between(since, until))
