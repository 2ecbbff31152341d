"""Members that closed: after an error, for a while, or so that only the coordinator saw it."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.advice.applications import (
    handle_exception,
    outlast_lost_connections,
    restart_task,
)
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.departures import left_nobody
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import is_of_a_connection, name_of_exception
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.proposals.absences import about_absences
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.narratives import what_ended
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import WorkChanged
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import ONE_STEP_MS

ERROR_UNHEARD = stated("error-unheard", present="no log of its own shows whether an error made it close")
NEXT_STEP_UNHEARD = stated(
    "next-step-unheard",
    present="the coordinator is not heard long enough to show whether others were restarted before or after it",
)

MISSING_FROM_LIST = stated("missing-from-the-next-list", present="the next list of all members lacks it")


def about_failure(timeline: Timeline, away: Absence, errors: Sequence[Event]) -> Hypothesis:
    """It closed after an exception."""
    exception = name_of_exception(errors[0])
    return about_absences(
        timeline,
        [away],
        because=errors[:6],
        severity="critical" if left_nobody(timeline, away) else "warning",
        struck_at=away.stop.at if away.stop is not None else None,
        narrative=f"{what_ended(away)} after {exception}.",
        advice=_after_failure(away, errors[0], exception),
    )


def _after_failure(away: Absence, error: Event, exception: str) -> tuple[Advice, ...]:
    if isinstance(error, WorkChanged):
        return restart_task(exception)
    return outlast_lost_connections(exception) if is_of_a_connection(error) else handle_exception(away, exception)


def about_return(timeline: Timeline, away: Absence) -> Hypothesis:
    """It closed without an error that anybody logged, and came back."""
    begin, end = away.at - ONE_STEP_MS, (away.back_at or away.at) + ONE_STEP_MS
    heard = covering(timeline.coverage.brokers, begin, end)
    back = "shut down and was started again" if away.start is not None else "closed its consumer and came back"
    return about_absences(
        timeline,
        [away],
        severity="info",
        narrative=f"{{who}} {back}.",
        answers={} if heard else {NEXT_STEP_UNHEARD: Present(away.departures[0].events[:1])},
    )


def about_unheard_close(timeline: Timeline, away: Absence) -> Hypothesis:
    """An error may have closed it: to the coordinator that looks like a member that was shut down."""
    left = "A thread of {who} left the group" if away.participant.kind == "instance" else "{who} closed its consumer"
    return about_absences(
        timeline,
        [away],
        severity="warning",
        narrative=f"{left}; only its own log would show whether an error was the reason.",
        answers={ERROR_UNHEARD: Present(away.departures[0].events[:1])},
    )


def about_missing(timeline: Timeline, away: Absence) -> Hypothesis:
    """It is in one list of all members and not in the next; the lines between were left out."""
    lists = [e for d in away.departures for e in d.events]
    return about_absences(
        timeline,
        [away],
        severity="info",
        narrative="{who} is no longer in the group; these lines do not show whether it left or was removed.",
        answers={MISSING_FROM_LIST: Present(tuple(lists))},
    )
