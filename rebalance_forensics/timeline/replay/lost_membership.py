"""What tells a client that it is no longer a member."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.epochs import GroupHeartbeatFailed
from rebalance_forensics.events.membership import MemberLoaded
from rebalance_forensics.events.partitions import OffsetCommitFailed, OwnershipGivenUp
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.events.rebalances import (
    GenerationReset,
    HeartbeatFailed,
    JoinFailed,
    JoinRequested,
    SyncFailed,
)
from rebalance_forensics.timeline.replay.drafts import DepartureDraft

NOT_KNOWN = frozenset({"UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"})
_REFUSED_COMMIT = NOT_KNOWN | {"CommitFailedException"}
"""The exception says in so many words that the group went on without the member."""
EXPELLED = NOT_KNOWN | {"ILLEGAL_GENERATION"}


def was_expelled(event: Event) -> bool:
    """Whether an answer of the coordinator says that the client is no member any more.

    A heartbeat of a generation that is over ("stale") is logged only with such an answer (HeartbeatResponseHandler),
    which may be cut off in a paste.
    """
    error = getattr(event, "error", None)
    stale = isinstance(event, HeartbeatFailed) and event.detail == "stale" and error is None
    return (error in EXPELLED or stale) and not lacks_member_id(event)


def was_a_member(event: Event) -> bool:
    """Whether only a member can be told that it is none: logs may begin after it joined."""
    match event:
        case HeartbeatFailed() | SyncFailed() | GroupHeartbeatFailed() | OwnershipGivenUp():
            return True
        case JoinFailed(error="UNKNOWN_MEMBER_ID", generation=None):
            # Only a JoinGroup that carries a member id is answered so (GroupCoordinator.doJoinGroup).
            return True
        case JoinFailed(generation=n):
            return n is not None and n > 0
        case GenerationReset(api=api):
            return api is not None and "JOIN" not in api.upper()
    return session_is_over(event) or was_refused(event)


def session_is_over(event: Event) -> bool:
    """Whether the client heard nothing from its coordinator for a whole session.

    librdkafka then gives up its assignment and rejoins (SESSTMOUT). kafka-python and aiokafka look for the coordinator
    again, which has not heard from them for as long. Java's clients say what became of their membership themselves.
    """
    if not isinstance(event, CoordinatorLost) or event.speaker.role != "other":
        return False
    return event.for_ms is not None or (event.cause or "").startswith("session timed out")


def is_refuted(departure: DepartureDraft, shown: Event) -> bool:
    """Whether a departure that was only concluded is refuted by a line that shows the member in the group."""
    return departure.why == "vanished" or (isinstance(shown, MemberLoaded) and _counted_itself_out(departure.events))


def _counted_itself_out(events: Sequence[Event]) -> bool:
    """Whether nothing shows that a member left but its own count of a session without an answer.

    kafka-python and aiokafka keep their assignment and their member id meanwhile, and remain members if the coordinator
    that loads the group starts their session anew (GroupMetadataManager.loadGroup); librdkafka gives its id up.
    """
    return bool(events) and all(
        session_is_over(event) and isinstance(event, CoordinatorLost) and event.for_ms is None for event in events
    )


def was_refused(event: Event) -> bool:
    """Whether a commit failed, or partitions were lost, because the coordinator does not know the member.

    The answer may be to a request of an earlier life, and a commit of an old generation (ILLEGAL_GENERATION) is refused
    though its member is in: it is evidence only where nothing else shows who was in the group.
    """
    if isinstance(event, JoinRequested):
        return event.error in NOT_KNOWN and event.speaker.role == "other"  # brod names no request in its lines
    if isinstance(event, OffsetCommitFailed):
        return event.error in _REFUSED_COMMIT
    return is_late_commit(event) or (isinstance(event, OwnershipGivenUp) and event.error in NOT_KNOWN)


def is_late_commit(event: Event) -> bool:
    """Whether an application prints that its commit came after the group had gone on without it."""
    return isinstance(event, ExceptionLogged) and (event.exception or "").endswith("CommitFailedException")


def is_rebalance_notice(event: Event) -> bool:
    """Whether a client hears, by the answer to its heartbeat, that its group rebalances: only a member does."""
    match event:
        case JoinRequested(why="already-rebalancing") | HeartbeatFailed(error="REBALANCE_IN_PROGRESS"):
            return True
    return False


def lacks_member_id(event: Event) -> bool:
    """Whether a client that has no member id was turned away, which ends no membership.

    It has none yet, or it gave up the one it had while the request was on its way: the heartbeat thread may send one
    with Generation.NO_GENERATION between the answer that resets the generation and the next JoinGroup.
    """
    return isinstance(event, JoinFailed | SyncFailed | HeartbeatFailed) and event.generation == -1 and not event.member
