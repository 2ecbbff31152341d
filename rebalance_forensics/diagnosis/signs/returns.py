"""Signs of whether members came back before the logs end, and whether the logs are long enough to show it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, lacks_reason, lasts_a_session
from rebalance_forensics.diagnosis.episodes.members.restarts import static_returns
from rebalance_forensics.diagnosis.seen import later_logs, looked, own_log
from rebalance_forensics.diagnosis.sign import (
    Absent,
    Answer,
    Present,
    Subject,
    Unobservable,
    of_any,
    of_each,
    of_first,
    sign,
)
from rebalance_forensics.diagnosis.signs.heartbeats import process_restarted
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import timeouts, windows
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.time_index import TimeIndex


@of_each("it came back", "it did not come back before the logs end")
def came_back(timeline: Timeline, absence: Absence) -> Answer:
    """The members were in the group again later."""
    if absence.is_over:
        return Present((*(absence.start.events[:1] if absence.start else ()), *_arrival_lines(absence)))
    until = absence.at + timeouts.patience_ms(timeline)
    if _may_be_back(timeline, absence):
        return Unobservable((own_log(timeline, absence),))
    logs = covering((*timeline.coverage.brokers, *timeline.coverage.of(absence.participant)), absence.at, until)
    if not logs:
        return Unobservable((later_logs(absence.at, until),))
    return Absent(looked(logs, absence.at, timeline.coverage.end))


def _arrival_lines(absence: Absence) -> tuple[Event, ...]:
    return tuple(e for a in absence.arrivals for e in a.events[:1])


@of_any("it was not seen again by the end of the logs")
def not_back_yet(_: Timeline, absence: Absence) -> bool:
    """The member has not returned by the end of the logs."""
    return not absence.is_over


@of_first("a newcomer may be this member under another id: these logs do not name all members that join")
def may_be_back_unnamed(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """A later new member may be this member under another id."""
    return _may_be_back(timeline, absence)


def _may_be_back(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """Lines of a rebalance that the return of this member may have caused; empty if it would have been logged."""
    if absence.is_over or absence.participant.has_log:
        return ()
    # Before 2.1 a coordinator does not name the members that join: any later rebalance may be caused by the return.
    unreasoned = timeline.cached_as(
        "rebalances without a reason",
        lambda: TimeIndex(filter(lacks_reason, timeline.rebalances), attrgetter("started_at")),
    )
    later = unreasoned.first(max(d.at for d in absence.departures) + windows.ROUND_TRIP_MS)
    return _evicted_from_a_rebalance(timeline, absence) if later is None else later.events[:1]


def _evicted_from_a_rebalance(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The eviction, if it happened during a rebalance that began before the coordinator's log; else empty.

    A member that lost its id joins as a new member, which triggers a rebalance, during which its former id expires. An
    eviction triggers a rebalance only if the group is stable (GroupCoordinator.removeMemberAndUpdateGroup).
    """
    evicted = tuple(e for e in absence.departure_lines if isinstance(e, ev.MemberFailed))
    if not evicted or covering(
        timeline.coverage.brokers, absence.at - timeouts.session_timeout_ms(timeline), absence.at
    ):
        return ()
    began = timeline.of(ev.RebalanceStarted).first(0)
    if began is not None and time_of(began) <= absence.at + windows.ROUND_TRIP_MS:
        return ()
    return evicted if timeline.of(ev.GenerationStabilized).first(absence.at) is not None else ()


@of_first("it came back, and the logs do not show whether as the same process")
def returned_unexplained(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """The member came back, either as the same process or as a new one."""
    # In brokers' logs, a process that resumed and one that was restarted look the same.
    later = absence.back_at is not None and absence.back_at >= absence.at
    return _arrival_lines(absence) if later and isinstance(process_restarted(timeline, absence), Unobservable) else ()


@of_first("its former member id was still in the group when it came back under a new one")
def old_id_still_in(_: Timeline, absence: Absence) -> Sequence[Event]:
    """The former id was still in the group; a member that was paused or cut off would have reused it."""
    return _arrival_lines(absence) if absence.back_at is not None and absence.back_at < absence.at else ()


@of_first("it is a static member that was back within its session, as after any restart")
def back_in_time(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """A static member was back within its session, so that the group never lost it."""
    # A log that ends before the consumer closes looks like the log of a process that died.
    returns = timeline.cached_as(
        "static returns",
        lambda: TimeIndex((r for walk in static_returns(timeline) for r in walk), attrgetter("at")),
    )
    if not returns or not absence.vanished:
        return ()
    near = returns.of(absence.participant).between(absence.at, absence.at + timeouts.session_timeout_ms(timeline))
    return near[0].events if near else ()


@sign("the logs continue long enough after it to show a return", "the logs end too soon after it to show a return")
def logs_continue_long_enough(timeline: Timeline, subject: Subject) -> Answer:
    """The logs last for a session after each departure, so that they could show a return."""
    away = (a for a in subject.absences if not a.is_over)
    return Present() if all(lasts_a_session(timeline, a.at) for a in away) else Absent()


@of_any("the logs end with its eviction")
def logs_end_at_once(timeline: Timeline, absence: Absence) -> bool:
    """The logs end within a heartbeat of the eviction and cannot show what followed."""
    return not absence.is_over and timeline.coverage.end - absence.at < windows.HEARTBEAT_MS
