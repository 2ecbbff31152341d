"""Clients that send heartbeats from the loop that handles records: a slow record silences them as a pause does.

KafkaJS sends a heartbeat between two messages or batches (runner.js), aiokafka from the application's own event loop
(group_coordinator.py). All other clients have a thread or goroutine of their own for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant

_KAFKAJS, _AIOKAFKA, _GO = "node/", "group_coordinator", "go/"


def loop_of(timeline: Timeline, participant: Participant) -> Event | None:
    """A line of its own that tells such a client."""
    said = timeline.said_by(participant, Event)
    return next((e for e in said if e.pattern.startswith(_KAFKAJS) or e.speaker.component == _AIOKAFKA), None)


def all_in_loops(timeline: Timeline, absences: Sequence[Absence]) -> tuple[Event, ...]:
    """Such a line of each of these members; nothing if one of them has another client, or no log."""
    found = [loop_of(timeline, one) for one in dict.fromkeys(a.participant for a in absences)]
    return tuple(e for e in found if e is not None) if all(found) else ()


def has_no_poll_timeout(timeline: Timeline, participant: Participant) -> bool:
    """Whether its client is Sarama, franz-go or kafka-go: they send heartbeats however long a record takes."""
    return any(e.pattern.startswith(_GO) for e in timeline.said_by(participant, Event))
