"""The partitions of its topics as a leader saw them when it assigned them, and as it sees them when it rejoins."""

from __future__ import annotations

import re

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost, GroupLoaded
from rebalance_forensics.events.process import BrokerStarted
from rebalance_forensics.events.rebalances import JoinRequested, RebalanceStarted
from rebalance_forensics.timeline.facts import Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS

_TOPICS = re.compile(r"(?<![^\s{},=()])([^\s{},=()]++)=(\[(?:[^\[\]]|\[[^\[\]]*\])*\]|[^,}]*)")
"""Topics and their partitions as logged: a number, or since KIP-881 a list with the racks of each."""

_SARAMAS = re.compile(r"partitions in topics \[(\S+)\] changed")
"""Sarama lists every topic that the member reads (consumer_group.go): which one changed it tells where there is one."""

_NONE = ("[]", "0")


def changed_topics(event: Event) -> list[str]:
    """The topics whose partitions differ between the two snapshots a leader logs."""
    if (listed := _SARAMAS.search(_reason(event))) is not None:
        return [listed[1]]
    old, new = _snapshots(event)
    return sorted(t for t in old.keys() | new.keys() if old.get(t) != new.get(t))


def knows_no_partition_yet(timeline: Timeline, request: Request) -> bool:
    """Whether none of its topics had a partition for a member that had just found its brokers again.

    A broker that starts answers before it has loaded the cluster's metadata: that changed no topic.
    """
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
    """What each topic had before and has now; nothing where the event is of something else."""
    before, after = (event.before, event.after) if isinstance(event, JoinRequested) else (None, None)
    if before is None or after is None:
        text = _reason(event)
        found = re.search(r"changed from (.*?) at the beginning of the rebalance to (.*)", text, re.DOTALL)
        found = found or re.search(r"changed from (.*?) to (.*)", text, re.DOTALL)
        if found is None:
            return {}, {}
        before, after = found[1], found[2]
    return dict(_TOPICS.findall(before)), dict(_TOPICS.findall(after))
