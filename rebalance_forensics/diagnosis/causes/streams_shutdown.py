"""An instance asked the whole application to stop (KIP-671)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members import streams_shutdowns as ends
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals import applications
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """The instance whose handler asked, or whose leader found source topics missing."""
    asked = ends.shutdown_asked(timeline)
    missing = ends.missing_source_topics(timeline) if asked is None else None
    if asked is not None:
        yield applications.about_shutdown_asked(timeline, asked)
    if missing is not None:
        yield applications.about_missing_source_topics(timeline, missing)


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
    told_by=ends.ENDING,
    signs=(
        speaks_for(applications.SHUTDOWN_REQUESTED, DECISIVE + WEAK),
        speaks_for(applications.REJOINED_TO_SHUT_DOWN, DECISIVE),
        speaks_for(applications.SOURCE_TOPICS_NAMED, DECISIVE + WEAK),
        speaks_for(applications.TOPICS_MISSED_AT_THE_END, DECISIVE),
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
