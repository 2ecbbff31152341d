"""The coordinator moved: what that does to sessions."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_moves import load_that_restarted
from rebalance_forensics.diagnosis.episodes.coordinator.offsets_outages import outages
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.seen import coordinator_log, own_log
from rebalance_forensics.diagnosis.sign import Absent, Answer, Present, Subject, Unobservable, shown, sign
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import OFFSETS_WRITE, session_timeout_ms, setting_ms, shown_session_ms
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS

MOST_LINES = 4


@sign(
    present="its session expired exactly one session after the coordinator moved: it was lost in the move",
    absent="its session expired at another time than one session after the coordinator moved",
)
def lost_in_the_move(timeline: Timeline, subject: Subject) -> Answer:
    """The new coordinator received no heartbeat of the members at all.

    A coordinator that loads a group starts every session anew (GroupCoordinator.onGroupLoaded), so the expiry says
    nothing about when a member was last heard by the one before.
    """
    answers = [_lost(timeline, absence) for absence in subject.absences]
    present = [answer for answer in answers if isinstance(answer, Present)]
    if answers and len(present) == len(answers):
        return Present(tuple(dict.fromkeys(line for answer in present for line in answer.lines)))
    return next((answer for answer in answers if not isinstance(answer, Present)), Unobservable())


def _lost(timeline: Timeline, absence: Absence) -> Answer:
    expired = [d for d in absence.departures if d.why == "session-expired"]
    if not expired:
        return Unobservable((coordinator_log(absence.at, absence.at),))
    if shown_session_ms(timeline) is None:
        return Unobservable((own_log(absence, session_timeout_ms(timeline)),))
    loads = [load for d in expired if (load := load_that_restarted(timeline, d)) is not None]
    expiries = tuple([e for d in expired for e in d.events])
    return Present((*loads, *expiries)) if len(loads) == len(expired) else Absent(lines=expiries)


@shown("writes to __consumer_offsets were rejected at that time, whichever broker coordinated the group")
def offsets_outage_meanwhile(timeline: Timeline, subject: Subject) -> Sequence[Event]:
    """The coordinator moved during an outage of the offsets topic, or with the broker that began it."""
    # One outage is one incident: what stops the group is that nothing can be written, and not that another broker
    # tries.
    for outage in timeline.cached_as("offsets outages", lambda: list(outages(timeline))):
        if outage.begin - ONE_REBALANCE_MS <= subject.begin <= outage.end + setting_ms(timeline, OFFSETS_WRITE):
            return outage.refused[:MOST_LINES]
    return ()
