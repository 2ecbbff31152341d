"""Signs of members that stopped heartbeating, from the coordinator, their own logs and their returns."""

from __future__ import annotations

from itertools import islice

from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED, Absence, distinct_events
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import (
    OWN_LINES,
    close_not_logged,
    expelled_with,
    expulsion_notices,
    is_static,
    lines_after,
    log_ends_without_shutdown,
    log_starts_after_expulsion,
    may_be_cut_short,
    process_survived,
    restart_without_shutdown,
    shown_by_commits_alone,
    unassigned_when_lost,
)
from rebalance_forensics.diagnosis.seen import Place, coordinator_log, looked, own_log, own_place, seen
from rebalance_forensics.diagnosis.sign import Absent, Answer, Present, Subject, Unobservable, asked_of_each, sign
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.epochs import GroupHeartbeatFailed
from rebalance_forensics.events.membership import MemberFailed
from rebalance_forensics.events.partitions import OffsetCommitFailed, OwnershipGivenUp
from rebalance_forensics.events.rebalances import (
    GenerationReset,
    HeartbeatFailed,
    JoinFailed,
    JoinSucceeded,
    SyncFailed,
    SyncSucceeded,
)
from rebalance_forensics.timeline.clients import (
    between_records_lines,
    closes_without_leave_group,
    heartbeats_from_poll,
    logs_leave_group,
    shared_loop_line,
    shared_loop_lines,
)
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import has_unique_suffix, is_bare_member_id
from rebalance_forensics.timeline.identity.participants import own_member_id
from rebalance_forensics.timeline.membership.lost_membership import is_late_commit, was_expelled, was_refused
from rebalance_forensics.timeline.timeouts import session_timeout_ms, shown_session_ms
from rebalance_forensics.timeline.windows import AT_ONCE_MS, HEARTBEAT_MS, REQUEST_TIMEOUT_MS, ROUND_TRIP_MS

# Answers to the heartbeat of one that is a member no more, or not of this generation.
_NOT_A_MEMBER = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")


@sign(
    present="other threads of the same process stayed in the group, so the process was running",
    absent="all threads of the process left",
)
def other_threads_stayed(timeline: Timeline, subject: Subject) -> Answer:
    """Only some threads of an instance fell silent, and came back under the same names."""
    if not subject.absences or any(a.participant.kind != "instance" for a in subject.absences):
        return Unobservable()
    lived = [a for a in subject.absences if process_survived(timeline, a)]
    return Present(distinct_events(e for a in lived for e in a.events)) if lived else Absent()


@sign(
    present="its client sends heartbeats from the loop that handles records, so one slow record silences it as well",
    absent="",
)
def heartbeats_in_the_loop(timeline: Timeline, subject: Subject) -> Answer:
    """The client sends heartbeats from the loop that handles records."""
    # Without a heartbeat thread a slow handler and a pause look the same.
    if any(a.back_at is None and not timeline.events_from(a.participant, Event).first(a.at) for a in subject.absences):
        return Unobservable()  # a handler that never ends and a process that died look the same, too
    if all(map(shown_by_commits_alone, subject.absences)):
        return Unobservable()  # a refused commit shows that it was running, not that its heartbeats were missing
    lines = shared_loop_lines(timeline, [a.participant for a in subject.absences])
    return Present(lines) if lines else Unobservable()


@sign(
    present="it came back, and its client sends no heartbeat while the handler of a record waits for something",
    absent="",
)
def heartbeats_between_records(timeline: Timeline, subject: Subject) -> Answer:
    """The member came back, and its client sends no heartbeat while a record's handler waits."""
    # In KafkaJS a handler that waits is silent although its process runs; a pause is the rarer of the two.
    back = bool(subject.absences) and all(a.back_at is not None for a in subject.absences)
    lines = between_records_lines(timeline, [a.participant for a in subject.absences]) if back else ()
    return Present(lines) if lines else Unobservable()


