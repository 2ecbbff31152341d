"""Classifies lines that show that a client is no longer a member, and lines that prove that it is one."""

from __future__ import annotations

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.answers import error_of
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure, DepartureWhy
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, ROUND_TRIP_MS

NOT_KNOWN = frozenset({"UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"})
EXPELLED = NOT_KNOWN | {"ILLEGAL_GENERATION"}
OF_MEMBERS = (
    ev.JoinSucceeded, ev.JoinReported, ev.SyncSucceeded, ev.SyncFailed, ev.HeartbeatFailed, ev.OffsetCommitFailed,
    ev.LeaveSent, ev.LeaveFailed, ev.PartitionsAssigned, ev.PartitionsRevoked, ev.PartitionsLost,
    ev.AssignmentNotified, ev.AssignmentUpdated, ev.MemberTransitioned,
)  # fmt: skip
"""Lines of a client that joined the group, or was a member before: see `shows_member`."""


def shows_member(event: Event) -> bool:
    """True for a line that a client logs only after it joined the group; a rejected join does not count."""
    # A KIP-848 client logs every state, including JOINING. Other clients send SyncGroup, heartbeats and commits with
    # the member id from the JoinGroup response.
    entered = not isinstance(event, ev.MemberTransitioned) or event.after in ("RECONCILING", "STABLE")
    return isinstance(event, OF_MEMBERS) and entered


def was_expelled(event: Event) -> bool:
    """True for a response of the coordinator that the client is no longer a member."""
    # A heartbeat of an old generation ("stale") is logged only with such a response (HeartbeatResponseHandler), which
    # may be cut off in a paste.
    # brod does not log the request, only the error of a heartbeat or commit for which it rejoins
    # (brod_group_coordinator.erl).
    error = getattr(event, "error", None)
    if isinstance(event, ev.JoinRequested):
        return error in NOT_KNOWN and event.speaker.role == "other"
    stale = isinstance(event, ev.HeartbeatFailed) and event.detail == "stale" and error is None
    return (error in EXPELLED or stale) and not lacks_member_id(event)


def was_a_member(event: Event) -> bool:
    """True for a line that only a former member can log, even if the log begins after it joined."""
    match event:
        case ev.HeartbeatFailed() | ev.SyncFailed() | ev.GroupHeartbeatFailed() | ev.OwnershipGivenUp():
            return True
        case ev.JoinFailed(error="UNKNOWN_MEMBER_ID", generation=None):
            # Only a JoinGroup with a member id gets this response (GroupCoordinator.doJoinGroup).
            return True
        case ev.JoinFailed(generation=n):
            return n is not None and n > 0
        case ev.GenerationReset(api=api):
            return api is not None and "JOIN" not in api.upper()
    return session_is_over(event) or was_refused(event)


def session_is_over(event: Event) -> bool:
    """True if the client gave up its membership because it had no response from its coordinator for a whole session."""
    # librdkafka then gives up its assignment and rejoins (SESSTMOUT). kafka-python, aiokafka and Java only look up the
    # coordinator again and keep their member id: the next response shows whether they are still members.
    return isinstance(event, ev.CoordinatorLost) and event.speaker.role == "other" and event.for_ms is not None


def ended_its_session(event: Event) -> bool:
    """True if a client gave up its coordinator because its heartbeats got no response for a whole session."""
    # Only a member's heartbeat thread does that (AbstractCoordinator).
    lost = isinstance(event, ev.CoordinatorLost) and event.session_expired
    return lost or session_is_over(event)


def was_refused(event: Event) -> bool:
    """True if a commit failed, or partitions were lost, because the coordinator does not know the member."""
    # The request may contain a former member id, and a commit of an old generation (ILLEGAL_GENERATION) is rejected
    # although its member is in the group: this is evidence only if no other lines show the members.
    if isinstance(event, ev.JoinRequested):
        return was_expelled(event)
    unknown = isinstance(event, ev.OffsetCommitFailed | ev.OwnershipGivenUp) and event.error in NOT_KNOWN
    return unknown or is_late_commit(event)


def is_late_commit(event: Event) -> bool:
    """True for CommitFailedException, logged by the client or by the application."""
    # The exception means that the group has already rebalanced and reassigned the partitions.
    return isinstance(event, ev.OffsetCommitFailed | ev.ExceptionLogged) and error_of(event) == "CommitFailedException"


def noticed_late(departure: Departure, event: Event, why: DepartureWhy) -> bool:
    """True for a client's line that it leaves, long after it was removed: its whole process had stood still.

    A member whose poll loop stalls sends heartbeats until its poll timeout, and its session does not expire before.
    """
    if departure.why == "session-expired" and why == "poll-timeout":
        evicted = any(isinstance(e, ev.MemberFailed) for e in departure.events)
        expired_at = time_of(event) - (getattr(event, "exceeded_ms", None) or 0)
        return evicted and expired_at - departure.at > HEARTBEAT_MS
    return event.speaker.role != "broker" and any(was_removed_before(departure, e) for e in departure.events)


def was_removed_before(departure: Departure, answer: Event) -> bool:
    """True if a KIP-848 member that leaves at its poll timeout is answered that it is no longer a member."""
    # A member in a rebalance may also have been removed because it did not give partitions up in time.
    if not isinstance(answer, ev.GroupHeartbeatFailed) or answer.error not in NOT_KNOWN:
        return False
    at = time_of(answer)
    left = [e for e in departure.events if isinstance(e, ev.MemberTransitioned) and e.before == "STABLE"]
    timed_out = [e for e in departure.events if isinstance(e, ev.PollTimeoutExpired)]
    return bool(left) and any(0 <= at - time_of(e) <= ROUND_TRIP_MS for e in timed_out)


def is_rebalance_notice(event: Event) -> bool:
    """True for REBALANCE_IN_PROGRESS in a heartbeat response, which only members get."""
    match event:
        case ev.JoinRequested(why="already-rebalancing") | ev.HeartbeatFailed(error="REBALANCE_IN_PROGRESS"):
            return True
    return False


def lacks_member_id(event: Event) -> bool:
    """True for a rejected request without a member id, which does not end a membership."""
    # The client has no id yet, or has reset it: the heartbeat thread may send a request with Generation.NO_GENERATION
    # between the response that resets the generation and the next JoinGroup.
    return (
        isinstance(event, ev.JoinFailed | ev.SyncFailed | ev.HeartbeatFailed)
        and event.generation == -1
        and not event.member
    )
