"""What a client says of a lost coordinator, or of a membership that is over, in lines that show nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import ConfigOffsetBehind
from rebalance_forensics.events.coordinator import LAST_COORDINATOR_NODE, CoordinatorLost, NodeDisconnected
from rebalance_forensics.events.epochs import GroupHeartbeatFailed
from rebalance_forensics.events.partitions import OffsetCommitFailed
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.events.rebalances import HeartbeatFailed, JoinFailed, JoinRequested, SyncFailed
from rebalance_forensics.events.streams import ThreadFenced
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.replay.lost_membership import EXPELLED, is_late_commit

_REFUSED = (GroupHeartbeatFailed, HeartbeatFailed, JoinFailed, JoinRequested, OffsetCommitFailed, SyncFailed)
_TOO_LATE = EXPELLED | {"CommitFailedException"}
"""What a commit is answered, or said to be, once its member is in no generation any more (ConsumerCoordinator)."""

REFUSED_SETTINGS = {
    "INVALID_SESSION_TIMEOUT": (
        "its session.timeout.ms is outside the range that the broker allows, group.min.session.timeout.ms to "
        "group.max.session.timeout.ms"
    ),
    "INVALID_GROUP_ID": "its group.id is empty or not valid",
}
"""Answers to a JoinGroup that the client's configuration alone explains (GroupCoordinator.handleJoinGroup)."""

_ANSWERED = (GroupHeartbeatFailed, HeartbeatFailed, JoinFailed, SyncFailed)
_REQUESTS = {"in join group response": "JoinGroup", "from SyncGroup": "SyncGroup", "in heartbeat response": "Heartbeat"}
_THROWN_ANSWER = re.compile(
    r"Unexpected error (?P<request>in join group response|from SyncGroup|in heartbeat response): "
    r"(?P<error>[^:\n]*?)(?=, :|[:\n]|$)"
)
"""KafkaException of AbstractCoordinator's response handlers; Logstash prints `:backtrace=>` behind it."""

Losses = dict[tuple[Participant | None, str], list[Event]]
"""By member, or by where it runs if its lines do not name it."""


def memberships_over(timeline: Timeline) -> Losses:
    """Who was told that it is no longer a member, or that the group has gone on without it."""
    told = timeline.own.telling(ExceptionLogged, ThreadFenced, *_REFUSED)
    return _by_speaker(timeline, [e for e in told if _is_over(e)])


def fatal_answers(timeline: Timeline) -> Losses:
    """Members whose client gave up on an answer of the coordinator: the same request would fail again."""
    told = timeline.own.telling(ExceptionLogged, *_ANSWERED)
    return _by_speaker(timeline, [e for e in told if _is_fatal(e)])


def thrown_answer(event: Event) -> tuple[str, str] | None:
    """The request and the coordinator's answer in the exception that a Java client throws at the application."""
    found = _THROWN_ANSWER.search(event.detail or "") if isinstance(event, ExceptionLogged) else None
    return (_REQUESTS[found["request"]], found["error"].rstrip(". ")) if found is not None else None


def forced_by_configuration(timeline: Timeline) -> Losses:
    """Connect workers that rejoined because they had not read the config topic as far as their assignment requires."""
    told = timeline.own.telling(ConfigOffsetBehind)
    return _by_speaker(timeline, [e for e in told if isinstance(e, ConfigOffsetBehind) and e.failed])


def coordinators_lost(timeline: Timeline) -> Losses:
    """Who gave its coordinator up."""
    return _by_speaker(timeline, list(timeline.own.telling(CoordinatorLost)))


def failed_connections(timeline: Timeline) -> Losses:
    """Connections to a coordinator that could not even be made, which is more than one that broke (NetworkClient)."""
    told = timeline.own.telling(NodeDisconnected)
    return _by_speaker(timeline, [e for e in told if e.cause == "could not be established" and e.node is not None])


def brokers_out_of_reach(lost: Sequence[Event], failed: Sequence[Event]) -> dict[int, list[Event]]:
    """By broker, the failed connections to coordinators that the same client gave up."""
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
    return getattr(event, "error", None) in _TOO_LATE or is_late_commit(event) or isinstance(event, ThreadFenced)


def _by_speaker(timeline: Timeline, events: list[Event]) -> Losses:
    found: Losses = {}
    for event in events:
        if event.speaker.role != "broker" and event.at is not None:
            participant = timeline.participants.of_speaker(event)
            found.setdefault((participant, "" if participant is not None else place_name(event)), []).append(event)
    return found