@sign(
    present="it did not leave on its own: its session expired, or its log would show the request",
    absent="it left the group on its own",
)
def no_leave_sent(timeline: Timeline, subject: Subject) -> Answer:
    """The members fell silent and sent no LeaveGroup."""
    for absence in subject.absences:
        own_lines = absence.departure_lines
        if unassigned_when_lost(timeline, absence) or log_starts_after_expulsion(timeline, absence):
            # Who does not sync in time is removed as well, who does not poll leaves; nothing says that it was silent.
            return Unobservable((coordinator_log(absence.at, absence.at),))
        if any(d.why not in UNANNOUNCED for d in absence.departures):
            return Absent(lines=own_lines)
        if absence.vanished and not _would_log_its_leaving(timeline, absence):
            return Unobservable((coordinator_log(absence.at, absence.at),))
    return (
        Present(tuple([e for a in subject.absences for e in a.departure_lines])) if subject.absences else Unobservable()
    )


def _would_log_its_leaving(timeline: Timeline, absence: Absence) -> bool:
    return logs_leave_group(timeline, absence.participant) and not may_be_cut_short(timeline, absence)


@sign(
    present="its own log continues, written by the same process",
    absent="its own log ends there while others continue",
)
def own_log_continues(timeline: Timeline, subject: Subject) -> Answer:
    """The process of the lost member kept writing its log."""
    return asked_of_each(timeline, subject, log_continues)


def log_continues(timeline: Timeline, absence: Absence) -> Answer:
    """The log of one member continues after the group lost it, without a start or a shutdown in between."""
    return timeline.cached_as(("log continues", absence), lambda: _continues(timeline, absence))


def _continues(timeline: Timeline, absence: Absence) -> Answer:
    if absence.start is not None or absence.stop is not None:
        return Unobservable()
    participant, end = absence.participant, timeline.coverage.ends(absence.participant)
    alive = lines_after(timeline, absence)
    if alive and not covering(timeline.coverage.of(participant), absence.at - 1, time_of(alive[0])):
        # A log that begins later, or holds warnings only, does not show whether the process was started anew, unless
        # it still goes by the member id that only the process before can know, or a client that sends its heartbeats
        # between records is told that it is unknown.
        alive = events_with_former_id(timeline, absence)
        if not alive and shared_loop_line(timeline, participant) is not None:
            alive = _heartbeats_refused(timeline, absence)
        end = None
    if alive:
        return Present(alive)
    if end is None:
        return Unobservable((own_log(absence, session_timeout_ms(timeline)),))
    if end > absence.at + HEARTBEAT_MS:
        return Present()
    if any(departure.why == "poll-timeout" for departure in absence.departures):
        # It was running when it left, and a loop that never ends logs nothing more.
        return Unobservable()
    soon = absence.back_at is not None or timeline.coverage.end - absence.at < session_timeout_ms(timeline)
    if soon or may_be_cut_short(timeline, absence):
        return Unobservable((own_log(absence, session_timeout_ms(timeline)),))
    return Absent(looked(timeline.coverage.of(participant), absence.at - session_timeout_ms(timeline), absence.at))


@sign(present="it logged itself that its session was over, so it was running", absent="")
def logged_its_own_loss(timeline: Timeline, subject: Subject) -> Answer:
    """The member's own log has the loss of its session, or a request refused because the coordinator forgot it."""
    losses = [
        e
        for a in subject.absences
        for e in a.departure_lines
        if a.start is None or time_of(e) < a.start.at
        if isinstance(e, CoordinatorLost | HeartbeatFailed | OwnershipGivenUp) or was_refused(e) or _was_answered(e)
    ]
    own = tuple([e for e in losses if timeline.participants.of_speaker(e) in subject.participants])
    return Present(own[:OWN_LINES]) if own else Unobservable()


def _was_answered(event: Event) -> bool:
    """True for the coordinator's answer to a member that asked with its id; a process that starts anew has none yet."""
    return isinstance(event, GenerationReset | GroupHeartbeatFailed | JoinFailed | SyncFailed) and was_expelled(event)


