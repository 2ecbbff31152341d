"""Signs of members that stopped heartbeating, from the coordinator, their own logs and their returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_moves import load_that_restarted
from rebalance_forensics.diagnosis.episodes.members import heartbeat_loss
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, distinct_events, lasts_a_session
from rebalance_forensics.diagnosis.seen import Place, coordinator_log, looked, own_log, own_place, seen
from rebalance_forensics.diagnosis.sign import (
    NOT_SHOWN,
    UNKNOWN,
    Absent,
    Answer,
    Present,
    Subject,
    Unobservable,
    of_any,
    of_each,
    of_every,
    of_first,
    shown,
    sign,
)
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import clients, timeouts, windows
from rebalance_forensics.timeline.clocks.file_clocks import place_of
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.names import has_unique_suffix, is_bare_member_id
from rebalance_forensics.timeline.identity.participants import Participant, own_member_id
from rebalance_forensics.timeline.membership.lost_membership import (
    is_late_commit,
    session_is_over,
    was_expelled,
    was_refused,
)

# Errors in response to a heartbeat of a former member, or of a member of an earlier generation.
_NOT_A_MEMBER = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")


@sign(
    "other threads of the same process stayed in the group, so the process was running",
    "all threads of the process left",
)
def other_threads_stayed(timeline: Timeline, subject: Subject) -> Answer:
    """Only some threads of the instance fell silent and came back under the same names."""
    if not subject.absences or any(a.participant.kind != "instance" for a in subject.absences):
        return Unobservable()
    survived = [a for a in subject.absences if heartbeat_loss.process_survived(timeline, a)]
    return Present(distinct_events(e for a in survived for e in a.events)) if survived else Absent()


@shown("its client sends heartbeats from the loop that handles records, so one slow record silences it as well")
def heartbeats_in_the_loop(timeline: Timeline, subject: Subject) -> Sequence[Event]:
    """The client sends heartbeats from the loop that handles records."""
    # Without a heartbeat thread, a slow handler looks like a pause, and a handler that never returns like a crash. A
    # failed commit shows that the process was running, not that heartbeats were missing.
    if any(a.back_at is None and not timeline.events_from(a.participant, Event).first(a.at) for a in subject.absences):
        return ()
    if all(map(heartbeat_loss.shown_without_heartbeats, subject.absences)):
        return ()
    return clients.shared_loop_lines(timeline, [a.participant for a in subject.absences])


@shown("it came back, and its client sends no heartbeat while the handler of a record waits for something")
def heartbeats_between_records(timeline: Timeline, subject: Subject) -> Sequence[Event]:
    """The member came back, and its client sends no heartbeat while a record's handler waits."""
    # In KafkaJS, a waiting handler sends no heartbeats although its process runs, which is more common than a pause.
    back = all(a.back_at is not None for a in subject.absences)
    return clients.between_records_lines(timeline, [a.participant for a in subject.absences]) if back else ()


@sign(
    "it did not leave on its own",
    "it left the group on its own",
)
def no_leave_sent(timeline: Timeline, subject: Subject) -> Answer:
    """The members fell silent and sent no LeaveGroup."""
    for absence in subject.absences:
        own_lines = absence.departure_lines
        if left := tuple(_left_unasked(timeline, absence)):
            return Absent(lines=left)
        if heartbeat_loss.unassigned_when_lost(timeline, absence) or heartbeat_loss.log_starts_after_expulsion(
            timeline, absence
        ):
            # A member that sends no SyncGroup in time is removed as well, and one that does not poll sends LeaveGroup:
            # neither lacked heartbeats.
            return Unobservable((coordinator_log(absence.at, absence.at),))
        if not absence.fell_silent:
            return Absent(lines=own_lines)
        logs_leave = clients.logs_leave_group(timeline, absence.participant) and not heartbeat_loss.may_be_cut_short(
            timeline, absence
        )
        if absence.vanished and not logs_leave:
            return Unobservable((coordinator_log(absence.at, absence.at),))
    lines = tuple([e for a in subject.absences for e in a.departure_lines])
    return Present(lines) if subject.absences else Unobservable()


