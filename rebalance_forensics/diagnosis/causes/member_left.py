"""One member closed its consumer while the group kept running, and that was no deployment."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.applications import handle_exception
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.clean_exits import closings
from rebalance_forensics.diagnosis.episodes.members.departures import left_nobody
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import exception_before, name_of_exception
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.absences import about_absences
from rebalance_forensics.diagnosis.signs import closings as closes
from rebalance_forensics.diagnosis.signs import departures, others
from rebalance_forensics.diagnosis.wording.narratives import what_ended
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Blame members that closed after an exception, and lone ones that closed and came back."""
    for away in closings(timeline):
        errors = exception_before(timeline, away)
        if errors:
            exception = name_of_exception(errors[0])
            yield about_absences(
                timeline,
                [away],
                because=errors[:6],
                severity="critical" if left_nobody(timeline, away) else "warning",
                struck_at=away.stop.at if away.stop is not None else None,
                narrative=f"{what_ended(away)} after {exception}.",
                advice=handle_exception(away, exception),
            )
        elif away.back_at is not None:
            narrative = "{who} closed its consumer and came back."
            yield about_absences(timeline, [away], severity="info", narrative=narrative)


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
        speaks_against(departures.reason_cut_off, WEAK),
        speaks_against(others.others_unheard, WEAK),
    ),
    brings=("scale-in",),
    lookalikes=("scale-in", "slow-processing", "process-crash", "rolling-restart"),
    kips=("KIP-800",),
)
