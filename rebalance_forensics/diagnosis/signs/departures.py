"""How members left: what the coordinator and their own logs give as the reason."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.seen import coordinator_log, own_log, own_place, seen
from rebalance_forensics.diagnosis.sign import Answer, Present, Subject, Unobservable, sign
from rebalance_forensics.diagnosis.signs.connections import all_given_up_unasked
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import LeaveSent, MemberLeft, PollTimeoutExpired
from rebalance_forensics.timeline.clients import shared_loop_lines
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms, is_implausible, session_timeout_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS


@sign(
    present="its poll timeout expired, according to its log or its leave reason",
    absent="no poll timeout was logged",
)
def poll_timeout_logged(timeline: Timeline, subject: Subject) -> Answer:
    """A line of either side says that the member did not call poll() in time."""
    expiries = [e for a in subject.absences for d in a.departures if d.why == "poll-timeout" for e in d.events]
    if expiries and all(isinstance(e, PollTimeoutExpired) and is_implausible(e.exceeded_ms) for e in expiries):
        return Unobservable()
    if expiries:
        return Present(tuple(sorted(expiries, key=lambda e: not isinstance(e, PollTimeoutExpired))))
    if unasked := all_given_up_unasked(timeline, subject.absences):
        return Present(unasked)
    if shared_loop_lines(timeline, [a.participant for a in subject.absences]):
        return Unobservable()  # KafkaJS has no poll timeout; whom its heartbeats leave is evicted before it expires
    # Clients before 2.1 send LeaveGroup on a poll timeout without a word at INFO, as static members do before 3.0.
    session = session_timeout_ms(timeline)
    return seen(
        (),
        (
            own_place(
                timeline, away.participant, *within_a_heartbeat(away), PollTimeoutExpired, need=own_log(away, session)
            )
            for away in subject.absences
        ),
    )


def within_a_heartbeat(absence: Absence) -> tuple[int, int]:
    """Within a heartbeat of the time at which the group lost it."""
    return absence.at - HEARTBEAT_MS, absence.at + HEARTBEAT_MS


@sign(present="a different leave reason was logged", absent="")
def other_reason_logged(timeline: Timeline, subject: Subject) -> Answer:
    """The LeaveGroup carried a reason (KIP-800) other than a poll timeout."""
    del timeline
    reasons = [_reasons(absence) for absence in subject.absences]
    return Present(tuple([e for lines in reasons for e in lines])) if reasons and all(reasons) else Unobservable()


def _reasons(absence: Absence) -> list[Event]:
    return [
        e
        for d in absence.departures
        if d.why not in ("poll-timeout", "left")
        for e in d.events
        if isinstance(e, MemberLeft) and e.reason
    ]


@sign(present="it gave a reason for leaving, and that is cut off here", absent="")
def reason_cut_off(timeline: Timeline, subject: Subject) -> Answer:
    """The logged reason of the leave is cut off, and may have been any reason."""
    del timeline
    leaves = tuple(
        e
        for a in subject.absences
        for d in a.departures
        if d.why == "left"
        for e in d.events
        if isinstance(e, MemberLeft | LeaveSent) and e.why == "unknown"
    )
    return Present(leaves) if leaves else Unobservable()


@sign(present="the coordinator was asked by an administrator to remove it", absent="")
def removed_by_admin(timeline: Timeline, subject: Subject) -> Answer:
    """An administrator sent the LeaveGroup: Admin.removeMembersFromConsumerGroup (KIP-345)."""
    removals = tuple(e for a in subject.absences for d in a.departures if d.why == "removed-by-admin" for e in d.events)
    if removals:
        return Present(removals)
    since = subject.begin - heartbeat_interval_ms(timeline)
    return Unobservable((coordinator_log(since, subject.begin),))


@sign(present="the leave reason, or its own log, says that it unsubscribed", absent="")
def unsubscribe_logged(timeline: Timeline, subject: Subject) -> Answer:
    """The member left because it unsubscribed."""
    del timeline
    unsubscribes = tuple(e for a in subject.absences for d in a.departures if d.why == "unsubscribed" for e in d.events)
    return Present(unsubscribes) if unsubscribes else Unobservable()