def log_continues(timeline: Timeline, absence: Absence) -> Answer:
    """Whether the member's log continues after the group lost it, without a start or shutdown in between."""
    return timeline.cached_as(("log continues", absence), lambda: _continues(timeline, absence))


def _continues(timeline: Timeline, absence: Absence) -> Answer:
    if absence.start is not None or absence.stop is not None or _unnamed_start_in_its_log(timeline, absence):
        return Unobservable()
    participant, end = absence.participant, timeline.coverage.ends(absence.participant)
    alive = heartbeat_loss.lines_after(timeline, absence)
    if alive and not covering(timeline.coverage.of(participant), absence.at - 1, time_of(alive[0])):
        # A log that begins later, or has only warnings, does not show whether the process was restarted. Two lines do:
        # one with the former member id, which only the former process knows, and UNKNOWN_MEMBER_ID in response to a
        # heartbeat of a client that sends its heartbeats between records.
        alive = events_with_former_id(timeline, absence)
        if not alive and clients.shared_loop_line(timeline, participant) is not None:
            alive = _heartbeats_refused(timeline, absence)
        end = None
    if alive and not isinstance(alive[0], ev.Subscribed):
        return Unobservable((own_log(timeline, absence),)) if _lacks_loss_lines(timeline, absence) else Present(alive)
    # An application subscribes when it starts, which may be the only line that its client logs about the start.
    if alive or end is None:
        return Unobservable((own_log(timeline, absence),))
    if end > absence.at + windows.HEARTBEAT_MS:
        return Present()
    if "poll-timeout" in absence.whys:
        # It was running when it left, and a blocked poll loop logs nothing more.
        return Unobservable()
    soon = absence.back_at is not None or not lasts_a_session(timeline, absence.at)
    if soon or heartbeat_loss.may_be_cut_short(timeline, absence):
        return Unobservable((own_log(timeline, absence),))
    return Absent(
        looked(timeline.coverage.of(participant), absence.at - timeouts.session_timeout_ms(timeline), absence.at)
    )


# Lines by which a Java member logs that it lost its membership (AbstractCoordinator, ConsumerCoordinator,
# ConsumerMembershipManager). A process that has just started has no membership to lose.
_LOSS_LINES = (
    ev.HeartbeatFailed, ev.GroupHeartbeatFailed, ev.GenerationReset, ev.CoordinatorLost, ev.NodeDisconnected,
    ev.OwnershipGivenUp, ev.PartitionsLost, ev.PartitionsRevoked, ev.OffsetCommitFailed, ev.JoinFailed, ev.SyncFailed,
    ev.PollTimeoutExpired, ev.LeaveSent, ev.MemberTransitioned, ev.TasksRevoked, ev.TasksLost,
)  # fmt: skip


def _lacks_loss_lines(timeline: Timeline, absence: Absence) -> bool:
    """True if a Java member is back but its log does not show the loss: lines are missing, perhaps about a start."""
    participant = absence.participant
    # Before 2.1, a member that leaves at its poll timeout and rejoins logs only the join.
    java = clients.is_java_member(timeline, participant) and clients.logs_leave_group(timeline, participant)
    if absence.back_at is None or not java:
        return False
    lines = timeline.events_from(participant, *_LOSS_LINES)
    begin = min(absence.at, absence.back_at) - timeouts.session_timeout_ms(timeline)
    if lines.any_between(begin, max(absence.at, absence.back_at) + windows.ROUND_TRIP_MS):
        return False
    return not events_with_former_id(timeline, absence)


def _unnamed_start_in_its_log(timeline: Timeline, absence: Absence) -> bool:
    """True if an unidentified client started during the absence in a log to which the member writes."""
    # Go programs log whole seconds: the start may seem to follow the join that the broker logged.
    started = timeline.group_events.of_type(ev.ClientStarted).between(
        absence.at, (absence.back_at or absence.at) + windows.ROUND_TRIP_MS
    )
    unnamed = [e for e in started if timeline.participants.of_speaker(e) is None]
    return bool(unnamed) and not _logs_of(timeline, absence.participant).isdisjoint(map(place_of, unnamed))


def _logs_of(timeline: Timeline, participant: Participant) -> frozenset[tuple[str, str | None]]:
    """The logs to which a member writes."""
    own = timeline.events_from(participant, Event)
    return timeline.cached_as(("logs of", participant), lambda: frozenset(map(place_of, own))) if own else frozenset()


