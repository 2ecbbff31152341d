"""How members left: what the coordinator and their own logs give as the reason."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.seen import coordinator_log, own_log, own_place, seen
from rebalance_forensics.diagnosis.sign import Answer, Present, Subject, Unobservable, of_every, shown, sign
from rebalance_forensics.diagnosis.signs.connections import gave_up_unasked
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import LeaveSent, MemberLeft, PollTimeoutExpired
from rebalance_forensics.timeline.clients import shared_loop_lines
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms, is_implausible, session_timeout_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS


@sign(present="its poll timeout expired, according to its log or its leave reason", absent="no poll timeout was logged")
def poll_timeout_logged(timeline: Timeline, subject: Subject) -> Answer:
    """A line of either side says that the member did not call poll() in time."""
    expiries = _lines(subject, "poll-timeout")
    if expiries and all(isinstance(e, PollTimeoutExpired) and is_implausible(e.exceeded_ms) for e in expiries):
        return Unobservable()
    if expiries:
        return Present(tuple(sorted(expiries, key=lambda e: not isinstance(e, PollTimeoutExpired))))
    if isinstance(unasked := gave_up_unasked.answer(timeline, subject), Present):
        return unasked
    if shared_loop_lines(timeline, [a.participant for a in subject.absences]):
        return Unobservable()  # KafkaJS has no poll timeout; whom its heartbeats leave is evicted before it expires
    # Clients before 2.1 send LeaveGroup on a poll timeout without a word at INFO, as static members do before 3.0.
    begin_and_end = ((away, away.at - HEARTBEAT_MS, away.at + HEARTBEAT_MS) for away in subject.absences)
    session = session_timeout_ms(timeline)
    return seen(
        (),
        (
            own_place(timeline, away.participant, begin, end, PollTimeoutExpired, need=own_log(away, session))
            for away, begin, end in begin_and_end
        ),
    )


@of_every("a different leave reason was logged")
def other_reason_logged(_: Timeline, absence: Absence) -> Iterable[Event]:
    """The LeaveGroup carried a reason (KIP-800) other than a poll timeout."""
    others = (d for d in absence.departures if d.why not in ("poll-timeout", "left"))
    return (e for d in others for e in d.events if isinstance(e, MemberLeft) and e.reason)


def _lines(subject: Subject, why: str) -> list[Event]:
    return [e for away in subject.absences for d in away.departures if d.why == why for e in d.events]


@shown("it gave a reason for leaving, and that is cut off here")
def reason_cut_off(_: Timeline, subject: Subject) -> Iterable[Event]:
    """The logged reason of the leave is cut off, and may have been any reason."""
    return (e for e in _lines(subject, "left") if isinstance(e, MemberLeft | LeaveSent) and e.why == "unknown")


@sign(present="the coordinator was asked by an administrator to remove it")
def removed_by_admin(timeline: Timeline, subject: Subject) -> Answer:
    """An administrator sent the LeaveGroup: Admin.removeMembersFromConsumerGroup (KIP-345)."""
    if removals := _lines(subject, "removed-by-admin"):
        return Present(tuple(removals))
    since = subject.begin - heartbeat_interval_ms(timeline)
    return Unobservable((coordinator_log(since, subject.begin),))


@shown("the leave reason, or its own log, says that it unsubscribed")
def unsubscribe_logged(_: Timeline, subject: Subject) -> Iterable[Event]:
    """The member left because it unsubscribed."""
    return _lines(subject, "unsubscribed")
