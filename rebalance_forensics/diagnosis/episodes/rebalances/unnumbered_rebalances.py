"""Rebalances that clients were told of and that no log numbers: KafkaJS and others print no generation."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.rebalances import HeartbeatFailed
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import SAME_REBALANCE_MS


def unnumbered_rebalances(timeline: Timeline) -> list[list[HeartbeatFailed]]:
    """What members were told, one list a rebalance, where no log shows a single generation of the group."""
    if timeline.rebalances:
        return []
    told = [e for e in timeline.of(HeartbeatFailed) if e.error == "REBALANCE_IN_PROGRESS" and e.at is not None]
    return runs(told, time_of, SAME_REBALANCE_MS)
