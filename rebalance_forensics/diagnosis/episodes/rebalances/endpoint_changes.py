"""Streams instances that came back with another application.server (KIP-441)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rebalance_forensics.diagnosis.episodes.members.departures import born_with_the_group
from rebalance_forensics.events.streams import FollowUpScheduled
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import AROUND_MS, SOON_AFTER_MS, STOPPING_MS, TAKING_OVER_MS


@dataclass(frozen=True, slots=True)
class EndpointChange:
    """An instance with a new endpoint: the line that asks for one more rebalance, and what belongs to it."""

    participant: Participant
    told: FollowUpScheduled
    facts: tuple[Fact, ...]


def endpoint_changes(timeline: Timeline) -> Iterator[EndpointChange]:
    """Members that were told to rebalance again because their host endpoint is new."""
    born = born_with_the_group(timeline)
    for event in timeline.of(FollowUpScheduled):
        participant = timeline.participants.of_speaker(event)
        if event.kind != "endpoint" or participant is None or event.at is None:
            continue
        start, until = timeline.starts.of(participant).last(event.at), event.at + SOON_AFTER_MS
        begin = start.at - STOPPING_MS if start is not None else event.at - AROUND_MS
        moves = [m for m in timeline.moves(begin, until, participant) if m.id not in born]
        returns = timeline.returns.of(participant).between(begin, until)
        asked = timeline.requests.between(event.at - AROUND_MS, event.at + TAKING_OVER_MS)
        yield EndpointChange(participant, event, (*moves, *returns, *asked))
