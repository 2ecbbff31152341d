"""What only the client's own lines show: lost coordinators and memberships, ended threads, rebalances without more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from heapq import merge

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import ConfigOffsetBehind, WorkerStopped
from rebalance_forensics.events.coordinator import (
    LAST_COORDINATOR_NODE,
    CoordinatorFound,
    CoordinatorLost,
    GroupLoaded,
    GroupUnloaded,
    NodeDisconnected,
)
from rebalance_forensics.events.epochs import GroupHeartbeatFailed, MemberTransitioned
from rebalance_forensics.events.membership import LeaveSent, MemberLeft, MemberLoaded
from rebalance_forensics.events.partitions import (
    ListenerCalled,
    ListenerFailed,
    OffsetCommitFailed,
    OwnershipGivenUp,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
)
from rebalance_forensics.events.process import ConsumerClosed, ExceptionLogged, ProcessStopping
from rebalance_forensics.events.rebalances import (
    AssignmentReceived,
    GroupEmptied,
    HeartbeatFailed,
    JoinFailed,
    JoinReported,
    JoinRequested,
    JoinSucceeded,
    SyncFailed,
    SyncSucceeded,
)
from rebalance_forensics.events.streams import (
    FollowUpScheduled,
    StreamsStateChanged,
    StreamThreadStateChanged,
    ThreadFailed,
    ThreadFenced,
)
from rebalance_forensics.timeline.coverage import DETAILED
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.membership.lost_membership import EXPELLED, is_late_commit
from rebalance_forensics.timeline.windows import HEARTBEAT_MS

_REFUSED = (GroupHeartbeatFailed, HeartbeatFailed, JoinFailed, JoinRequested, OffsetCommitFailed, SyncFailed)
# Errors of a commit whose member is in no generation any more (ConsumerCoordinator).
_TOO_LATE = EXPELLED | {"CommitFailedException"}

# What onPartitionsLost and its like are called for: the member is in no generation any more (ConsumerCoordinator,
# AbstractMembershipManager).
_GIVEN_UP = (ListenerCalled, MemberTransitioned, OwnershipGivenUp, PartitionsLost)
_REBALANCING = "REBALANCE_IN_PROGRESS"
# A commit that fails so was sent while the member had no generation: it had not rejoined yet, or was no member
# (ConsumerCoordinator.sendOffsetCommitRequest, SmallRye's record stores).
_COMMITTED_BETWEEN = ("not part of an active group", "revoked before it was acknowledged")
_ENDED = ("ERROR", "PENDING_ERROR")
_TROUBLE = (CoordinatorLost, NodeDisconnected, JoinFailed)
# A coordinator was found, or is no longer needed.
_RECOVERED = (
    CoordinatorFound, JoinSucceeded, JoinReported, SyncSucceeded, PartitionsAssigned, LeaveSent, ConsumerClosed,
    ProcessStopping, StreamsStateChanged, WorkerStopped,
)  # fmt: skip

# JoinGroup errors that the client's configuration alone explains (GroupCoordinator.handleJoinGroup).
REFUSED_SETTINGS = {
    "INVALID_SESSION_TIMEOUT": (
        "its session.timeout.ms is outside the range that the broker allows, group.min.session.timeout.ms to "
        "group.max.session.timeout.ms"
    ),
    "INVALID_GROUP_ID": "its group.id is empty or not valid",
}

_ANSWERED = (GroupHeartbeatFailed, HeartbeatFailed, JoinFailed, SyncFailed)
_REQUESTS = {"in join group response": "JoinGroup", "from SyncGroup": "SyncGroup", "in heartbeat response": "Heartbeat"}
# KafkaException of AbstractCoordinator's response handlers; Logstash prints `:backtrace=>` behind it.
_THROWN_ANSWER = re.compile(
    r"Unexpected error (?P<request>in join group response|from SyncGroup|in heartbeat response): "
    r"(?P<error>[^:\n]*?)(?=, :|[:\n]|$)"
)

# Lines by member, or by log location where they do not name the member.
Losses = dict[tuple[Participant | None, str], list[Event]]


def memberships_over(timeline: Timeline) -> Losses:
    """Clients that learned that they are no longer members, or that the group has moved on without them."""
    events = timeline.own.of_type(ExceptionLogged, ThreadFenced, *_GIVEN_UP, *_REFUSED)
    return _by_speaker(timeline, [e for e in events if _is_over(e)])


def threads_ended(timeline: Timeline) -> Losses:
    """Streams instances of which an exception ended a thread, or all of them."""
    events = timeline.own.of_type(StreamsStateChanged, ThreadFailed)
    return _by_speaker(timeline, [e for e in events if isinstance(e, ThreadFailed) or _reached(e, _ENDED)])


def _reached(event: Event, states: Sequence[str]) -> bool:
    return isinstance(event, StreamsStateChanged) and event.after in states


def listeners_failed(timeline: Timeline) -> Losses:
    """Clients whose application's rebalance listener threw: the consumer's poll() throws it on."""
    return _by_speaker(timeline, list(timeline.own.of_type(ListenerFailed)))


def behind_in_configuration(timeline: Timeline) -> Losses:
    """Connect workers that had not read the config topic as far as their assignment requires."""
    return _by_speaker(timeline, list(timeline.own.of_type(ConfigOffsetBehind)))


def of_coordinator_alone(timeline: Timeline) -> list[Event]:
    """The coordinator's lines of one kind, the one that says most, where it logs nothing else of the group."""
    kinds = ((GroupUnloaded,), (GroupLoaded, MemberLoaded), (MemberLeft,), (GroupEmptied,), (AssignmentReceived,))
    found = ([e for e in timeline.own.of_type(*kind) if e.at is not None] for kind in kinds)
    return next(filter(None, found), [])


