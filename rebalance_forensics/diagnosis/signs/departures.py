"""Signs of how members left: the reasons that the coordinator and their own logs name, and errors before the close."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED, Absence
from rebalance_forensics.diagnosis.episodes.members.clean_exits import left_without_client_log, logs_of_close
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import (
    exception_before,
    inconclusive_errors,
    is_of_a_connection,
)
from rebalance_forensics.diagnosis.seen import coordinator_log, looked, own_log, own_place, seen
from rebalance_forensics.diagnosis.sign import (
    NOT_SHOWN,
    Absent,
    Answer,
    Present,
    Subject,
    Unobservable,
    of_every,
    shown,
    sign,
)
from rebalance_forensics.diagnosis.signs.connections import gave_up_unasked
from rebalance_forensics.diagnosis.signs.others import as_many_as_before, others_stayed
from rebalance_forensics.diagnosis.signs.returns import logs_continue_long_enough
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import LeaveSent, MemberLeft, PollTimeoutExpired
from rebalance_forensics.timeline.clients import SINK_CLIENTS, shared_loop_lines
from rebalance_forensics.timeline.coverage import CoveredLog
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms, is_implausible, session_timeout_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS


@sign("an expired poll timeout was logged for it", "no expired poll timeout was logged for it")
def poll_timeout_logged(timeline: Timeline, subject: Subject) -> Answer:
    """The member or the coordinator logged that the member did not call poll() in time."""
    expiries = _departure_lines(subject, "poll-timeout")
    if expiries and all(isinstance(e, PollTimeoutExpired) and is_implausible(e.exceeded_ms) for e in expiries):
        return Unobservable()
    if expiries:
        return Present(tuple(sorted(expiries, key=lambda e: not isinstance(e, PollTimeoutExpired))))
    if isinstance(unasked := gave_up_unasked.answer(timeline, subject), Present):
        return unasked
    if shared_loop_lines(timeline, [a.participant for a in subject.absences]):
        return Unobservable()  # KafkaJS has no poll timeout; a member without heartbeats is evicted before it expires
    # Before 2.1, clients log nothing at INFO when they send LeaveGroup on a poll timeout; before 3.0, static members
    # log nothing either.
    spans = ((away, away.at - HEARTBEAT_MS, away.at + HEARTBEAT_MS) for away in subject.absences)
    places = (
        own_place(timeline, away.participant, begin, end, PollTimeoutExpired, need=own_log(timeline, away))
        for away, begin, end in spans
    )
    return seen((), places)


@of_every("a different leave reason was logged")
def other_reason_logged(_: Timeline, absence: Absence) -> Iterable[Event]:
    """The LeaveGroup carried a reason (KIP-800) other than a poll timeout."""
    others = (d for d in absence.departures if d.why not in ("poll-timeout", "left"))
    return (e for d in others for e in d.events if isinstance(e, MemberLeft) and e.reason)


def _departure_lines(subject: Subject, why: str) -> list[Event]:
    """The lines of all departures for this reason."""
    return [e for away in subject.absences for d in away.departures if d.why == why for e in d.events]


@shown("it gave a reason for leaving, and that is cut off here")
def reason_cut_off(_: Timeline, subject: Subject) -> Iterable[Event]:
    """The logged reason of the leave is cut off and may have been any reason."""
    lines = _departure_lines(subject, "left")
    return (e for e in lines if isinstance(e, MemberLeft | LeaveSent) and e.why == "unknown")


@sign("the coordinator was asked by an administrator to remove it")
def removed_by_admin(timeline: Timeline, subject: Subject) -> Answer:
    """An administrator sent the LeaveGroup: Admin.removeMembersFromConsumerGroup (KIP-345)."""
    if removals := _departure_lines(subject, "removed-by-admin"):
        return Present(tuple(removals))
    since = subject.begin - heartbeat_interval_ms(timeline)
    return Unobservable((coordinator_log(since, subject.begin),))


@shown("the logged reason for leaving is that it unsubscribed")
def unsubscribe_logged(_: Timeline, subject: Subject) -> Iterable[Event]:
    """The member left because it unsubscribed."""
    return _departure_lines(subject, "unsubscribed")


@sign("it left on its own", "it did not leave on its own")
def closed(timeline: Timeline, subject: Subject) -> Answer:
    """All members closed, according to their own logs or the coordinator's."""
    del timeline
    lines: list[Event] = []
    for absence in subject.absences:
        shown = [e for d in absence.departures if d.why not in UNANNOUNCED for e in d.events]
        shown += absence.stop.events if absence.stop is not None else []
        if not shown:
            # Streams instances and static members send no LeaveGroup on close and are evicted like crashed members.
            quiet = absence.participant.kind == "instance" or absence.participant.instance_ids
            evicted = not quiet and "session-expired" in absence.whys
            return Absent(lines=absence.departure_lines) if evicted else Unobservable()
        lines += shown
    return Present(tuple(lines)) if subject.absences else Unobservable()


