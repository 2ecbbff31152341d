"""Clients that send heartbeats from the loop that handles records: a slow record silences them as a pause does.

KafkaJS and ruby-kafka send a heartbeat between two messages or batches (runner.js, consumer.rb), aiokafka from the
application's own event loop (group_coordinator.py), Java before 0.10.1 from poll() (KIP-62). All other clients have a
thread or goroutine of their own for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import VersionReported
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.releases import release_range

_KAFKAJS, _RUBY, _AIOKAFKA, _GO = "node/", "ruby/", "group_coordinator", "go/"


def loop_of(timeline: Timeline, participant: Participant) -> Event | None:
    """A line of its own that tells such a client."""
    return timeline.remembered(_loops).get(participant)


def _loops(timeline: Timeline) -> dict[Participant | None, Event]:
    """The first such line of each participant that has one."""
    found: dict[Participant | None, Event] = {}
    for event in timeline.own.by_clients:
        if event.pattern.startswith((_KAFKAJS, _RUBY)) or event.speaker.component == _AIOKAFKA:
            found.setdefault(timeline.participants.of_speaker(event), event)
    return found | _before_kip_62(timeline)


def polls_for_heartbeats(timeline: Timeline, participant: Participant) -> bool:
    """Whether it is a Java consumer before 0.10.1: it sends heartbeats from poll() and has no poll timeout."""
    return participant in timeline.remembered(_before_kip_62)


def _before_kip_62(timeline: Timeline) -> dict[Participant, Event]:
    """What such consumers print of their release; one that was upgraded since is none any more."""
    told: dict[Participant, list[VersionReported]] = defaultdict(list)
    for event in timeline.of(VersionReported) if timeline.kind == "consumer" else ():
        if event.speaker.role != "broker" and event.product == "kafka":
            for participant in timeline.participants.at_place(event):
                told[participant].append(event)
    return {who: events[0] for who, events in told.items() if all(map(_is_before_kip_62, events))}


def _is_before_kip_62(event: VersionReported) -> bool:
    spread = release_range(event.version)
    return spread is not None and spread[1] < (0, 10, 1)


def all_in_loops(timeline: Timeline, absences: Sequence[Absence]) -> tuple[Event, ...]:
    """Such a line of each of these members; nothing if one of them has another client, or no log."""
    if not timeline.remembered(_loops):
        return ()
    found = [loop_of(timeline, one) for one in dict.fromkeys(a.participant for a in absences)]
    return tuple(e for e in found if e is not None) if all(found) else ()


def all_between_records(timeline: Timeline, absences: Sequence[Absence]) -> tuple[Event, ...]:
    """The same where each of them is KafkaJS: it sends no heartbeat before its handler has returned."""
    told = all_in_loops(timeline, absences)
    return told if all(event.pattern.startswith(_KAFKAJS) for event in told) else ()


def has_no_poll_timeout(timeline: Timeline, participant: Participant) -> bool:
    """Whether its client is Sarama, franz-go or kafka-go: they send heartbeats however long a record takes."""
    return participant in timeline.remembered(_go_clients)


def _go_clients(timeline: Timeline) -> set[Participant | None]:
    by_clients = timeline.own.by_clients
    return {timeline.participants.of_speaker(event) for event in by_clients if event.pattern.startswith(_GO)}
