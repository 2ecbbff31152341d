"""The coordinator moved: what that does to sessions."""

from __future__ import annotations

from rebalance_forensics.diagnosis.absences import Absence, session_told_ms
from rebalance_forensics.diagnosis.offsets_outages import outages
from rebalance_forensics.diagnosis.setting_spans import offsets_write_ms
from rebalance_forensics.diagnosis.sign import Absent, Answer, Present, Subject, Unobservable, sign
from rebalance_forensics.diagnosis.signs.needs import coordinator_log
from rebalance_forensics.events.coordinator import GroupLoaded
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.time_index import InTime
from rebalance_forensics.timeline.windows import HAND_OVER_MS, SESSION_END_MS

MOST_LINES = 4


@sign(
    present="its session expired exactly one session after the coordinator moved: it was lost in the move",
    absent="its session expired at another time than one session after the coordinator moved",
)
def lost_in_the_move(timeline: Timeline, subject: Subject) -> Answer:
    """Whether the members sent the new coordinator no heartbeat at all.

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
    if not expired or session_told_ms(timeline) is None:
        return Unobservable((coordinator_log(absence.at, absence.at),))
    loads = [load for d in expired if (load := load_that_restarted(timeline, d)) is not None]
    told = tuple(e for d in expired for e in d.events)
    return Present((*loads, *told)) if len(loads) == len(expired) else Absent(lines=told)


def load_that_restarted(timeline: Timeline, departure: Departure) -> GroupLoaded | None:
    """The loading of the group that restarted the session whose end this departure is."""
    session = session_told_ms(timeline)
    if departure.why != "session-expired" or session is None:
        return None
    begin = departure.at - session
    loads = timeline.remembered(_loads).between(begin - SESSION_END_MS, begin + SESSION_END_MS)
    speakers = {e.speaker.broker for e in departure.events if e.speaker.role == "broker"}
    return next((load for load in loads if load.speaker.broker in speakers), None)


def _loads(timeline: Timeline) -> InTime[GroupLoaded]:
    """Every time that a broker loaded the group."""
    return InTime((e for e in timeline.of(GroupLoaded) if e.group == timeline.group), time_of)


@sign(
    present="writes to __consumer_offsets were refused at that time, whichever broker coordinated the group", absent=""
)
def offsets_outage_meanwhile(timeline: Timeline, subject: Subject) -> Answer:
    """Whether the coordinator moved in the course of an outage of the offsets topic, or with the broker that began it.

    One outage is one incident: what stops the group is that nothing can be written, and not that another broker tries.
    """
    for outage in timeline.once("offsets outages", lambda: list(outages(timeline))):
        if outage.begin - HAND_OVER_MS <= subject.begin <= outage.end + offsets_write_ms(timeline):
            return Present(outage.refused[:MOST_LINES])
    return Unobservable()
