"""Members whose sessions expired or that were expelled, and what their own logs and other threads show about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED, Absence, absences, lasts_a_session
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clients import (
    closes_unlogged,
    is_not_kafkas,
    logs_leave_group,
    logs_sync_apart,
    may_lose_closing_lines,
)
from rebalance_forensics.timeline.clocks.file_clocks import place_of
from rebalance_forensics.timeline.coverage import CoveredLog, covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Departure
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.names import streams_thread
from rebalance_forensics.timeline.membership.lost_membership import was_refused
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms, session_timeout_ms, together_ms
from rebalance_forensics.timeline.windows import AT_ONCE_MS, HEARTBEAT_MS, ROUND_TRIP_MS

# At most this many lines of a member's own log are quoted.
OWN_LINES = 4


def losses(timeline: Timeline) -> list[Absence]:
    """Every absence of a member that left without a LeaveGroup or a logged close."""
    return absences(timeline, UNANNOUNCED)


def silent_since(timeline: Timeline, absence: Absence, own: Sequence[Event]) -> int:
    """The time of its first line about the absence or in `own`, but at most a session before the group lost it."""
    # An idle member's last line may be hours old.
    first, earliest = absence.first_line_at, absence.at - session_timeout_ms(timeline)
    for event in own:
        if event.at is not None and (first is None or event.at < first):
            first = event.at
    return max(absence.at if first is None else first, earliest)


def last_line(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The lines of its shutdown and next start, else the last line of its own log; empty if it has no log."""
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


def logs_from_before(timeline: Timeline, absence: Absence) -> list[CoveredLog]:
    """Its own logs that begin at least a session before the group lost it and would show a shutdown."""
    begin = absence.at - session_timeout_ms(timeline)
    if timeline.coverage.missing_from(absence.participant, begin, absence.at):
        return []
    return [log for log in timeline.coverage.detailed(absence.participant) if log.begin <= begin]


def is_static(timeline: Timeline, absence: Absence) -> bool:
    """True for a static member, by its instance id or by the coordinator's count of static members."""
    if absence.participant.instance_ids:
        return True
    return not absence.participant.has_log and timeline.membership.all_static_at(absence.at)


def down_ms(timeline: Timeline, absence: Absence) -> int:
    """How long a member was down, up to its return or the end of the logs.

    That time starts with its logged stop, or else with its last heartbeat.
    """
    down_at = absence.at - session_timeout_ms(timeline) if absence.stop is None else absence.stop.at
    return (timeline.coverage.end if absence.back_at is None else absence.back_at) - down_at


def shown_without_heartbeats(absence: Absence) -> bool:
    """True if only requests other than heartbeats failed, which do not show whether heartbeats were missing."""
    # A member that joins or syncs sends no heartbeats yet; a new coordinator may not know it.
    others = (ev.OffsetCommitFailed, ev.JoinFailed, ev.SyncFailed)
    return bool(absence.departure_lines) and all(isinstance(e, others) for e in absence.departure_lines)


def close_not_logged(timeline: Timeline, absence: Absence) -> bool:
    """True for a consumer whose client logs no close and whose log ends, at least until its process restarts."""
    return absence.stop is None and absence.vanished and closes_unlogged(timeline, absence.participant)


def log_ends_without_shutdown(timeline: Timeline, absence: Absence) -> bool:
    """True if only the end of its log and a later list of members show that it left, while other logs continue."""
    # Log4j 2 shuts down in its own hook while another hook closes the consumer: the lines about the close are lost.
    if not absence.vanished or absence.is_over or absence.stop is not None:
        return False
    end = timeline.coverage.ends(absence.participant)
    if end is None or not lasts_a_session(timeline, absence.at):
        return False
    return end <= absence.at + HEARTBEAT_MS and logs_leave_group(timeline, absence.participant)


def restart_without_shutdown(timeline: Timeline, absence: Absence) -> bool:
    """True if its log shows a new process but no close or expiry: the lines about the close may be lost."""
    if not absence.vanished or absence.start is None or absence.stop is not None:
        return False
    return not timeline.has_coordinator_log and may_lose_closing_lines(timeline, absence.participant)


