"""Members of several processes that were removed at one heartbeat while running, shown by their own logs alone.

A coordinator evicts members one by one, each when its own session expires. Processes that were paused resume at
different times and give up a coordinator that they have not heard from for a session (AbstractCoordinator). An
administrator's request removes all members at once, and each learns of it at its next heartbeat (KIP-345).
"""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.episodes.members.absences import Absence, absences
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import OWN_LINES, lines_after
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost, NodeDisconnected
from rebalance_forensics.events.epochs import GroupHeartbeatFailed
from rebalance_forensics.events.partitions import OffsetCommitFailed, OwnershipGivenUp
from rebalance_forensics.events.rebalances import HeartbeatFailed, JoinSucceeded, SyncFailed, SyncSucceeded
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.membership.lost_membership import was_refused
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms, session_timeout_ms
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS

_NOTICED_LATE = (OffsetCommitFailed, OwnershipGivenUp)


def expelled_at_once(timeline: Timeline) -> list[list[Absence]]:
    """Members of several processes that learned within one heartbeat interval that they are unknown."""
    return timeline.cached(_expelled_at_once)


def expelled_with(timeline: Timeline, absence: Absence) -> list[Absence]:
    """The group expelled at once that this absence belongs to; empty where there is none."""
    return timeline.cached(_by_their_departures).get(absence.departures[0].id, [])


def _by_their_departures(timeline: Timeline) -> dict[str, list[Absence]]:
    return {absence.departures[0].id: group for group in expelled_at_once(timeline) for absence in group}


def _expelled_at_once(timeline: Timeline) -> list[list[Absence]]:
    interval = heartbeat_interval_ms(timeline) + ROUND_TRIP_MS
    candidates = (
        absence
        for absence in absences(timeline, ("expelled",))
        if not _has_coordinator_log(timeline, absence, interval) and not unassigned_when_lost(timeline, absence)
    )
    together = runs(
        (absence for absence in candidates if _kept_its_coordinator(timeline, absence)),
        lambda absence: absence.at,
        interval,
    )
    return [group for group in together if _of_several_processes(group)]


def expulsion_notices(absence: Absence) -> tuple[Event, ...]:
    """The heartbeat responses to a Java client that it is not a member."""
    refusals = (e for e in absence.departure_lines if isinstance(e, HeartbeatFailed | GroupHeartbeatFailed))
    return tuple(e for e in refusals if e.error == "UNKNOWN_MEMBER_ID" and e.speaker.role != "other")


def unassigned_when_lost(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The lines of an expulsion between the answers to its JoinGroup and its SyncGroup."""
    # A coordinator removes a member that sends no SyncGroup within the rebalance timeout ("pending sync", KAFKA-12890),
    # running or not. Java clients log both answers from 2.6.1 on.
    if any(d.why != "expelled" for d in absence.departures):
        return ()
    if all(isinstance(e, SyncFailed) for e in absence.departure_lines):
        return absence.departure_lines
    answered = timeline.events_from(absence.participant, JoinSucceeded, SyncSucceeded).last(absence.at)
    if not isinstance(answered, JoinSucceeded) or answered.after_sync or answered.speaker.role == "other":
        return ()
    return (answered, *absence.departure_lines)


def log_starts_after_expulsion(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The lines that show a lost membership, where the member's log begins with them and continues."""
    # The answers to heartbeats, JoinGroup and SyncGroup report it. A member that left at its poll timeout learns of it
    # minutes later, by its next commit or when it revokes its partitions; a log of warnings shows only such commits.
    if not any(log.detailed for log in timeline.coverage.of(absence.participant)):
        return ()
    if any(d.why != "expelled" for d in absence.departures) or not lines_after(timeline, absence):
        return ()
    lines = timeline.events_from(absence.participant, Event)
    since = next((time_of(e) for e in lines if not isinstance(e, _NOTICED_LATE)), absence.at)
    first = absence.departure_lines[0]
    late = was_refused(first) or isinstance(first, OwnershipGivenUp)
    return absence.departure_lines[:OWN_LINES] if late and since >= time_of(first) else ()


def _has_coordinator_log(timeline: Timeline, absence: Absence, interval: int) -> bool:
    """True if a coordinator's log covers the time: it shows how the member left."""
    return bool(covering(timeline.coverage.brokers, absence.at - interval, absence.at))


def _kept_its_coordinator(timeline: Timeline, absence: Absence) -> bool:
    """True if a log that would show it has no lost coordinator, lost connection, stop or start."""
    if absence.start is not None or absence.stop is not None or not expulsion_notices(absence):
        return False
    begin = absence.at - session_timeout_ms(timeline)
    if not covering(timeline.coverage.of(absence.participant), begin, absence.at):
        return False
    lost = timeline.events_from(absence.participant, CoordinatorLost, NodeDisconnected)
    return not lost.any_between(begin, absence.back_at or absence.at + ROUND_TRIP_MS)


def _of_several_processes(group: Sequence[Absence]) -> bool:
    # Consumers of one process pause together.
    return len({min(absence.participant.files, default="") for absence in group}) > 1
