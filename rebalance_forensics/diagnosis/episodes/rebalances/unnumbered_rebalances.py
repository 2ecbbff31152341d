"""Rebalances that clients were told of and that no line numbers: KafkaJS and others print no generation.

A Java client does, but of what is pasted only its word that the group rebalances may be left.
"""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import HeartbeatFailed, JoinRequested
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms
from rebalance_forensics.timeline.windows import SAME_REBALANCE_MS


def unnumbered_rebalances(timeline: Timeline) -> list[list[Event]]:
    """What members were told, one list a rebalance, where no log shows a single generation of the group."""
    if timeline.rebalances:
        return []
    told = [e for e in timeline.of(HeartbeatFailed, JoinRequested) if e.at is not None and _tells_of_one(e)]
    # Java says so again with each heartbeat until it rejoins.
    again = any(isinstance(e, JoinRequested) for e in told)
    return runs(told, time_of, 2 * heartbeat_interval_ms(timeline) if again else SAME_REBALANCE_MS)


def _tells_of_one(event: Event) -> bool:
    match event:
        case HeartbeatFailed(error="REBALANCE_IN_PROGRESS") | JoinRequested(why="already-rebalancing"):
            return True
    return False