def may_be_cut_short(timeline: Timeline, absence: Absence) -> bool:
    """True if its log may have been collected before the group lost it: it ends early, like that of a live member."""
    # A crashed member is evicted one session later. Its last line may be even older, as an idle member logs nothing.
    logs = timeline.coverage.of(absence.participant)
    end = max((log.end for log in logs if log.begin < absence.at), default=None)
    if end is None or end >= absence.at - session_timeout_ms(timeline) - HEARTBEAT_MS:
        return False
    # Logs of two days, for example: nothing at hand shows what happened to the group in between.
    since = timeline.coverage.shown_since(absence.at)
    if since is not None and end < since:
        return True
    others = (member for member in timeline.membership.members if member is not absence.participant)
    ends = ((member, timeline.coverage.ends(member)) for member in others)
    early = [member for member, closed in ends if closed is not None and closed < absence.at]
    return any(not timeline.departures.of(member) for member in early)


_JOINING = (ev.JoinRequested, ev.JoinSucceeded, ev.SyncSucceeded, ev.PartitionsAssigned, ev.MemberTransitioned)
_NOTICED_LATE = (ev.OffsetCommitFailed, ev.OwnershipGivenUp)


# A coordinator evicts members one by one when their sessions expire. Paused processes resume at different times and
# give up a coordinator that sent no response for a session timeout (AbstractCoordinator). An administrator's request
# removes all members at once, and each learns of it from its next heartbeat (KIP-345).
def expelled_with(timeline: Timeline, absence: Absence) -> list[Absence]:
    """The absences of the members that were expelled together with this one, itself included; empty if none."""
    return _expelled_by_departure(timeline).get(absence.departures[0].id, [])


@cached_answer
def _expelled_by_departure(timeline: Timeline) -> dict[str, list[Absence]]:
    """Departure id -> the absences of the members that were expelled together."""
    return {absence.departures[0].id: group for group in expelled_at_once(timeline) for absence in group}


@cached_answer
def expelled_at_once(timeline: Timeline) -> list[list[Absence]]:
    """Absences of members of several processes that learned within one heartbeat interval that they were expelled."""
    interval = heartbeat_interval_ms(timeline) + ROUND_TRIP_MS
    candidates = (
        absence
        for absence in absences(timeline, ("expelled",))
        # A coordinator's log that covers the time shows how the member left.
        if not covering(timeline.coverage.brokers, absence.at - interval, absence.at)
        and not unassigned_when_lost(timeline, absence)
    )
    together = runs(
        (absence for absence in candidates if _kept_its_coordinator(timeline, absence)),
        lambda absence: absence.at,
        interval,
    )
    # Consumers of one process pause together.
    return [group for group in together if len({min(absence.participant.files, default="") for absence in group}) > 1]


def expulsion_notices(absence: Absence) -> tuple[Event, ...]:
    """The heartbeat responses to a Java client that it is not a member."""
    refusals = (e for e in absence.departure_lines if isinstance(e, ev.HeartbeatFailed | ev.GroupHeartbeatFailed))
    return tuple(e for e in refusals if e.error == "UNKNOWN_MEMBER_ID" and not is_not_kafkas(e))


