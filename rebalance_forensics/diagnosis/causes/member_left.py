"""One member closed its consumer while the group lived on, and that was no deployment."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import Absence, distinct_events, seconds, together_ms, touched
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.departures_and_restarts import closings
from rebalance_forensics.diagnosis.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.signs import closings as closes
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import StreamThreadStateChanged
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Blame members that closed after an exception, and lone ones that closed and came back."""
    for away in closings(timeline):
        errors = exception_before(timeline, away)
        if errors or away.back_at is not None:
            yield _finding(timeline, away, errors)


def _finding(timeline: Timeline, away: Absence, errors: list[Event]) -> Hypothesis:
    name = culprits_of(timeline, [away.actor])[0].name
    facts = away.facts()
    words = (
        str(getattr(errors[0], "exception", None) or getattr(errors[0], "detail", None) or "an exception")
        if errors
        else ""
    )
    return Hypothesis(
        because=distinct_events([*errors[:6], *away.events()]),
        culprits=culprits_of(timeline, [away.actor]),
        severity="info" if not errors else "critical" if _left_nobody(timeline, away) else "warning",
        brings=(*facts, *touched(timeline, facts)),
        explains=tuple(away.departures),
        actors=(away.actor,),
        absences=(away,),
        struck_at=away.stop.at if errors and away.stop is not None else None,
        narrative=f"{_who_ended(away, name)} after {words}."
        if errors
        else f"{name} closed its consumer and came back.",
        advice=(
            Advice(
                action=_handling(away),
                why=f"{words} ended it; {_gone(away)}.",
                cost="A record that is skipped is lost unless it is kept elsewhere; each restart costs a rebalance.",
            ),
        )
        if errors
        else (),
    )


def _who_ended(away: Absence, name: str) -> str:
    ended = away.stop.events if away.stop is not None else []
    threads = sorted({e.thread or e.speaker.thread or "" for e in ended if isinstance(e, StreamThreadStateChanged)})
    if not threads:
        return f"{name} closed its consumer"

    gone = (
        "is gone, the instance goes on without it,"
        if len(threads) == 1
        else "are gone, the instance goes on without them,"
    )
    return f"{', '.join(threads)} of {name} {gone}"


def _handling(away: Absence) -> str:
    if away.actor.kind == "instance":
        return "Handle that exception in the topology or by an exception handler that skips the record (KIP-161)."
    return "Handle that exception in the poll loop, or let the process restart at once."


def _left_nobody(timeline: Timeline, away: Absence) -> bool:
    """Whether it was the last: everybody else had gone, too, and nobody came back."""
    for actor in timeline.actors():
        came, went = timeline.arrivals.of(actor).last(timeline.last), timeline.departures.of(actor).last(timeline.last)
        if went is None or (came is not None and came.at > went.at) or went.at > away.at + together_ms(timeline):
            return False
    return True


def _gone(away: Absence) -> str:
    if away.back_at is None:
        return "it did not come back while these logs last"
    return f"it was back after {seconds(max(away.back_at - away.at, 0))}"


CAUSE = Cause(
    summary="One member closed its consumer while the group lived on.",
    mechanism=(
        "An exception leaves the poll loop, the application closes the consumer, the close sends "
        "LeaveGroup and the coordinator rebalances. The member stays away until somebody restarts it."
    ),
    shows="Leave reason 'the consumer is being closed', an exception just before it in the client's log.",
    remedy="Handle the exception (retry, dead letters), or restart the consumer.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(closes.error_before_close, DECISIVE - WEAK, absent=0),
        speaks_for(closes.closed, STRONG, absent=DECISIVE),
    ),
    brings=("scale-in",),
    lookalikes=("scale-in", "slow-processing", "process-crash"),
    kips=("KIP-800",),
)