@sign(present="it learned from a failed commit, after processing records, that it was no longer a member", absent="")
def learned_by_commit(timeline: Timeline, subject: Subject) -> Answer:
    """The member learned of its expulsion from a failed commit.

    Before, whoever polls again commits first, whether its loop was slow or its process stood still.
    """
    # The heartbeat thread leaves when the poll timeout expires (KIP-62): the next commit is the first request that
    # fails.
    if any(heartbeats_from_poll(timeline, participant) for participant in subject.participants):
        return Unobservable()
    first_losses = [e for a in subject.absences for e in a.departure_lines[:1]]
    commits = all(isinstance(e, OffsetCommitFailed) or is_late_commit(e) for e in first_losses)
    return Present(tuple(first_losses)) if first_losses and commits else Unobservable()


@sign(present="it used its old member id again, which only the same process knows", absent="")
def old_id_used_again(timeline: Timeline, subject: Subject) -> Answer:
    """The member used its former id again, which a new process does not know."""
    for absence in subject.absences:
        if absence.start is not None:
            continue
        lines = [*events_with_former_id(timeline, absence)]
        if absence.arrivals:
            former_ids = {d.member for d in absence.departures if d.member}
            # A client makes its KIP-848 member id when it starts and keeps it for as long as the process lives.
            back = [a for a in absence.arrivals if a.member in former_ids and is_bare_member_id(a.member)]
            lines += [e for a in back for e in a.events[:1]]
        if lines:
            return Present(tuple(lines))
    return Unobservable()


