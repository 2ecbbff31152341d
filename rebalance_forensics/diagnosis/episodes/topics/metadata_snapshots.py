"""The partitions of its topics as a leader assigned them, and as it sees them when it rejoins."""

from __future__ import annotations

import re

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost, GroupLoaded
from rebalance_forensics.events.process import BrokerStarted
from rebalance_forensics.events.rebalances import JoinRequested, RebalanceStarted
from rebalance_forensics.timeline.facts import Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS

# Each topic's partitions are logged as a number, or since KIP-881 as a list with their racks.
_TOPICS = re.compile(r"(?<![^\s{},=()])([^\s{},=()]++)=(\[(?:[^\[\]]|\[[^\[\]]*\])*\]|[^,}]*)")

# Sarama lists every topic that the member reads (consumer_group.go), so a single topic is the one that changed.
_SARAMAS = re.compile(r"partitions in topics \[(\S+)\] changed")

_NONE = ("[]", "0")


def changed_topics(event: Event) -> list[str]:
    """The topics whose partitions differ between a leader's two logged snapshots."""
    if (listed := _SARAMAS.search(_reason(event))) is not None:
        return [listed[1]]
    old, new = _snapshots(event)
    return sorted(t for t in old.keys() | new.keys() if old.get(t) != new.get(t))


def knows_no_partition_yet(timeline: Timeline, request: Request) -> bool:
    """True if a member that had just found its brokers again saw no partition of its topics."""
    # A broker that starts answers before it has loaded the cluster's metadata: no topic changed.
    seen = [_snapshots(e) for e in request.events]
    if not any(old and all(new.get(t, "0") in _NONE for t in old) for old, new in seen):
        return False
    begin, lost = request.at - ONE_REBALANCE_MS, timeline.events_from(request.participant, CoordinatorLost)
    came_up = timeline.of(BrokerStarted, GroupLoaded)
    return lost.any_between(begin, request.at) or came_up.any_between(begin, request.at)


def _reason(event: Event) -> str:
    if isinstance(event, JoinRequested):
        return event.reason or ""
    return (event.client_reason or "") if isinstance(event, RebalanceStarted) else ""


def _snapshots(event: Event) -> tuple[dict[str, str], dict[str, str]]:
    """Each topic's partitions before and now; empty for any other event."""
    before, after = (event.before, event.after) if isinstance(event, JoinRequested) else (None, None)
    if before is None or after is None:
        text = _reason(event)
        found = re.search(r"changed from (.*?) at the beginning of the rebalance to (.*)", text, re.DOTALL)
        found = found or re.search(r"changed from (.*?) to (.*)", text, re.DOTALL)
        if found is None:
            return {}, {}
        before, after = found[1], found[2]
    return dict(_TOPICS.findall(before)), dict(_TOPICS.findall(after))