def unassigned_when_lost(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The lines of an expulsion between the responses to its JoinGroup and its SyncGroup; empty at other times."""
    # A coordinator removes a member that sends no SyncGroup within the rebalance timeout ("pending sync", KAFKA-12890),
    # running or not.
    if absence.whys != {"expelled"}:
        return ()
    if all(type(e) is ev.SyncFailed for e in absence.departure_lines):
        return absence.departure_lines
    answered = timeline.events_from(absence.participant, ev.JoinSucceeded, ev.SyncSucceeded).last(absence.at)
    if not isinstance(answered, ev.JoinSucceeded) or not logs_sync_apart(answered):
        return ()
    return (answered, *absence.departure_lines)


def log_starts_after_expulsion(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The lines that show a lost membership, if the member's log begins with them and continues; else empty."""
    # Responses to heartbeats, JoinGroup and SyncGroup report it. A member that left at its poll timeout learns of it
    # minutes later, from its next commit or revocation; a log with only warnings shows only such commits.
    if (
        not timeline.coverage.detailed(absence.participant)
        or absence.whys != {"expelled"}
        or not lines_after(timeline, absence)
    ):
        return ()
    lines = timeline.events_from(absence.participant, Event).onwards(0)
    since = next((time_of(e) for e in lines if not isinstance(e, _NOTICED_LATE)), absence.at)
    first = absence.departure_lines[0]
    late = was_refused(first) or isinstance(first, ev.OwnershipGivenUp)
    return absence.departure_lines[:OWN_LINES] if late and since >= time_of(first) else ()


def log_starts_in_its_silence(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The first line of a running process whose log begins, or lacks lines, before its session expired; else empty."""
    # A coordinator that was paused evicts running members, whose logs then look like those of paused members.
    if absence.start is not None or not absence.fell_silent:
        return ()
    logs = timeline.coverage.detailed(absence.participant)
    lost_since = absence.at - session_timeout_ms(timeline)
    if missing := timeline.coverage.missing_from(absence.participant, lost_since, absence.at):
        return tuple(timeline.events_from(absence.participant, Event).since(missing[0][1])[:1])
    if absence.whys != {"session-expired"}:
        return ()
    if min((log.begin for log in logs), default=absence.at) <= lost_since:
        return ()
    if not logs and not timeline.coverage.shows_picked_lines(absence.participant):
        return ()
    # A member whose log shows its join sent heartbeats after it. In a file to which several members write, coverage
    # begins for each at its own first line.
    if timeline.events_from(absence.participant, *_JOINING).last(absence.at) is not None:
        return ()
    opening = timeline.events_from(absence.participant, Event).first(0)
    if opening is None or time_of(opening) <= lost_since or timeline.coverage.began_before(opening, lost_since):
        return ()
    # A file with lines of both the member and the coordinator is an excerpt that a person selected.
    picked_with_it = () if logs else timeline.coordinator_events
    return () if any(place_of(event) == place_of(opening) for event in picked_with_it) else (opening,)


def _kept_its_coordinator(timeline: Timeline, absence: Absence) -> bool:
    """True if its log covers the session and shows no lost coordinator, lost connection, stop or start."""
    if absence.start is not None or absence.stop is not None or not expulsion_notices(absence):
        return False
    begin = absence.at - session_timeout_ms(timeline)
    if not covering(timeline.coverage.of(absence.participant), begin, absence.at):
        return False
    lost = timeline.events_from(absence.participant, ev.CoordinatorLost, ev.NodeDisconnected)
    return not lost.any_between(begin, absence.back_at or absence.at + ROUND_TRIP_MS)


def process_survived(timeline: Timeline, absence: Absence) -> bool:
    """True if only some threads left while other threads of their process remained members."""
    # The threads came back under the same names, or stayed away as threads do after an exception.
    if absence.participant.kind != "instance":
        return False
    departed, back = _threads(absence.departures), _threads(absence.arrivals)
    if not departed or not back <= departed:
        return False
    came = timeline.arrivals.of(absence.participant).between(0, absence.at)
    if not back:
        reach = together_ms(timeline)
        initial = max((a.at for a in came if _threads([a]) & departed), default=absence.at)
        came = [a for a in came if a.at <= initial + reach] if timeline.coverage.end >= absence.at + reach else []
    known = _threads(came)
    lost = timeline.departures.of(absence.participant).between(
        absence.at - together_ms(timeline), (absence.back_at or absence.at) + together_ms(timeline)
    )
    return bool(known - departed - _threads(lost))


def removed_by_application(timeline: Timeline, absence: Absence) -> list[ev.ThreadRemoved]:
    """The lines of KafkaStreams.removeStreamThread (KIP-663) that removed all these threads; else empty."""
    if absence.participant.kind != "instance" or absence.start is not None:
        return []
    removals = timeline.events_from(absence.participant, ev.ThreadRemoved).between(absence.at - AT_ONCE_MS, absence.at)
    removed = {e.thread: e for e in removals if type(e) is ev.ThreadRemoved and e.phase == "removing"}
    departed = _threads(absence.departures)
    return [removed[thread] for thread in sorted(departed)] if departed and departed <= set(removed) else []


def _threads(moves: Iterable[Arrival | Departure]) -> set[str]:
    return {thread for m in moves if m.member and (thread := streams_thread(m.member))}
