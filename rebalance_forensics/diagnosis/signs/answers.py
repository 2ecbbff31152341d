"""What the coordinator answered a member before the group lost it, as the member's own log tells."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.group_settings import session_told_ms
from rebalance_forensics.diagnosis.sign import Answer, Present, Subject, Unobservable, sign
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.membership import PollTimeoutExpired
from rebalance_forensics.events.partitions import OffsetCommitFailed, OwnershipGivenUp
from rebalance_forensics.events.rebalances import (
    GenerationReset,
    HeartbeatFailed,
    JoinFailed,
    SyncFailed,
)
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.replay.lost_membership import NOT_KNOWN, was_expelled
from rebalance_forensics.timeline.windows import LEAST_SESSION_MS, LOST_AT_THE_END_MS

_TELLS = (CoordinatorLost, GenerationReset, HeartbeatFailed, JoinFailed, SyncFailed, PollTimeoutExpired)


@sign(present="its heartbeats were answered until shortly before the group had lost it, so it was running", absent="")
def heard_until_lost(timeline: Timeline, subject: Subject) -> Answer:
    """A heartbeat that is answered with REBALANCE_IN_PROGRESS starts the session anew (GroupCoordinator)."""
    lines: list[Event] = []
    for absence in subject.absences:
        told = _heard(timeline, absence)
        if not told:
            return Unobservable()
        lines += told
    return Present(tuple(lines)) if lines else Unobservable()


def _heard(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The last answer to a member, and the one that said less than a session later that it was none."""
    own = timeline.said_by(absence.participant, HeartbeatFailed)
    session = session_told_ms(timeline) or LEAST_SESSION_MS
    told = (e for d in absence.departures for e in d.events if isinstance(e, HeartbeatFailed) and was_expelled(e))
    lost = next((e for e in told if timeline.participants.of_speaker(e) is absence.participant), None)
    if lost is None or lost.at is None:
        return ()
    before = own.last(lost.at - 1)
    if before is None or before.error != "REBALANCE_IN_PROGRESS" or lost.at - time_of(before) >= session:
        return ()
    return before, lost


@sign(present="it gave up its generation unasked, as a static member does whose poll timeout expires", absent="")
def gave_up_unasked(timeline: Timeline, subject: Subject) -> Answer:
    """Until 2.8 a static member whose poll timeout expires says only later that its generation has been reset.

    ConsumerCoordinator resets a generation when the coordinator's answer says so, which is logged, or when the member
    leaves (AbstractCoordinator.maybeLeaveGroup), which of a static member is not.
    """
    lines: list[Event] = []
    for absence in subject.absences:
        given_up = _given_up_unasked(timeline, absence)
        if given_up is None:
            return Unobservable()
        lines.append(given_up)
    return Present(tuple(lines)) if lines else Unobservable()


def _given_up_unasked(timeline: Timeline, absence: Absence) -> Event | None:
    participant, begin = absence.participant, absence.at - LOST_AT_THE_END_MS
    if not participant.instance_ids or absence.start is not None or absence.stop is not None:
        return None
    until = absence.back_at if absence.back_at is not None else timeline.last
    given_up = timeline.said_by(participant, OwnershipGivenUp).first(begin)
    if given_up is None or time_of(given_up) > until or given_up.error is not None:
        return None
    if not covering(timeline.coverage.of(participant), begin, time_of(given_up)):
        return None
    asked = timeline.said_by(participant, *_TELLS).any_between(begin, time_of(given_up))
    commits = timeline.said_by(participant, OffsetCommitFailed).between(begin, time_of(given_up))
    refused = any(isinstance(e, OffsetCommitFailed) and e.error in NOT_KNOWN for e in commits)
    return None if asked or refused else given_up
