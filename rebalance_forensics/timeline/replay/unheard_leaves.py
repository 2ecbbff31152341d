"""Members that were gone before their session could expire: they must have left, although no line says so.

Log4j 2 stops logging when the JVM shuts down (its shutdownHook), often before the consumer is closed. The join barrier
tells: it waits for whoever is a member, so without a LeaveGroup no generation leaves one out within its session.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import AssignmentComputed, HeartbeatFailed, JoinSucceeded, SyncSucceeded
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.identity.participants import Participant, Participants
from rebalance_forensics.timeline.replay.drafts import DepartureDraft
from rebalance_forensics.timeline.time_index import InTime
from rebalance_forensics.timeline.windows import LATE_LINE_MS


def find_unheard_leaves(
    participants: Participants, departures: Iterable[DepartureDraft], events: Sequence[Event], session_ms: int | None
) -> None:
    """Tell those who left from those of whom only their absence is known; a static member stays when it closes."""
    vanished = [d for d in departures if d.why == "vanished" and not d.participant.instance_ids]
    if session_ms is None or not vanished:
        return
    answered = _answered(participants, events)
    for gone in vanished:
        heard = answered[gone.participant].last(gone.at) if gone.participant in answered else None
        formed = _formed_without(participants, gone)
        if gone.participant.kind == "instance" or heard is None or formed is None:
            continue
        if formed - time_of(heard) < session_ms - LATE_LINE_MS:
            gone.why = "left"


def _answered(participants: Participants, events: Sequence[Event]) -> dict[Participant, InTime[Event]]:
    """When the coordinator last heard of each member, whose session begins anew with every answer."""
    found: dict[Participant, list[Event]] = defaultdict(list)
    for event in events:
        rebalancing = isinstance(event, HeartbeatFailed) and event.error == "REBALANCE_IN_PROGRESS"
        if event.at is not None and (rebalancing or isinstance(event, JoinSucceeded | SyncSucceeded)):
            participant = participants.of_speaker(event)
            if participant is not None:
                found[participant].append(event)
    return {participant: InTime(told, time_of) for participant, told in found.items()}


def _formed_without(participants: Participants, gone: DepartureDraft) -> int | None:
    """When the first generation was created that its old membership is not part of."""
    told = [e for e in gone.events if participants.of_speaker(e) is not gone.participant]
    told += gone.returned.events if gone.returned is not None else []
    formed = [e.at for e in told if isinstance(e, JoinSucceeded | AssignmentComputed) and e.at is not None]
    return min((at for at in formed if at >= gone.at), default=None)
