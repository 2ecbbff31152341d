"""Searches for a coordinator that failed with COORDINATOR_NOT_AVAILABLE and never found one."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_moves import chains_of_moves
from rebalance_forensics.timeline.answers import found_no_coordinator
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.time_index import lists_by_key

# Lines that a client logs only if it has a coordinator.
SERVED = (
    ev.CoordinatorFound, ev.JoinSucceeded, ev.JoinReported, ev.SyncSucceeded, ev.PartitionsAssigned,
    ev.AssignmentUpdated, ev.AssignmentComputed, ev.GroupHeartbeatFailed, ev.HeartbeatFailed,
)  # fmt: skip
# Minimum number of failures: a single one is normal for the first client of a cluster, before __consumer_offsets is
# created.
REPEATED = 3


class Search(Struct, frozen=True):
    """The failed searches of one client: its participant if known, else the place of its log."""

    participant: Participant | None
    place: str
    answers: tuple[ev.CoordinatorLost, ...]


def searches_in_vain(timeline: Timeline) -> Iterator[Search]:
    """Clients whose searches failed because there was no coordinator, and that have none at the end of their logs."""
    answers = [
        e for e in timeline.group_events.of_type(ev.CoordinatorLost) if found_no_coordinator(e) and e.at is not None
    ]
    # If the coordinator moves or restarts, failed searches are only a symptom.
    if not answers or any(chains_of_moves(timeline)):
        return
    served = timeline.of(*SERVED)
    last = max(map(time_of, answers))
    if any(served.since(last)):
        return
    by_client = lists_by_key((timeline.participants.of_speaker(e) or place_name(e), e) for e in answers)
    for client, lines in by_client.items():
        participant = client if isinstance(client, Participant) else None
        yield Search(participant, "" if participant is not None else str(client), tuple(lines))
