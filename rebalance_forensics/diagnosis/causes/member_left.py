"""One member closed its consumer while the group kept running, and that was no deployment."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.clean_exits import closings, gone_between_lists, left_unheard
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.closes import (
    ERROR_UNHEARD,
    MISSING_FROM_LIST,
    NEXT_STEP_UNHEARD,
    about_failure,
    about_missing,
    about_return,
    about_unheard_close,
)
from rebalance_forensics.diagnosis.signs import closings as closes
from rebalance_forensics.diagnosis.signs import departures, others
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that closed after an exception, or may have; lone ones that closed and came back, or are just missing."""
    for away in closings(timeline):
        errors = exception_before(timeline, away)
        if errors:
            yield about_failure(timeline, away, errors)
        elif away.back_at is not None:
            yield about_return(timeline, away)
        elif left_unheard(timeline, [away]):
            yield about_unheard_close(timeline, away)
    yield from (about_missing(timeline, away) for away in gone_between_lists(timeline))


CAUSE = Cause(
    summary="One member closed its consumer while the group kept running.",
    mechanism=(
        "An exception ends the poll loop and the application closes the consumer, which sends "
        "LeaveGroup; the coordinator rebalances. The member stays away until it is restarted."
    ),
    shows="Leave reason 'the consumer is being closed', an exception just before it in the client's log.",
    remedy="Handle the exception (retry, dead letters), or restart the consumer.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(closes.error_before_close, DECISIVE - WEAK, absent=0),
        speaks_for(closes.closed, STRONG, absent=DECISIVE),
        speaks_against(closes.connection_lost, STRONG + WEAK),
        speaks_against(departures.reason_cut_off, WEAK),
        speaks_against(others.others_unheard, WEAK),
        speaks_against(ERROR_UNHEARD, STRONG + WEAK),
        speaks_against(NEXT_STEP_UNHEARD, WEAK),
        speaks_for(MISSING_FROM_LIST, WEAK),
        speaks_for(closes.thread_left, STRONG),
        speaks_for(closes.task_left, STRONG),
    ),
    brings=("scale-in",),
    lookalikes=("scale-in", "slow-processing", "process-crash", "rolling-restart"),
    kips=("KIP-800",),
)