own_log_continues = of_each(
    "its own log continues, written by the same process",
    "its own log ends there while others continue",
    name="own-log-continues",
)(log_continues)


@shown("it logged itself that its session was over, so it was running")
def logged_its_own_loss(timeline: Timeline, subject: Subject) -> Sequence[Event]:
    """The member's own log shows that its session expired, or that a request failed because it was not a member."""
    # A new process has no member id yet that a coordinator could reject.
    answers = (ev.GenerationReset, ev.GroupHeartbeatFailed, ev.JoinFailed, ev.SyncFailed)
    lines = (e for a in subject.absences for e in a.departure_lines if a.start is None or time_of(e) < a.start.at)
    losses = (
        e
        for e in lines
        if isinstance(e, ev.CoordinatorLost | ev.HeartbeatFailed | ev.OwnershipGivenUp)
        or was_refused(e)
        or (isinstance(e, answers) and was_expelled(e))
    )
    own = (e for e in losses if timeline.participants.of_speaker(e) in subject.participants)
    return tuple(islice(own, heartbeat_loss.OWN_LINES))


@shown("it learned from a failed commit, after processing records, that it was no longer a member")
def learned_by_commit(timeline: Timeline, subject: Subject) -> Sequence[Event]:
    """The member learned of its expulsion from a failed commit."""
    # The heartbeat thread sends LeaveGroup when the poll timeout expires (KIP-62), so the next commit is the first
    # request that fails. Before KIP-62, a member that polls again commits first, after a slow loop and after a pause.
    if any(clients.heartbeats_from_poll(timeline, participant) for participant in subject.participants):
        return ()
    first_losses = [e for a in subject.absences for e in a.departure_lines[:1]]
    return first_losses if all(isinstance(e, ev.OffsetCommitFailed) or is_late_commit(e) for e in first_losses) else ()


@of_every("it left by itself and gave its partitions up as lost, which it does after its poll timeout alone")
def left_unasked(timeline: Timeline, absence: Absence) -> Iterable[Event]:
    """Its heartbeat thread sent LeaveGroup, and the polling thread noticed later."""
    return _left_unasked(timeline, absence)


def _left_unasked(timeline: Timeline, absence: Absence) -> Iterable[Event]:
    """The lines about leaving before partitions were given up as lost; a close or unsubscribe would revoke them."""
    given_up = [e for e in absence.departure_lines if isinstance(e, ev.OwnershipGivenUp) or is_late_commit(e)]
    if not given_up:
        return ()
    own = timeline.events_from(absence.participant, ev.GenerationReset, ev.JoinRequested, ev.JoinSucceeded)
    before = [e for e in own if time_of(e) <= time_of(given_up[0])]
    since = next((at for at in reversed(range(len(before))) if isinstance(before[at], ev.JoinSucceeded)), -1)
    return [e for e in before[since + 1 :] if _shows_leaving(e)]


def _shows_leaving(event: Event) -> bool:
    """True if the member reset its generation or requested a rejoin because it left."""
    # AbstractCoordinator.resetGenerationOnLeaveGroup (2.4) and requestRejoin (3.0).
    return isinstance(event, ev.JoinRequested | ev.GenerationReset) and event.why == "leaving"


