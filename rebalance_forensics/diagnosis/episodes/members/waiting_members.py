"""Members that subscribed or asked to join and never were in a generation, and sessions that expired unexplained."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics.diagnosis.group_settings import setting
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import WorkerAssigned
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.epochs import MemberTransitioned
from rebalance_forensics.events.membership import Subscribed
from rebalance_forensics.events.partitions import AssignmentNotified, AssignmentUpdated, PartitionsAssigned
from rebalance_forensics.events.rebalances import (
    JoinFailed,
    JoinReported,
    JoinStarted,
    JoinSucceeded,
    SyncSucceeded,
)
from rebalance_forensics.events.streams import TasksAssigned
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.replay.lost_membership import session_is_over
from rebalance_forensics.timeline.windows import REQUEST_TIMEOUT_MS

_IN = (
    JoinSucceeded, SyncSucceeded, JoinReported, PartitionsAssigned, AssignmentUpdated, AssignmentNotified,
    MemberTransitioned, TasksAssigned, WorkerAssigned,
)  # fmt: skip
"""What only a member says."""
_ASKING = (Subscribed, JoinStarted, JoinFailed)
_SESSION = "session timed out"


class Waiting(Struct, frozen=True, kw_only=True):
    """A member that asked to be let in, and for how long its log continues without it."""

    participant: Participant
    begin: int
    end: int
    asked: tuple[Event, ...]


def waiting_members(timeline: Timeline) -> Iterator[Waiting]:
    """Those that were in no generation while their own logs continue for longer than a request may take."""
    known = {m.client_id for g in timeline.generations for m in g.members if m.client_id}
    ids = {m.member_id for g in timeline.generations for m in g.members if m.member_id}
    patience = setting(timeline, "request.timeout.ms", REQUEST_TIMEOUT_MS)
    for participant in timeline.participants.everybody:
        if not participant.has_log or participant.client_ids & known or participant.member_ids & ids:
            continue
        asked = [e for e in timeline.said_by(participant, *_ASKING) if not (isinstance(e, Subscribed) and e.by_hand)]
        if not asked or timeline.said_by(participant, *_IN) or _had_a_session(timeline, participant):
            continue
        begin, end = time_of(asked[0]), _heard_until(timeline, participant, time_of(asked[0]))
        if end - begin > patience:
            yield Waiting(participant=participant, begin=begin, end=end, asked=tuple(asked))


def _had_a_session(timeline: Timeline, participant: Participant) -> bool:
    """Whether it lost a session: who never joined has none to lose."""
    return any(map(session_is_over, timeline.said_by(participant, CoordinatorLost)))


def _heard_until(timeline: Timeline, participant: Participant, begin: int) -> int:
    """How long its log shows that it waits: to its end, or to its close."""
    logs = [log.end for log in timeline.coverage.of(participant) if log.detailed]
    stop = timeline.stops.of(participant).first(begin)
    return min(max(logs, default=begin), stop.at if stop is not None else timeline.last)


def expired_sessions(timeline: Timeline) -> dict[tuple[Participant | None, str], list[CoordinatorLost]]:
    """By member and by where it runs, when its own log says that no heartbeat was answered for a whole session.

    Clients that print no client id (kafka-python) are known by where they run alone.
    """
    found: dict[tuple[Participant | None, str], list[CoordinatorLost]] = {}
    for event in timeline.own.telling(CoordinatorLost):
        if event.speaker.role != "broker" and event.at is not None and _SESSION in (event.cause or ""):
            participant = timeline.participants.of_speaker(event)
            found.setdefault((participant, "" if participant is not None else place_name(event)), []).append(event)
    return found