@sign("its close was logged", "no close was logged")
def shutdown_logged(timeline: Timeline, subject: Subject) -> Answer:
    """The consumers are known to have been closed, rather than to have left for another reason."""
    lines: list[Event] = []
    for absence in subject.absences:
        shown = list(absence.stop.events[:2]) if absence.stop is not None else []
        shown += [e for d in absence.departures if d.why == "closed" for e in d.events[:1]]
        if not shown:
            return Unobservable((own_log(timeline, absence),))
        lines += shown
    return Present(tuple(lines)) if subject.absences else Unobservable()


@sign("an error was logged just before it closed", "no error was logged just before it closed")
def error_before_close(timeline: Timeline, subject: Subject) -> Answer:
    """An exception ended the membership."""
    lines = [e for absence in subject.absences for e in exception_before(timeline, absence)[:6]]
    if lines:
        return Present(tuple(lines))
    heard: list[CoveredLog] = []
    for absence in subject.absences:
        logs = logs_of_close(timeline, absence)
        if not logs:
            return Unobservable((own_log(timeline, absence),))
        heard += logs
    begin = subject.begin - session_timeout_ms(timeline)
    return Absent(looked(heard, begin, subject.end)) if heard else Unobservable()


@shown("an error was logged just before it closed, which it may have outlived", otherwise=NOT_SHOWN)
def error_beside_close(timeline: Timeline, subject: Subject) -> Iterable[Event]:
    """Another thread than its poll loop logged the error, or it had logged the same error before and continued."""
    return [e for absence in subject.absences for e in inconclusive_errors(timeline, absence)[:2]]


@shown("the error is a lost connection, and who closed does not show what was wrong with it", otherwise=NOT_SHOWN)
def connection_lost(timeline: Timeline, subject: Subject) -> Iterable[Event]:
    """The client closed because it could not reach any broker."""
    return (e for a in subject.absences for e in exception_before(timeline, a)[:1] if is_of_a_connection(e))


@sign("only the coordinator saw them go: an error that made them close would stand in their own logs")
def why_unheard(timeline: Timeline, subject: Subject) -> Answer:
    """Only the coordinator logged the leaves."""
    # To a coordinator, members that fail one by one look like a deployment.
    return Present() if left_without_client_log(timeline, subject.absences) else Absent()


@sign("no log of its own shows whether it came back, or whether it was replaced")
def return_unheard(timeline: Timeline, subject: Subject) -> Answer:
    """Only the coordinator logged the leave, and its log ends too soon to show a return or counts a replacement."""
    if not why_unheard.is_present(timeline, subject):
        return Absent()
    ends = isinstance(logs_continue_long_enough.answer(timeline, subject), Absent)
    return Present() if ends or as_many_as_before.is_present(timeline, subject) else Absent()


def _announced(absences: Iterable[Absence]) -> list[Event]:
    """The first line of each departure by LeaveGroup or a logged close."""
    return [e for a in absences for d in a.departures if d.why not in UNANNOUNCED for e in d.events[:1]]


@shown("its leave reason alone says that it closed, as it does after an error", otherwise=NOT_SHOWN)
def only_reason_logged(timeline: Timeline, subject: Subject) -> Iterable[Event]:
    """Only the reason in the LeaveGroup (KIP-800) shows the close, and it is the same for any close."""
    leaves = [e for a in subject.absences for d in a.departures if d.why == "closed" for e in d.events[:1]]
    return leaves if leaves and left_without_client_log(timeline, subject.absences) else ()


@shown(
    "a stream thread left, and its instance, which sends no LeaveGroup when it closes, did not ask for it",
    otherwise=NOT_SHOWN,
)
def thread_left(timeline: Timeline, subject: Subject) -> Iterable[Event]:
    """A stream thread left while its instance did not close, as a thread does when an exception ends it."""
    # StreamThread.run leaves the group when an exception ends it, KafkaStreams.close() does not; with
    # CloseOptions.leaveGroup(true) an instance leaves with all of its threads.
    if not timeline.is_classic or not left_without_client_log(timeline, subject.absences):
        return ()
    return _announced(subject.absences) if all(_only_some_threads_left(timeline, a) for a in subject.absences) else ()


def _only_some_threads_left(timeline: Timeline, absence: Absence) -> bool:
    """True if one stream thread left, or some but not all threads of a dynamic instance."""
    instance = absence.participant
    if instance.kind != "instance" or instance.instance_ids:
        return False
    left = {timeline.participants.client_of(d.member or "") for d in absence.departures if d.why not in UNANNOUNCED}
    return len(left) == 1 or len(left) < len(instance.client_ids)


@shown(
    "the consumer of one sink task closed while the tasks beside it ran on: a task that fails does that, a connector "
    "that is changed starts all of its tasks anew",
    otherwise=NOT_SHOWN,
)
def task_left(timeline: Timeline, subject: Subject) -> Iterable[Event]:
    """The consumer of a single sink task closed while the connector's other tasks ran on."""
    # WorkerSinkTask closes its consumer when the task throws. Evaluated only if no log of the worker is available.
    if len(subject.absences) != 1 or not left_without_client_log(timeline, subject.absences):
        return ()
    is_task = any(client.startswith(SINK_CLIENTS) for client in subject.absences[0].participant.client_ids)
    return _announced(subject.absences) if is_task and others_stayed.is_present(timeline, subject) else ()
