"""Members that left on their own: by LeaveGroup, or by a shutdown or an error without LeaveGroup."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.episodes.members.absences import Absence, absences, only_listed
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import is_static, lines_after, losses
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.epochs import TargetAssignmentComputed
from rebalance_forensics.timeline.clients import logs_leave_group
from rebalance_forensics.timeline.coverage import CoveredLog
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.membership.lost_membership import ended_its_session
from rebalance_forensics.timeline.windows import HEARTBEAT_MS

VOLUNTARY = ("closed", "left")


@cached_answer
def closings(timeline: Timeline) -> list[Absence]:
    """Every absence by a member's own close: LeaveGroup, or a clean stop that sends none (Streams, static members)."""
    left = [a for a in absences(timeline, VOLUNTARY) if not _gave_up_its_session(timeline, a)]
    # A listener container that stops a consumer may unsubscribe it first, as Spring's does: this counts as a close.
    left += [a for a in absences(timeline, ("unsubscribed",)) if ended_with_its_process(a)]
    quiet = [a for a in losses(timeline) if _closed_without_leave_group(timeline, a)]
    return sorted(_merged_by_stop([*left, *quiet]), key=lambda a: (a.at, a.participant.name))


def _gave_up_its_session(timeline: Timeline, absence: Absence) -> bool:
    """True if it left because no heartbeat succeeded for a session timeout, as brod does since 3.3."""
    if any(departure.why != "left" for departure in absence.departures):
        return False
    lost = timeline.events_from(absence.participant, CoordinatorLost)
    return any(map(ended_its_session, lost.between(absence.at - HEARTBEAT_MS, absence.at)))


def _merged_by_stop(closed: list[Absence]) -> list[Absence]:
    # A stopping Streams instance may send LeaveGroup for one thread and let another's session expire: one absence.
    found: dict[str, Absence] = {}
    for absence in closed:
        key = absence.stop.id if absence.stop is not None else absence.departures[0].id
        known = found.get(key)
        found[key] = absence if known is None else _merged(known, absence)
    return list(found.values())


def _merged(absence: Absence, other: Absence) -> Absence:
    departures = sorted({d.id: d for d in (*absence.departures, *other.departures)}.values(), key=lambda d: d.at)
    arrivals = sorted({a.id: a for a in (*absence.arrivals, *other.arrivals)}.values(), key=lambda a: a.at)
    return Absence(absence.participant, departures, arrivals, absence.start or other.start, absence.stop)


def left_without_client_log(timeline: Timeline, absence: Sequence[Absence]) -> bool:
    """True if they left by LeaveGroup and their own logs are missing; the coordinator does not log why they closed."""
    return not all(a.fell_silent for a in absence) and not any(_has_client_log(timeline, a) for a in absence)


def missing_from_next_list(timeline: Timeline) -> list[Absence]:
    """Members in one logged list of the group's members but not in the next, without a line about their departure."""
    # A coordinator logs departures at INFO like its lists of members, a leader does not know about them. Without an
    # excerpt, only the coordinator's lists leave the reason open.
    return [
        absence
        for absence in absences(timeline, ("vanished",))
        if all(map(only_listed, absence.departures))
        and (
            timeline.coverage.is_excerpt
            or all(isinstance(e, TargetAssignmentComputed) for e in absence.departure_lines)
        )
        and not absence.participant.has_log
        and absence.back_at is None
    ]


def _has_client_log(timeline: Timeline, absence: Absence) -> bool:
    if timeline.coverage.is_excerpt:
        near = timeline.events_from(absence.participant, Event)
        return near.any_between(absence.at - HEARTBEAT_MS, absence.at + HEARTBEAT_MS)
    return bool(logs_of_close(timeline, absence))


def logs_of_close(timeline: Timeline, absence: Absence) -> list[CoveredLog]:
    """The member's own logs that reach its close and would show an error before it."""
    who = absence.participant
    logs = [log for log in timeline.coverage.of(who) if log.begin <= absence.at]
    shown = absence.stop is not None or any(
        timeline.participants.of_speaker(event) is who for event in absence.departure_lines
    )
    # A log without the member's own line about its LeaveGroup may lack earlier lines as well: it was collected too
    # early, or lines were lost.
    return logs if shown or not timeline.is_classic or not logs_leave_group(timeline, who) else []


def ended_with_its_process(absence: Absence) -> bool:
    """True if the process stopped or another process replaced it."""
    return absence.stop is not None or absence.start is not None


def _closed_without_leave_group(timeline: Timeline, absence: Absence) -> bool:
    """True if its log shows a close, or ends with an error and the client does not log LeaveGroup."""
    if is_static(timeline, absence) or not absence.participant.has_log:
        return False
    if absence.stop is not None:
        return True
    if absence.is_over or not absence.vanished or lines_after(timeline, absence):
        return False
    return not logs_leave_group(timeline, absence.participant) and bool(exception_before(timeline, absence))
