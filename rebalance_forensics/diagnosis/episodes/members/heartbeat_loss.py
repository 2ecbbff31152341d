"""Members that stopped heartbeating, and what their own logs show of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED, Absence, absences
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.partitions import OffsetCommitFailed
from rebalance_forensics.events.rebalances import AssignmentReceived
from rebalance_forensics.timeline.clients import closes_unlogged, logs_leave_group, may_lose_closing_lines
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS

# The most lines of a member's own log that are quoted.
OWN_LINES = 4


def losses(timeline: Timeline) -> list[Absence]:
    """Every absence of a member that left without a LeaveGroup or a logged close."""
    return absences(timeline, UNANNOUNCED)


def silent_since(timeline: Timeline, absence: Absence, own: Sequence[Event]) -> int:
    """When it fell silent, as far as its lines show; at most a session before its loss."""
    # An idle member's last line may be hours old.
    first, earliest = absence.first_line_at, absence.at - session_timeout_ms(timeline)
    for event in own:
        if event.at is not None and (first is None or event.at < first):
            first = event.at
    return max(absence.at if first is None else first, earliest)


def last_line(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The last line of its own log before a start, a shutdown or its end."""
    lines = [*(absence.stop.events if absence.stop else ()), *(absence.start.events[:1] if absence.start else ())]
    if lines or not absence.participant.has_log:
        return tuple(lines)
    before = timeline.events_from(absence.participant, Event).last(absence.at)
    return (before,) if before is not None and before.at else ()


def lines_after(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The first lines of its own log after the group lost it."""
    if not absence.participant.has_log or absence.start is not None:
        return ()
    return tuple(islice(timeline.events_from(absence.participant, Event).onwards(absence.at + 1), OWN_LINES))


def is_static(timeline: Timeline, absence: Absence) -> bool:
    """True for a static member, by its instance id or by the coordinator's count."""
    if absence.participant.instance_ids:
        return True
    return not absence.participant.has_log and _all_static(timeline, absence.at)


def _all_static(timeline: Timeline, at: int) -> bool:
    # From 2.7 on a coordinator counts each generation's static members; logs may begin after it named them.
    counts = timeline.cached(_counted)
    nearest = counts.last(at) or counts.first(at)
    return nearest is not None and nearest.static_count == nearest.member_count


def _counted(timeline: Timeline) -> TimeIndex[AssignmentReceived]:
    assignments = timeline.of(AssignmentReceived)
    return TimeIndex((e for e in assignments if e.member_count and e.static_count is not None), time_of)


def shown_by_commits_alone(absence: Absence) -> bool:
    """Nothing but refused commits shows that it was no longer a member: they do not show whether it was silent."""
    return bool(absence.departure_lines) and all(isinstance(e, OffsetCommitFailed) for e in absence.departure_lines)


def close_not_logged(timeline: Timeline, absence: Absence) -> bool:
    """True for a consumer that logs no close and whose log ends, or stops until its process restarts."""
    return absence.stop is None and absence.vanished and closes_unlogged(timeline, absence.participant)


def log_ends_without_shutdown(timeline: Timeline, absence: Absence) -> bool:
    """True if only the end of its log and a list without it show that it left, though the other logs go on."""
    # Log4j 2 shuts down in its own hook while another hook closes the consumer: the lines of the close are lost.
    if not absence.vanished or absence.start is not None or absence.stop is not None or absence.back_at is not None:
        return False
    end = timeline.coverage.ends(absence.participant)
    if end is None or timeline.coverage.end - absence.at < session_timeout_ms(timeline):
        return False
    return end <= absence.at + HEARTBEAT_MS and logs_leave_group(timeline, absence.participant)


def restart_without_shutdown(timeline: Timeline, absence: Absence) -> bool:
    """True if its log shows a new process and neither a close nor an expiry: the closing lines may be lost."""
    if not absence.vanished or absence.start is None or absence.stop is not None:
        return False
    return not timeline.has_coordinator_log and may_lose_closing_lines(timeline, absence.participant)


def may_be_cut_short(timeline: Timeline, absence: Absence) -> bool:
    """True if its log may have been collected before the group lost it: it ends long before, as a survivor's does."""
    # A dead member is missed one session later. Its last line may be older still: an idle member logs nothing.
    end = timeline.coverage.ends(absence.participant)
    if end is None or end >= absence.at - session_timeout_ms(timeline) - HEARTBEAT_MS:
        return False
    others = (member for member in timeline.membership.members if member is not absence.participant)
    ends = ((member, timeline.coverage.ends(member)) for member in others)
    early = [member for member, closed in ends if closed is not None and closed < absence.at]
    return any(not timeline.departures.of(member) for member in early)