def departures(timeline: Timeline) -> Losses:
    """Clients that left the group, by a line that does not give the reason."""
    return _by_speaker(timeline, list(timeline.own.of_type(LeaveSent)))


def refused_joins(timeline: Timeline) -> Losses:
    """Clients whose JoinGroup or SyncGroup failed, except where the group only rebalanced once more."""
    events = timeline.own.of_type(JoinFailed, SyncFailed)
    benign = (_REBALANCING, "MEMBER_ID_REQUIRED")
    return _by_speaker(timeline, [e for e in events if getattr(e, "error", None) not in benign])


def rebalances_mentioned(timeline: Timeline) -> list[Event]:
    """Lines that a member writes in the middle of a rebalance, and that say nothing else of it."""
    events = timeline.own.of_type(
        *(FollowUpScheduled, JoinFailed, ListenerCalled, OffsetCommitFailed, PartitionsRevoked),
        *(StreamThreadStateChanged, StreamsStateChanged, SyncFailed),
    )
    return [e for e in events if e.speaker.role != "broker" and e.at is not None and _mentions_a_rebalance(e)]


def _mentions_a_rebalance(event: Event) -> bool:
    match event:
        case PartitionsRevoked(partitions=partitions, count=count, due=due):
            return bool(partitions or count or due)
        case ListenerCalled(during=during):
            return during == "revoked"
        case FollowUpScheduled(kind=kind):
            # It comes with the assignment (StreamsPartitionAssignor.onAssignment); no kind: none is due.
            return kind is not None
        case OffsetCommitFailed(error=None, detail=detail):
            return detail in _COMMITTED_BETWEEN
        case StreamsStateChanged(before=before, after=after):
            return (before, after) == ("RUNNING", "REBALANCING")
        case StreamThreadStateChanged(before=before, after=after):
            # A thread that starts has nothing to revoke and passes through PARTITIONS_REVOKED until 2.3.
            return before in ("RUNNING", "PARTITIONS_ASSIGNED") and after == "PARTITIONS_REVOKED"
    return getattr(event, "error", None) == _REBALANCING


def fatal_answers(timeline: Timeline) -> Losses:
    """Clients that gave up on an error of the coordinator: the same request would fail again."""
    events = timeline.own.of_type(ExceptionLogged, *_ANSWERED)
    return _by_speaker(timeline, [e for e in events if _is_fatal(e)])


def thrown_answer(event: Event) -> tuple[str, str] | None:
    """The request and the coordinator's error in the exception that a Java client throws."""
    found = _THROWN_ANSWER.search(event.detail or "") if isinstance(event, ExceptionLogged) else None
    return (_REQUESTS[found["request"]], found["error"].rstrip(". ")) if found is not None else None


