"""An instance asked the whole application to stop (KIP-671)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.absences import distinct_events
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.errors_before_exit import thrown_by
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import ShutdownRequested, SourceTopicsMissing, StreamsStateChanged, ThreadFailed
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact, Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import (
    MOMENTS_BEFORE_MS,
    OBEYED_MS,
    SAME_REBALANCE_MS,
    SHUTTING_DOWN_MS,
    SOON_AFTER_MS,
    TOPICS_MISSED_MS,
)

SHUTDOWN_REQUESTED = stated(
    "application-shutdown-requested", present="an instance sent a shutdown request for the entire application"
)
REJOINED_TO_SHUT_DOWN = stated(
    "rejoined-to-shut-down", present="a member rejoined to pass on a shutdown request of the application"
)
SOURCE_TOPICS_NAMED = stated("missing-source-topics-named", present="the leader names the source topics it missed")
TOPICS_MISSED_AT_THE_END = stated(
    "source-topics-missing", present="source topics were reported missing just before the instances went into ERROR"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """The instance whose handler asked, or whose leader found source topics missing."""
    told: list[Event] = [e for e in timeline.of(ShutdownRequested, ThreadFailed) if _is_request(e)]
    wished = [r for r in timeline.requests if r.why == "shutdown-requested"]
    if told or wished:
        yield _asked(timeline, told, wished)
        return
    missing = _fatally_missing(timeline)
    if missing:
        yield _without_topics(timeline, missing)


def _asked(timeline: Timeline, told: list[Event], wished: list[Request]) -> Hypothesis:
    begin = time_of(told[0]) if told else wished[0].at
    asking = [e for e in told if _is_asking(e)] or told[:1]
    first = next((a for e in asking if (a := timeline.cast.of_speaker(e)) is not None), None)
    if first is None and wished:
        first = wished[0].actor
    errors = thrown_by(timeline, first, begin - SOON_AFTER_MS, begin + SAME_REBALANCE_MS)
    culprits = culprits_of(timeline, [first]) if first is not None else ()
    who = culprits[0].name if culprits else "An instance"
    instances = len(timeline.actors())
    return Hypothesis(
        because=distinct_events([*asking[:2], *errors[:3], *(e for r in wished for e in r.events), *told]),
        culprits=culprits,
        severity="critical",
        # No instance comes back by itself: until one is started, the work stands still.
        ongoing=not timeline.starts.since(begin + 1),
        onset=begin,
        explains=_ended(timeline, begin),
        actors=(first,) if first is not None else (),
        answers={SHUTDOWN_REQUESTED: Present(tuple(told))}
        if told
        else {REJOINED_TO_SHUT_DOWN: Present(tuple(e for r in wished for e in r.events))},
        narrative=f"{who} asked the whole Streams application to shut down; every instance stops.",
        advice=(
            Advice(
                action="Fix what made it ask, then start the application again.",
                why=(
                    f"{_thrown([*asking, *errors])}SHUTDOWN_APPLICATION stops all instances ({instances} were seen); "
                    "none comes back by itself."
                ),
                cost="A handler that replaces the thread keeps the others running, and dies again on the same record.",
            ),
        ),
    )


def _without_topics(timeline: Timeline, missing: Sequence[SourceTopicsMissing]) -> Hypothesis:
    begin = time_of(missing[0])
    leader = next((e for e in missing if e.topics), missing[0])
    topics = sorted({t for e in missing for t in e.topics})
    which = ", ".join(topics) or "of the topology"
    actor = timeline.cast.of_speaker(leader)
    culprits = culprits_of(timeline, [actor]) if actor is not None else ()
    ends = timeline.of(StreamsStateChanged).between(begin, begin + SHUTTING_DOWN_MS)
    return Hypothesis(
        because=distinct_events([leader, *missing, *(e for e in ends if _is_end(e))]),
        culprits=culprits,
        severity="critical",
        # No instance comes back by itself: until one is started, the work stands still.
        ongoing=not timeline.starts.since(begin + 1),
        onset=begin,
        explains=_ended(timeline, begin),
        actors=(actor,) if actor is not None else (),
        answers={SOURCE_TOPICS_NAMED if topics else TOPICS_MISSED_AT_THE_END: Present(tuple(missing))},
        narrative=(
            f"{culprits[0].name if culprits else 'The leader'} found source topics missing ({which}) and told every "
            "instance in its assignment; their threads stop."
        ),
        advice=(
            Advice(
                action=f"Create the missing source topics ({which}), then start the application again.",
                why="Streams creates its internal topics by itself, source topics never; no instance comes back alone.",
            ),
        ),
    )


def _fatally_missing(timeline: Timeline) -> list[SourceTopicsMissing]:
    """What instances said of missing topics before they went into error; topics that appear in time end nothing."""
    end = next((time_of(e) for e in timeline.of(StreamsStateChanged) if _is_end(e)), 0)
    told = [
        e
        for e in timeline.of(SourceTopicsMissing).between(end - TOPICS_MISSED_MS, end + SAME_REBALANCE_MS)
        if not _is_broker(e)
    ]
    return told if told and time_of(told[-1]) >= end - OBEYED_MS else []


def _is_broker(event: Event) -> bool:
    """A coordinator of KIP-1071 also misses internal topics, until it is given them."""
    return event.speaker.role == "broker"


def _is_end(event: StreamsStateChanged) -> bool:
    return event.after in ("PENDING_ERROR", "ERROR")


def _ended(timeline: Timeline, begin: int) -> tuple[Fact, ...]:
    since, until = begin - MOMENTS_BEFORE_MS, begin + SHUTTING_DOWN_MS
    facts = (*timeline.moves(since, until), *timeline.requests.between(since, until))
    return (*facts, *timeline.rebalances.between(since, until))


def _thrown(errors: Sequence[Event]) -> str:
    names = (getattr(e, "exception", None) or getattr(e, "error", None) for e in errors)
    first = next(filter(None, names), None)
    return f"{first} was thrown just before. " if first else ""


def _is_request(event: Event) -> bool:
    return isinstance(event, ShutdownRequested) or (
        isinstance(event, ThreadFailed) and "SHUTDOWN_APPLICATION" in (event.response or "").upper()
    )


def _is_asking(event: Event) -> bool:
    return isinstance(event, ThreadFailed) or (isinstance(event, ShutdownRequested) and event.asking)


CAUSE = Cause(
    summary="An instance asked the whole Streams application to stop.",
    mechanism=(
        "The uncaught exception handler answers SHUTDOWN_APPLICATION, or the leader misses source topics:"
        " the error code travels in the subscription and the assignment, and every instance shuts down."
    ),
    shows=(
        "'sent shutdown request for the entire application', 'Detected that shutdown was requested'; source topics "
        "missing, then state ERROR."
    ),
    remedy="Fix the exception or create the topics; restart all instances.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(SHUTDOWN_REQUESTED, DECISIVE + WEAK),
        speaks_for(REJOINED_TO_SHUT_DOWN, DECISIVE),
        speaks_for(SOURCE_TOPICS_NAMED, DECISIVE + WEAK),
        speaks_for(TOPICS_MISSED_AT_THE_END, DECISIVE),
    ),
    brings=(
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