def events_with_former_id(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """Lines of its own log after the loss that carry the former member id."""
    until = (absence.back_at or absence.at) + session_timeout_ms(timeline)
    own_lines = timeline.events_from(absence.participant, Event).between(absence.at + 1, until)
    if not own_lines:
        return ()
    former_ids = {d.member for d in absence.departures if d.member and has_unique_suffix(d.member)}
    return tuple(islice((e for e in own_lines if own_member_id(e) in former_ids), OWN_LINES))


def _heartbeats_refused(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """Only whoever joined sends heartbeats: the process that hears that it is unknown is the one that was a member."""
    refused = [e for e in absence.departure_lines if isinstance(e, HeartbeatFailed) and e.error in _NOT_A_MEMBER]
    return tuple([e for e in refused if timeline.participants.of_speaker(e) is absence.participant])


@sign(present="its process was restarted", absent="it was not restarted: its log continues without a start")
def new_process(timeline: Timeline, subject: Subject) -> Answer:
    """The members that came back were new processes."""
    return asked_of_each(timeline, subject, anew)


def anew(timeline: Timeline, absence: Absence) -> Answer:
    """One absence ended with a new process."""
    if absence.start is not None:
        return Present(tuple(absence.start.events[:2]))
    known = log_continues(timeline, absence)
    if (
        isinstance(known, Present)
        and known.lines
        and any(g.detailed for g in timeline.coverage.of(absence.participant))
    ):
        return Absent(lines=known.lines)
    if refused := _heartbeats_refused(timeline, absence):
        return Absent(lines=refused)
    back = [a for a in absence.arrivals if is_bare_member_id(a.member or "")]
    former_ids = {d.member for d in absence.departures if is_bare_member_id(d.member or "")} if back else None
    if former_ids:
        lines = tuple(e for a in back for e in a.events[:1])
        return Absent(lines=lines) if any(a.member in former_ids for a in back) else Present(lines)
    return Unobservable((own_log(absence, session_timeout_ms(timeline)),))


@sign(present="it shut down cleanly", absent="its log shows no shutdown")
def shut_down(timeline: Timeline, subject: Subject) -> Answer:
    """Its own log has a close."""
    return asked_of_each(timeline, subject, _closed)


def _closed(timeline: Timeline, absence: Absence) -> Answer:
    if absence.stop is not None:
        return Present(tuple(absence.stop.events[:3]))
    begin = absence.at - session_timeout_ms(timeline)
    logs = [log for log in timeline.coverage.of(absence.participant) if log.detailed and log.begin <= begin]
    return Absent(looked(logs, begin, absence.at)) if logs else Unobservable((own_log(absence, absence.at - begin),))


@sign(present="it logged lines or joined while it should have been paused", absent="")
def awake_while_away(timeline: Timeline, subject: Subject) -> Answer:
    """The member was active while it was said to be silent; asked where only the client logged its expulsion."""
    for absence in subject.absences:
        if timeline.has_coordinator_log or not all(d.why == "expelled" for d in absence.departures):
            continue
        session = session_timeout_ms(timeline)
        if shared_loop_line(timeline, absence.participant) is not None:
            session = shown_session_ms(timeline) or AT_ONCE_MS
        joined = timeline.events_from(absence.participant, JoinSucceeded, SyncSucceeded)
        own_lines = timeline.events_from(absence.participant, Event)
        alive = joined.between(absence.at - session, absence.at - 1)
        alive = alive or own_lines.between(absence.at - 6 * session // 10, absence.at - session // 4)
        if alive:
            return Present(tuple(alive[:OWN_LINES]))
    return Absent()


@sign(
    present="it gave up its coordinator when it woke up",
    absent="it kept its coordinator, as a member that only fails to poll does",
)
def gave_up_coordinator(timeline: Timeline, subject: Subject) -> Answer:
    """The member gave up its coordinator when it woke up."""
    # A process that stood still gives up its coordinator when it wakes up; one that only did not poll keeps it.
    if not subject.absences or shared_loop_lines(timeline, [a.participant for a in subject.absences]):
        return Unobservable()
    if not timeline.is_classic or any(
        isinstance(e, MemberFailed) for away in subject.absences for e in away.departure_lines
    ):
        return Unobservable()
    lines: list[Event] = []
    places: list[Place] = []
    for absence in subject.absences:
        begin, until = absence.at - 2 * ROUND_TRIP_MS, absence.back_at if absence.back_at is not None else absence.at
        lost = timeline.events_from(absence.participant, CoordinatorLost).between(begin, until + ROUND_TRIP_MS)
        need = own_log(absence, session_timeout_ms(timeline))
        lines += lost[:2]
        places.append(own_place(timeline, absence.participant, begin, until, need=need))
    return seen(lines, places)


@sign(present="it is a static member (group.instance.id)", absent="it has no group.instance.id")
def static_member(timeline: Timeline, subject: Subject) -> Answer:
    """The members have instance ids, as far as lines show."""
    if not subject.participants:
        return Unobservable()
    if subject.absences and all(is_static(timeline, a) for a in subject.absences):
        return Present(tuple(e for a in subject.absences for e in a.departure_lines))
    return Absent() if any(a.has_log for a in subject.participants) else Unobservable()


@sign(present="a Streams instance closes without a LeaveGroup, so a clean stop looks the same", absent="")
def closes_without_leaving(timeline: Timeline, subject: Subject) -> Answer:
    """A Streams instance closes without a LeaveGroup: without its log a stop looks like a death."""
    silent = any(closes_without_leave_group(timeline, participant) for participant in subject.participants)
    return Present() if silent else Absent()


@sign(present="a consumer before 2.1 logs nothing when it closes, so a clean stop looks the same", absent="")
def closes_without_a_line(timeline: Timeline, subject: Subject) -> Answer:
    """Only the log of an old client ends, and no coordinator logged the departure."""
    silent = any(close_not_logged(timeline, absence) for absence in subject.absences)
    return Present() if silent else Absent()


@sign(present="only its log ends, and some loggers stop before the consumer closes, as Log4j 2 does", absent="")
def log_just_ends(timeline: Timeline, subject: Subject) -> Answer:
    """Only its log ends; without the coordinator's log a clean stop may look the same."""
    silent = any(log_ends_without_shutdown(timeline, absence) for absence in subject.absences)
    return Present() if silent else Absent()


@sign(present="its log shows no close, but some loggers stop before the consumer closes, as Log4j 2 does", absent="")
def log_breaks_off(timeline: Timeline, subject: Subject) -> Answer:
    """Its log breaks off before a new start; without the coordinator's log a clean restart may look the same."""
    silent = any(restart_without_shutdown(timeline, absence) for absence in subject.absences)
    return Present() if silent else Absent()


@sign(present="it had joined and not yet been given its assignment when it was no longer a member", absent="")
def lost_before_its_assignment(timeline: Timeline, subject: Subject) -> Answer:
    """The member was lost before it received an assignment."""
    # A member that does not send SyncGroup in time is removed as well, even if it sent heartbeats.
    shown = [unassigned_when_lost(timeline, away) for away in subject.absences]
    return Present(tuple(e for lines in shown for e in lines)) if shown and all(shown) else Absent()


@sign(
    present="its log begins when it was no member any more, so a poll timeout before that would not be shown", absent=""
)
def lost_before_its_log(timeline: Timeline, subject: Subject) -> Answer:
    """The member's log begins with refused commits."""
    shown = [log_starts_after_expulsion(timeline, away) for away in subject.absences]
    return Present(tuple(e for lines in shown for e in lines)) if shown and all(shown) else Absent()


@sign(
    present="members of several processes that had not lost their coordinator were told at one heartbeat that they are "
    "unknown, as if all were removed at once",
    absent="",
)
def expelled_with_others(timeline: Timeline, subject: Subject) -> Answer:
    """Members of several processes were expelled at one heartbeat, whereas sessions expire one by one."""
    if not subject.absences or not all(expelled_with(timeline, away) for away in subject.absences):
        return Unobservable()
    together = expelled_with(timeline, subject.absences[0])
    return Present(tuple(e for away in together for e in expulsion_notices(away)))


@sign(present="these lines are the same for a member that was paused and for one that was cut off", absent="")
def paused_or_cut_off(timeline: Timeline, subject: Subject) -> Answer:
    """The lines fit a pause and a lost connection alike."""
    # Under KIP-848 a member keeps its id, and one that is cut off writes nothing until a request times out.
    for absence in subject.absences:
        lasted = (absence.back_at or timeline.last) - absence.at
        detailed = any(log.detailed for log in timeline.coverage.of(absence.participant))
        if timeline.protocol in ("consumer", "streams") and (lasted < REQUEST_TIMEOUT_MS or not detailed):
            return Present()
    return Absent()


@sign(present="the coordinator evicted it for missing heartbeats", absent="")
def expiry_logged(timeline: Timeline, subject: Subject) -> Answer:
    """The coordinator logged an expired session of a client whose heartbeats do not depend on its poll loop."""
    if shared_loop_lines(timeline, [a.participant for a in subject.absences]):
        return Unobservable()
    expiries = tuple(e for a in subject.absences for e in a.departure_lines if isinstance(e, MemberFailed))
    return Present(expiries) if expiries else Unobservable()


@sign(present="it was running, and may have sent a LeaveGroup that these logs do not show", absent="")
def awake_without_a_leave(timeline: Timeline, subject: Subject) -> Answer:
    """The process ran, and may have sent a LeaveGroup that these logs do not show.

    Before 0.10.1 a slow loop is silence: nobody sends a LeaveGroup for it.
    """
    # A client before 2.1 logs no LeaveGroup; without its coordinator's log a slow loop looks like silence.
    if any(heartbeats_from_poll(timeline, participant) for participant in subject.participants):
        return Unobservable()
    for absence in subject.absences:
        vanished = all(d.why == "vanished" for d in absence.departures)
        polls = absence.participant.kind != "worker"  # nobody calls poll() on a Connect worker's membership
        alive = isinstance(log_continues(timeline, absence), Present)
        if not (vanished and polls and alive) or logs_leave_group(timeline, absence.participant):
            return Absent()
    return Present() if subject.absences else Unobservable()
