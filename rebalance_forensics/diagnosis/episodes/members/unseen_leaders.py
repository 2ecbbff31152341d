"""Generations that a member led of which there is no log: whoever's log is at hand was not alone in the group."""

from __future__ import annotations

from rebalance_forensics.events.rebalances import AssignmentComputed, JoinSucceeded, SyncSucceeded
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import Generation

_LEADS = ("librdkafka/", "python/", "go/")


def led_unseen(timeline: Timeline, generation: Generation) -> bool:
    """Where nobody logged that it leads, a member without a log does: the coordinator always has one lead."""
    return generation.leader is None and not timeline.has_coordinator_log and timeline.remembered(_leaders_say_so)


def _leaders_say_so(timeline: Timeline) -> bool:
    """Java's clients do from 2.4 on; kafka-python, aiokafka, franz-go and kafka-go always; librdkafka if it joins."""
    joined = (e for e in timeline.of(JoinSucceeded) if e.speaker.role == "other")
    return bool(timeline.of(AssignmentComputed, SyncSucceeded)) or any(e.pattern.startswith(_LEADS) for e in joined)
