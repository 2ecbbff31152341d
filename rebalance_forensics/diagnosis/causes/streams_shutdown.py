"""An instance asked the whole Streams application to stop (KIP-671, KIP-662).

What happened: an uncaught exception handler answered SHUTDOWN_APPLICATION (SHUTDOWN_REQUESTED, or REJOINED_TO_SHUT_DOWN
where only the rejoins that pass it on are logged), or the leader found source topics missing (SOURCE_TOPICS_NAMED,
TOPICS_MISSED_AT_THE_END). It explains all departures of the end; the advice is to start all instances again, or to
create the topics first. What the end looks like in events is in episodes/members/streams_shutdowns.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.applications import start_again
from rebalance_forensics.diagnosis.advice.topics import create_source_topics
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members import streams_shutdowns as ends
from rebalance_forensics.diagnosis.episodes.members.streams_shutdowns import (
    MissingSourceTopics,
    ShutdownAsked,
    ended_with_the_application,
)
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.timeline.group_timeline import Timeline

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
    """At most one hypothesis: a requested shutdown, else missing source topics."""
    asked = ends.shutdown_asked(timeline)
    missing = ends.missing_source_topics(timeline) if asked is None else None
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
    evidence_types=ends.ENDING,
    signs=(
        speaks_for(SHUTDOWN_REQUESTED, DECISIVE + WEAK),
        speaks_for(REJOINED_TO_SHUT_DOWN, DECISIVE),
        speaks_for(SOURCE_TOPICS_NAMED, DECISIVE + WEAK),
        speaks_for(TOPICS_MISSED_AT_THE_END, DECISIVE),
    ),
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
        answers={SHUTDOWN_REQUESTED: Present(asked.lines)}
        if asked.lines
        else {REJOINED_TO_SHUT_DOWN: Present(passed_on)},
        narrative=f"{who} asked the whole Streams application to shut down{after}; every instance stops.",
        advice=start_again(asked, len(timeline.members())),
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
        answers={SOURCE_TOPICS_NAMED if missing.topics else TOPICS_MISSED_AT_THE_END: Present(missing.reports)},
        narrative=(
            f"{culprits[0].name if culprits else 'The leader'} found source topics missing ({which}) and told "
            "every instance in its assignment; their threads stop."
        ),
        advice=create_source_topics(which),
    )
