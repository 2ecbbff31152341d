"""Topics whose partitions each member was ever assigned: what it reads, where no line shows its subscription."""

from __future__ import annotations

from collections import defaultdict

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.partitions import AssignmentNotified, AssignmentUpdated, PartitionsAssigned
from rebalance_forensics.events.rebalances import AssignmentComputed
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant


class AssignedTopics(Struct, frozen=True):
    """Assigned topics by member, the lines that show them, and the partitions of each topic that were ever assigned."""

    topics: dict[Participant, frozenset[str]]
    lines: dict[Participant, list[Event]]
    partitions: dict[str, set[str]]

    def width(self, topic: str) -> int:
        """The number of members that could read the topic at once."""
        return len(self.partitions.get(topic, ()))


def assigned_topics(timeline: Timeline) -> AssignedTopics:
    """Assigned topics, from every assignment that a member or the leader logged."""
    return timeline.cached_as("given topics", lambda: _assigned_topics(timeline))


def _assigned_topics(timeline: Timeline) -> AssignedTopics:
    topics: dict[Participant, set[str]] = defaultdict(set)
    lines: dict[Participant, list[Event]] = defaultdict(list)
    partitions: dict[str, set[str]] = defaultdict(set)
    for event in timeline.of(PartitionsAssigned, AssignmentNotified, AssignmentUpdated, AssignmentComputed):
        for participant, given in _given(timeline, event):
            if participant is None or not given:
                continue
            lines[participant].append(event)
            for partition in given:
                topic = partition.rpartition("-")[0]
                topics[participant].add(topic)
                partitions[topic].add(partition)
    return AssignedTopics({a: frozenset(t) for a, t in topics.items()}, lines, partitions)


def _given(timeline: Timeline, event: Event) -> list[tuple[Participant | None, tuple[str, ...]]]:
    match event:
        case PartitionsAssigned(partitions=p) | AssignmentNotified(partitions=p) | AssignmentUpdated(assigned=p):
            return [(timeline.participants.of_speaker(event), p)]
        case AssignmentComputed(assignment=by_member):
            return [(timeline.participants.of_member(m), p) for m, p in by_member]
    return []
