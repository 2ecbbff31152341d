"""Members that came back, or did not while the logs last, and how long the logs last."""

from __future__ import annotations

from operator import attrgetter

from rebalance_forensics.diagnosis.episodes.members.absences import Absence, lacks_reason
from rebalance_forensics.diagnosis.episodes.members.restarts import Return, static_returns
from rebalance_forensics.diagnosis.seen import later_logs, looked
from rebalance_forensics.diagnosis.sign import Absent, Answer, Present, Subject, Unobservable, asked_of_each, sign
from rebalance_forensics.diagnosis.signs.heartbeats import anew
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.timeouts import patience_ms, session_timeout_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, ROUND_TRIP_MS


@sign(present="it came back", absent="it did not come back before the logs end")
def came_back(timeline: Timeline, subject: Subject) -> Answer:
    """The members were in the group again later."""
    return asked_of_each(timeline, subject, _back)


def _back(timeline: Timeline, absence: Absence) -> Answer:
    if absence.back_at is not None or absence.start is not None:
        events = [e for a in absence.arrivals for e in a.events[:1]]
        return Present((*(absence.start.events[:1] if absence.start else ()), *events))
    until = absence.at + patience_ms(timeline)
    logs = covering((*timeline.coverage.brokers, *timeline.coverage.of(absence.participant)), absence.at, until)
    if not logs:
        return Unobservable((later_logs(absence.at, until),))
    return Absent(looked(logs, absence.at, timeline.coverage.end))


@sign(present="it had not come back by the end of the logs", absent="")
def not_back_yet(timeline: Timeline, subject: Subject) -> Answer:
    """At least one member has not returned by the end of the logs."""
    del timeline
    away = [a for a in subject.absences if a.back_at is None and a.start is None]
    return Present() if away else Absent()


@sign(present="some newcomer may be its return: the coordinator does not name those who join", absent="")
def may_be_back_unnamed(timeline: Timeline, subject: Subject) -> Answer:
    """Some newcomer may be the return."""
    # Before 2.1 a coordinator does not name the members that join: any later rebalance may be the return.
    for absence in subject.absences:
        since = max(d.at for d in absence.departures) + ROUND_TRIP_MS
        later = timeline.cached(_without_reason).first(since)
        if absence.back_at is None and absence.start is None and not absence.participant.has_log and later is not None:
            return Present(tuple(later.events[:1]))
    return Absent()


def _without_reason(timeline: Timeline) -> TimeIndex[Rebalance]:
    """The rebalances for which no line gives a reason."""
    return TimeIndex(filter(lacks_reason, timeline.rebalances), attrgetter("started_at"))


@sign(present="it came back, and the logs do not show whether as the same process", absent="")
def returned_unexplained(timeline: Timeline, subject: Subject) -> Answer:
    """The member came back, as the same process or as a new one."""
    # In brokers' logs a process that woke up and one that was started anew look the same.
    for absence in subject.absences:
        early = absence.back_at is not None and absence.back_at < absence.at
        if absence.back_at is not None and not early and isinstance(anew(timeline, absence), Unobservable):
            return Present(tuple(e for a in absence.arrivals for e in a.events[:1]))
    return Absent()


@sign(present="its former member id was still in the group when it came back under a new one", absent="")
def old_id_still_in(timeline: Timeline, subject: Subject) -> Answer:
    """The former id was still in the group; a member that paused or was cut off would have used it again."""
    del timeline
    for absence in subject.absences:
        if absence.back_at is not None and absence.back_at < absence.at:
            return Present(tuple(e for a in absence.arrivals for e in a.events[:1]))
    return Absent()


@sign(present="it is a static member that was back within its session, as after any restart", absent="")
def back_in_time(timeline: Timeline, subject: Subject) -> Answer:
    """A static member was back within its session, so that the group never lost it."""
    # A log that ends before the consumer closes looks like the log of a process that died.
    returns = timeline.cached(_returns_in_time)
    for absence in subject.absences if returns else ():
        near = returns.of(absence.participant).between(absence.at, absence.at + session_timeout_ms(timeline))
        if absence.vanished and near:
            return Present(near[0].events)
    return Absent()


def _returns_in_time(timeline: Timeline) -> TimeIndex[Return]:
    return TimeIndex((r for walk in static_returns(timeline) for r in walk), attrgetter("at"))


@sign(
    present="the logs continue long enough after it to show a return",
    absent="the logs end too soon after it to show a return",
)
def logs_continue_long_enough(timeline: Timeline, subject: Subject) -> Answer:
    """The logs could show a return."""
    for absence in subject.absences:
        unseen = absence.back_at is None and absence.start is None
        if unseen and timeline.coverage.end - absence.at < session_timeout_ms(timeline):
            return Absent()
    return Present()


@sign(present="this is an excerpt; its return may have been left out", absent="")
def return_left_out(timeline: Timeline, subject: Subject) -> Answer:
    """Later lines concern other members only and leave a return open."""
    if not timeline.coverage.is_excerpt:
        return Absent()
    unseen = [a for a in subject.absences if a.back_at is None and a.start is None]
    later = any(timeline.coverage.end - a.at >= session_timeout_ms(timeline) for a in unseen)
    return Present() if later else Absent()


@sign(present="the logs end with its eviction", absent="")
def logs_end_at_once(timeline: Timeline, subject: Subject) -> Answer:
    """Nothing that happened afterwards could have been seen."""
    unseen = [a for a in subject.absences if a.back_at is None and a.start is None]
    ended = any(timeline.coverage.end - a.at < HEARTBEAT_MS for a in unseen)
    return Present() if ended else Absent()
