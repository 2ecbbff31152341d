"""Brokers that a member's process failed to reach since its last poll(), so that its record processing waited.

A loop that writes to a partition whose leader is gone waits in send() or flush() (delivery.timeout.ms, max.block.ms);
commits and reads wait alike. Meanwhile the clients of its process keep retrying that broker. Producers and admin
clients have a thread of their own and retry while nobody calls poll().
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.coordinator import FIRST_COORDINATOR_NODE, LAST_COORDINATOR_NODE, NodeDisconnected
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import shown_poll_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, NEXT_HEARTBEAT_MS, PROCESS_START_MS


class UnreachableBroker(Struct, frozen=True):
    """A broker, and the lines in which clients of the process failed to reach it."""

    broker: int
    lines: tuple[NodeDisconnected, ...]


def broker_of(event: NodeDisconnected) -> int | None:
    """The broker behind a connection's node number; None for a bootstrap address."""
    if event.node is None or event.node < 0:
        return None
    return LAST_COORDINATOR_NODE - event.node if event.node > FIRST_COORDINATOR_NODE else event.node


def unreachable_before(timeline: Timeline, departure: Departure) -> list[UnreachableBroker]:
    """The brokers that its process failed to reach for a while, from about its last poll() on."""
    if departure.why != "poll-timeout":
        return []
    return timeline.cached_as(("unreachable", departure.id), lambda: _unreachable_before(timeline, departure))


def _unreachable_before(timeline: Timeline, departure: Departure) -> list[UnreachableBroker]:
    limit = shown_poll_ms(timeline, departure.events) or 0
    polled = departure.at - limit
    failed = timeline.of(NodeDisconnected).between(polled - limit, departure.at) if limit else ()
    by_broker: dict[int, list[NodeDisconnected]] = defaultdict(list)
    for event in failed:
        broker = broker_of(event)
        if broker is not None and departure.participant in _of_its_process(timeline, event):
            by_broker[broker].append(event)
    return [
        UnreachableBroker(broker, tuple(run))
        for broker, events in sorted(by_broker.items())
        for run in runs(events, time_of, PROCESS_START_MS)
        if _kept_from_polling(run, polled, limit)
    ]


def _of_its_process(timeline: Timeline, event: NodeDisconnected) -> Sequence[Participant]:
    """The members in a client's process; in a shared log, the members that its client id belongs to."""
    neighbors = timeline.participants.at_place(event)
    if len(neighbors) < 2:
        return neighbors
    speaker, client = timeline.participants.of_speaker(event), event.speaker.client_id or ""
    return [speaker] if speaker is not None else [p for p in neighbors if client.startswith(tuple(p.client_ids))]


def _kept_from_polling(run: Sequence[NodeDisconnected], polled: int, limit: int) -> bool:
    """True if the broker was lost early enough to take up most of the poll interval."""
    # Clients stop retrying once the controller has fenced the broker; its partitions have no leader from then on.
    first, last = time_of(run[0]), time_of(run[-1])
    return first <= polled + limit // 2 and last >= polled - NEXT_HEARTBEAT_MS and last - first > HEARTBEAT_MS


def waited_for(timeline: Timeline, departures: Sequence[Departure]) -> UnreachableBroker | None:
    """The one broker that the processes of all these members failed to reach since their last poll()."""
    by_departure = [{brokers.broker: brokers for brokers in unreachable_before(timeline, d)} for d in departures]
    if not by_departure:
        return None
    common = [broker for broker in by_departure[0] if all(broker in brokers for brokers in by_departure)]
    if len(common) != 1:
        return None
    return UnreachableBroker(common[0], tuple(e for brokers in by_departure for e in brokers[common[0]].lines[:2]))