def forced_by_configuration(timeline: Timeline) -> Losses:
    """Connect workers that rejoined, or as leaders forced a rejoin, for configuration they had not read yet."""
    events = timeline.own.of_type(ConfigOffsetBehind)
    return _by_speaker(timeline, [e for e in events if isinstance(e, ConfigOffsetBehind) and (e.failed or e.leading)])


def coordinators_lost(timeline: Timeline) -> Losses:
    """Clients that gave up their coordinator."""
    return _by_speaker(timeline, list(timeline.own.of_type(CoordinatorLost)))


def left_without_coordinator(timeline: Timeline) -> Losses:
    """Members that lost their coordinator and failed to reach any broker until their logs end."""
    # Only a log at INFO shows that a coordinator was found again; a process that stops needs none.
    troubled: Losses = {}
    recovered: dict[tuple[Participant | None, str], int] = {}
    for event in timeline.own.of_type(*_TROUBLE, *_RECOVERED):
        speaker = _speaker(timeline, event)
        if isinstance(event, _RECOVERED):
            troubled.pop(speaker, None)
            recovered[speaker] = time_of(event)
        elif event.speaker.role != "broker" and event.at is not None and _is_trouble(event):
            troubled.setdefault(speaker, []).append(event)
    lost = {s: lines for s, lines in troubled.items() if any(isinstance(e, CoordinatorLost) for e in lines)}
    for speaker, lines in lost.items():
        # What other clients of its process lost since counts as well.
        nearby = timeline.nearby.spoken(timeline.participants).get(speaker[0], ()) if speaker[0] is not None else ()
        since = (part.of_type(NodeDisconnected).since(recovered.get(speaker, 0)) for part in nearby)
        lines[:] = merge(lines, *since, key=time_of)
    detailed = {_speaker(timeline, e) for e in timeline.own.by_clients if e.level in DETAILED} if lost else set()
    return {
        speaker: lines
        for speaker, lines in lost.items()
        if speaker in detailed and time_of(lines[-1]) - time_of(lines[0]) > HEARTBEAT_MS
    }


def _is_trouble(event: Event) -> bool:
    return not isinstance(event, JoinFailed) or event.error == "COORDINATOR_NOT_AVAILABLE"


def _speaker(timeline: Timeline, event: Event) -> tuple[Participant | None, str]:
    participant = timeline.participants.of_speaker(event)
    return participant, "" if participant is not None else place_name(event)


def failed_connections(timeline: Timeline) -> Losses:
    """Connections to a coordinator that could not be established at all (NetworkClient)."""
    failed = timeline.disconnected("could not be established")
    return _by_speaker(timeline, [event for event in failed if event.node is not None])


def brokers_out_of_reach(lost: Sequence[Event], failed: Sequence[Event]) -> dict[int, list[Event]]:
    """Failed connections to coordinators that the same client gave up, by broker."""
    given_up = {e.coordinator for e in lost if isinstance(e, CoordinatorLost) and e.coordinator is not None}
    found: dict[int, list[Event]] = {}
    for event in failed:
        if isinstance(event, NodeDisconnected) and event.node is not None:
            broker = LAST_COORDINATOR_NODE - event.node
            if broker in given_up:
                found.setdefault(broker, []).append(event)
    return found


def _is_fatal(event: Event) -> bool:
    if isinstance(event, ExceptionLogged):
        return thrown_answer(event) is not None
    error = getattr(event, "error", None)
    return error is not None and (getattr(event, "fatal", False) or error in REFUSED_SETTINGS)


def _is_over(event: Event) -> bool:
    match event:
        case ListenerCalled(during=during):
            return during == "lost"
        case MemberTransitioned(after=after):
            return after == "FENCED"
        case PartitionsLost(partitions=partitions):
            return bool(partitions)
        case OwnershipGivenUp():
            return True
    return getattr(event, "error", None) in _TOO_LATE or is_late_commit(event) or isinstance(event, ThreadFenced)


def _by_speaker(timeline: Timeline, events: list[Event]) -> Losses:
    found: Losses = {}
    for event in events:
        if event.speaker.role != "broker" and event.at is not None:
            found.setdefault(_speaker(timeline, event), []).append(event)
    return found