@of_first("it used its old member id again, which only the same process knows", otherwise=UNKNOWN)
def old_id_used_again(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """The member used its former id again, which a new process does not know."""
    if absence.start is not None:
        return ()
    with_its_id = (e for a in absence.returned_with_its_id for e in a.events[:1])
    return (*events_with_former_id(timeline, absence), *with_its_id)


def events_with_former_id(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """Lines of its own log after the loss that carry the former member id."""
    own_lines = timeline.events_from(absence.participant, Event).since(absence.at + 1)
    if not own_lines:
        return ()
    former_ids = {d.member for d in absence.departures if d.member and has_unique_suffix(d.member)}
    return tuple(islice((e for e in own_lines if own_member_id(e) in former_ids), heartbeat_loss.OWN_LINES))


def _heartbeats_refused(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """Heartbeats of this member that failed because it was no longer a member: the process is the one that joined."""
    refused = [e for e in absence.departure_lines if isinstance(e, ev.HeartbeatFailed) and e.error in _NOT_A_MEMBER]
    return tuple([e for e in refused if timeline.participants.of_speaker(e) is absence.participant])


def process_restarted(timeline: Timeline, absence: Absence) -> Answer:
    """Whether the absence ended with a new process."""
    if absence.start is not None:
        return Present(tuple(absence.start.events[:2]))
    known = log_continues(timeline, absence)
    if isinstance(known, Present) and known.lines and timeline.coverage.detailed(absence.participant):
        return Absent(lines=known.lines)
    if refused := _heartbeats_refused(timeline, absence):
        return Absent(lines=refused)
    back = [a for a in absence.arrivals if is_bare_member_id(a.member or "")]
    if back and any(is_bare_member_id(d.member or "") for d in absence.departures):
        lines = tuple(e for a in back for e in a.events[:1])
        return Absent(lines=lines) if absence.returned_with_its_id else Present(lines)
    return Unobservable((own_log(timeline, absence),))


new_process = of_each(
    "its process was restarted", "it was not restarted: its log continues without a start", name="new-process"
)(process_restarted)


@of_each("it shut down cleanly", "its log shows no shutdown")
def shut_down(timeline: Timeline, absence: Absence) -> Answer:
    """Its own log shows a close."""
    if absence.stop is not None:
        return Present(tuple(absence.stop.events[:3]))
    session, logs = timeouts.session_timeout_ms(timeline), heartbeat_loss.logs_from_before(timeline, absence)
    searched = looked(logs, absence.at - session, absence.at)
    return Absent(searched) if logs else Unobservable((own_log(timeline, absence),))


@of_first("it logged lines or joined while it should have been paused")
def awake_while_away(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """The member was active while it seemed silent; evaluated only if the client alone logged its expulsion."""
    if timeline.has_coordinator_log or absence.whys != {"expelled"}:
        return ()
    session = timeouts.session_timeout_ms(timeline)
    if clients.shared_loop_line(timeline, absence.participant) is not None:
        session = timeouts.shown_session_ms(timeline) or windows.AT_ONCE_MS
    joined = timeline.events_from(absence.participant, ev.JoinSucceeded, ev.SyncSucceeded)
    own_lines = timeline.events_from(absence.participant, Event)
    alive = joined.between(absence.at - session, absence.at - 1)
    alive = alive or own_lines.between(absence.at - 6 * session // 10, absence.at - session // 4)
    return alive[: heartbeat_loss.OWN_LINES]


@of_first("another member logged to the same file while it was silent: if one process wrote it, that was running")
def its_file_went_on(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """Another member kept writing to its log: consumers of one process, or processes whose output was merged."""
    this = absence.participant
    shared = _logs_of_several(timeline)
    files = _logs_of(timeline, this) if this.is_several else _logs_of(timeline, this) & shared
    # A file to which brokers write as well merges the logs of several hosts.
    files -= _logs_of_brokers(timeline)
    if not files:
        return ()
    # By default, no session is shorter than that (group.min.session.timeout.ms). A resumed process learns from its next
    # heartbeat that it has to rejoin.
    resumed = max(absence.at - windows.TICK_MS, (absence.back_at or 0) - windows.HEARTBEAT_MS)
    near = timeline.group_events.by_clients.between(absence.at - windows.NEXT_HEARTBEAT_MS, resumed)
    speakers = ((e, timeline.participants.of_speaker(e)) for e in near if place_of(e) in files)
    written = (e for e, who in speakers if who is not None and (who is not this or this.is_several))
    return tuple(islice(written, heartbeat_loss.OWN_LINES))


@cached_answer
def _logs_of_several(timeline: Timeline) -> frozenset[tuple[str, str | None]]:
    """The logs to which several members write."""
    writers = Counter(log for member in timeline.membership.members for log in _logs_of(timeline, member))
    return frozenset(log for log, number in writers.items() if number > 1)


@cached_answer
def _logs_of_brokers(timeline: Timeline) -> frozenset[tuple[str, str | None]]:
    """The logs to which brokers write."""
    return frozenset(place_of(event) for event in timeline.group_events if event.speaker.role == "broker")


@sign("it gave up its coordinator when it woke up", "it kept its coordinator, as a member that only fails to poll does")
def gave_up_coordinator(timeline: Timeline, subject: Subject) -> Answer:
    """The member gave up its coordinator when its process resumed."""
    # A process that was paused gives up its coordinator when it resumes; one that only failed to poll keeps it.
    if not subject.absences or clients.shared_loop_lines(timeline, [a.participant for a in subject.absences]):
        return Unobservable()
    if not timeline.is_classic or any(
        isinstance(e, ev.MemberFailed) for away in subject.absences for e in away.departure_lines
    ):
        return Unobservable()
    lines: list[Event] = []
    places: list[Place] = []
    for absence in subject.absences:
        begin, until = (
            absence.at - 2 * windows.ROUND_TRIP_MS,
            absence.back_at if absence.back_at is not None else absence.at,
        )
        lost = timeline.events_from(absence.participant, ev.CoordinatorLost).between(
            begin, until + windows.ROUND_TRIP_MS
        )
        need = own_log(timeline, absence)
        lines += lost[:2]
        places.append(own_place(timeline, absence.participant, begin, until, need=need))
    return seen(lines, places)


@sign("it is a static member (group.instance.id)", "it has no group.instance.id")
def static_member(timeline: Timeline, subject: Subject) -> Answer:
    """The members have a group.instance.id, according to their own lines or the coordinator's."""
    if not subject.participants:
        return Unobservable()
    if subject.absences and all(heartbeat_loss.is_static(timeline, a) for a in subject.absences):
        return Present(tuple(e for a in subject.absences for e in a.departure_lines))
    return Absent() if any(a.has_log for a in subject.participants) else Unobservable()


@sign("a Streams instance closes without a LeaveGroup, so a clean stop looks the same")
def closes_without_leaving(timeline: Timeline, subject: Subject) -> Answer:
    """A Streams instance closes without a LeaveGroup: without its log, a shutdown looks like a crash."""
    silent = any(clients.closes_without_leave_group(timeline, participant) for participant in subject.participants)
    return Present() if silent else Absent()


closes_without_a_line = of_any(
    "a consumer before 2.1 logs nothing when it closes, so a clean stop looks the same", name="closes-without-a-line"
)(heartbeat_loss.close_not_logged)
log_just_ends = of_any(
    "only its log ends, and some loggers stop before the consumer closes, as Log4j 2 does", name="log-just-ends"
)(heartbeat_loss.log_ends_without_shutdown)
log_breaks_off = of_any(
    "its log shows no close, but some loggers stop before the consumer closes, as Log4j 2 does", name="log-breaks-off"
)(heartbeat_loss.restart_without_shutdown)
# A member that sends no SyncGroup in time is removed even if it sends heartbeats.
lost_before_its_assignment = of_every(
    "it lost its membership after joining, before it got its assignment",
    otherwise=NOT_SHOWN,
    name="lost-before-its-assignment",
)(heartbeat_loss.unassigned_when_lost)
lost_before_its_log = of_every(
    "its log begins after it was removed and would not show an earlier poll timeout",
    otherwise=NOT_SHOWN,
    name="lost-before-its-log",
)(heartbeat_loss.log_starts_after_expulsion)

silent_before_its_log = of_every(
    "its log begins, or lacks lines, when its session was running out, and does not show if its process stood still",
    otherwise=NOT_SHOWN,
    name="silent-before-its-log",
)(heartbeat_loss.log_starts_in_its_silence)


@shown(
    "members of several processes, still connected to their coordinator, learned at one heartbeat that they were "
    "unknown to it, as when all are removed at once"
)
def expelled_with_others(timeline: Timeline, subject: Subject) -> Iterable[Event]:
    """Members of several processes were expelled within one heartbeat interval, whereas sessions expire one by one."""
    together = [heartbeat_loss.expelled_with(timeline, away) for away in subject.absences]
    return (
        (e for away in together[0] for e in heartbeat_loss.expulsion_notices(away))
        if together and all(together)
        else ()
    )


@of_any("these lines are the same for a member that was paused and for one that was cut off")
def paused_or_cut_off(timeline: Timeline, absence: Absence) -> bool:
    """The lines fit a pause and a lost connection alike."""
    # Under KIP-848, a member keeps its id, and one that is cut off logs nothing until a request times out. Neither does
    # librdkafka, which gives up its membership by itself and then logs on.
    detailed = timeline.coverage.detailed(absence.participant)
    if timeline.protocol in ("consumer", "streams"):
        lasted = (absence.back_at or timeline.last) - absence.at
        return lasted < windows.REQUEST_TIMEOUT_MS or not detailed
    gave_up = not detailed and any(map(session_is_over, absence.departure_lines))
    return gave_up and isinstance(log_continues(timeline, absence), Present)


@of_every(
    "only its own log shows that it was removed: its coordinator's, which is at hand, lacks the line that says why"
)
def expiry_missing(timeline: Timeline, absence: Absence) -> Iterable[Event]:
    """Only the member logged its expulsion, although its coordinator's log is available."""
    # A coordinator logs at INFO each member that it removes (GroupCoordinator, GroupMetadataManager).
    if absence.whys != {"expelled"}:
        return ()
    coverage, begin = timeline.coverage, absence.at - windows.HEARTBEAT_MS
    lossy = (span for log in coverage.brokers for span in coverage.missing.get(log.path, ()))
    at_hand = covering(coverage.brokers, begin, absence.at) or any(a <= absence.at <= b for a, b in lossy)
    return absence.departure_lines[:1] if at_hand else ()


@shown("the coordinator evicted it for missing heartbeats")
def expiry_logged(timeline: Timeline, subject: Subject) -> Iterable[Event]:
    """The coordinator logged an expired session of a client whose heartbeats do not depend on its poll loop."""
    if clients.shared_loop_lines(timeline, [a.participant for a in subject.absences]):
        return ()
    return (e for a in subject.absences for e in a.departure_lines if isinstance(e, ev.MemberFailed))


@sign("it was running, and may have sent a LeaveGroup that these logs do not show")
def awake_without_a_leave(timeline: Timeline, subject: Subject) -> Answer:
    """The process ran, and may have sent a LeaveGroup that these logs do not show.

    Before 0.10.1, no thread sends a LeaveGroup for a slow loop, which only stops the heartbeats.
    """
    # A client before 2.1 logs no LeaveGroup; without its coordinator's log, a slow loop looks like missing heartbeats.
    if any(clients.heartbeats_from_poll(timeline, participant) for participant in subject.participants):
        return Unobservable()
    for absence in subject.absences:
        polls = absence.participant.kind != "worker"  # the membership of a Connect worker has no poll() by a user
        alive = isinstance(log_continues(timeline, absence), Present)
        if not (absence.vanished and polls and alive) or clients.logs_leave_group(timeline, absence.participant):
            return Absent()
    return Present() if subject.absences else Unobservable()


@sign(
    "its session expired exactly one session after the coordinator moved: it was lost in the move",
    "its session expired at another time than one session after the coordinator moved",
)
def lost_in_the_move(timeline: Timeline, subject: Subject) -> Answer:
    """The new coordinator never received a heartbeat from the members."""
    # A coordinator that loads a group restarts every session (GroupCoordinator.onGroupLoaded), so the expiry does not
    # show when the former coordinator received the last heartbeat.
    answers = [_expired_after_load(timeline, absence) for absence in subject.absences]
    present = [answer for answer in answers if isinstance(answer, Present)]
    if answers and len(present) == len(answers):
        return Present(tuple(dict.fromkeys(line for answer in present for line in answer.lines)))
    return next((answer for answer in answers if not isinstance(answer, Present)), Unobservable())


def _expired_after_load(timeline: Timeline, absence: Absence) -> Answer:
    """Whether all sessions of this absence expired exactly one session timeout after the group was loaded."""
    expired = [d for d in absence.departures if d.why == "session-expired"]
    if not expired:
        return Unobservable((coordinator_log(absence.at, absence.at),))
    loads = [load for d in expired if (load := load_that_restarted(timeline, d)) is not None]
    if len(loads) < len(expired) and timeouts.shown_session_ms(timeline) is None:
        return Unobservable((own_log(timeline, absence),))
    expiries = tuple([e for d in expired for e in d.events])
    return Present((*loads, *expiries)) if len(loads) == len(expired) else Absent(lines=expiries)
