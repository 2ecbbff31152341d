"""Members with the client id of a log at hand that belong to another process.

Before 2.7 no client logs its member id, and by default every process has the same client id. A client that is told of a
rebalance in answer to a heartbeat is still a member: the coordinator began that rebalance to remove another one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

from rebalance_forensics.events.membership import MemberFailed, MemberLeft
from rebalance_forensics.events.rebalances import (
    GenerationReset,
    HeartbeatFailed,
    JoinFailed,
    JoinStarted,
    RebalanceStarted,
)
from rebalance_forensics.timeline.event_index import EventIndex
from rebalance_forensics.timeline.identity.names import name_in_member_id, streams_client
from rebalance_forensics.timeline.identity.namesakes import member_moves
from rebalance_forensics.timeline.identity.participant_drafts import ParticipantDraft, ParticipantDrafts
from rebalance_forensics.timeline.windows import NEXT_HEARTBEAT_MS

# A member that is removed while it joins (PendingMemberRemoved) was never in, so no rebalance removes it.
_REMOVED = (MemberLeft, MemberFailed, RebalanceStarted)
_ANSWERS = (HeartbeatFailed, JoinStarted, JoinFailed, GenerationReset)

Notice = tuple[int, bool]
"""When a participant heard from the coordinator, and whether that was of a rebalance."""


def foreign_members(participants: ParticipantDrafts, lines: EventIndex) -> Iterator[tuple[str, str]]:
    """Client id and member id of each member that no log with this client id can belong to."""
    notices: dict[ParticipantDraft, list[Notice]] | None = None
    for at, member in _removed(lines):
        client = name_in_member_id(member)
        if client is not None and streams_client(client) is not None:
            continue  # a stream thread's client id begins with its process's own id: nobody else has it
        logged = (
            [a for a in participants.with_client_id(client) if a.has_log]
            if client and participants.find_member(member) is None
            else []
        )
        if client and logged:
            notices = _notices(participants, lines) if notices is None else notices
            if all(_is_still_in(notices.get(participant, []), at) for participant in logged):
                yield client, member


def _removed(lines: EventIndex) -> Iterator[tuple[int, str]]:
    for event in lines.of_type(*_REMOVED):
        if event.at is not None and event.speaker.role == "broker":
            yield from ((event.at, member) for came, member in member_moves(event) if not came)


def _notices(participants: ParticipantDrafts, lines: EventIndex) -> dict[ParticipantDraft, list[Notice]]:
    found: dict[ParticipantDraft, list[Notice]] = defaultdict(list)
    for event in lines.of_type(*_ANSWERS):
        if event.at is not None and (participant := participants.of_speaker(event)) is not None:
            rebalancing = isinstance(event, HeartbeatFailed) and event.error == "REBALANCE_IN_PROGRESS"
            found[participant].append((event.at, rebalancing))
    # In the order of their log: a client often joins in the millisecond in which it is told of the rebalance.
    return {participant: sorted(notices, key=_when) for participant, notices in found.items()}


def _when(notice: Notice) -> int:
    return notice[0]


def _is_still_in(notices: list[Notice], at: int) -> bool:
    """True where the first answer after that time is that the group rebalances."""
    place = bisect_right(notices, at, key=_when)
    return place < len(notices) and notices[place][1] and notices[place][0] - at <= NEXT_HEARTBEAT_MS
