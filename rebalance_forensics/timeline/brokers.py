"""Where each broker runs, what it logs, and when it stopped and started.

Controllers also log stops and starts, and other programs log on a broker's host. Used by `coordinators.py` and for the
broker outages of the diagnosis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import windows
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.participants import home_of
from rebalance_forensics.timeline.time_index import NOTHING, TimeIndex, sets_by_key


@cached_answer
def stops_and_starts(timeline: Timeline) -> TimeIndex[ev.BrokerStopped | ev.BrokerStarted]:
    """The stops and starts of brokers, without those that a former controller logged by mistake.

    A controller that was frozen finds after it resumes that the brokers sent no heartbeats, and fences them before it
    learns that another controller was elected. If a controller logs the start of a broker whose own log continues
    without a start, the broker did not start at that time: their clocks differ.
    """
    found: list[ev.BrokerStopped | ev.BrokerStarted] = []
    fenced: set[int | None] = set()
    for event in timeline.of(ev.BrokerStopped, ev.BrokerStarted):
        assert isinstance(event, ev.BrokerStopped | ev.BrokerStarted)
        if isinstance(event, ev.BrokerStarted):
            if _ran_meanwhile(timeline, event):
                continue
            fenced.discard(affected_broker(event))
        elif event.timed_out and broker_at(timeline, event) in fenced:
            continue
        elif event.timed_out and event.broker is not None:
            fenced.add(event.broker)
        found.append(event)
    return TimeIndex(found, time_of, ordered=True)


def starts_of(timeline: Timeline, broker: int | None, begin: int, end: int) -> list[ev.BrokerStarted]:
    """The starts of a broker in a span."""
    near = stops_and_starts(timeline).between(begin, end)
    return [e for e in near if isinstance(e, ev.BrokerStarted) and affected_broker(e) == broker]


def affected_broker(event: Event) -> int | None:
    """The broker that stopped, started or unloaded; in a controller's line this is another broker."""
    named = event.broker if isinstance(event, ev.BrokerStopped | ev.BrokerStarted) else None
    return named if named is not None else event.speaker.broker


def broker_of(event: ev.NodeDisconnected) -> int | None:
    """The broker that a connection's node number refers to; None for a bootstrap address."""
    if event.node is None or event.node < 0:
        return None
    return ev.LAST_COORDINATOR_NODE - event.node if event.node > ev.FIRST_COORDINATOR_NODE else event.node


def stopped_around(timeline: Timeline, lost: Sequence[Event]) -> int | None:
    """The only broker that stopped around these losses, for lines without the coordinator's number; else None."""
    if not lost:
        return None
    begin, end = time_of(lost[0]) - windows.ONE_REBALANCE_MS, time_of(lost[-1]) + windows.ONE_REBALANCE_MS
    stops = (e for e in stops_and_starts(timeline).between(begin, end) if isinstance(e, ev.BrokerStopped))
    stopped = {broker for e in stops if (broker := affected_broker(e)) is not None}
    return stopped.pop() if len(stopped) == 1 else None


def _ran_meanwhile(timeline: Timeline, start: ev.BrokerStarted) -> bool:
    """True if the broker logged shortly before its reported start and continued without logging a stop or a start."""
    if start.broker is None or start.broker in brokers_by_home(timeline).get(home_of(start), ()):
        return False
    at = time_of(start)
    written = [lines.by_broker.get(start.broker, NOTHING) for lines in (timeline.group_events, timeline.ungrouped)]
    before = max((time_of(e) for lines in written if (e := lines.last(at)) is not None), default=None)
    after = next_line(timeline, start.broker, at + 1)
    if before is None or after is None or at - before > windows.AT_ONCE_MS:
        return False
    stopped = timeline.of(ev.BrokerStopped).between(at - windows.ONE_REBALANCE_MS, at)
    started = timeline.of(ev.BrokerStarted).between(before, after)
    own_start = any(e.speaker.broker == start.broker for e in started)
    return not own_start and not any(affected_broker(e) == start.broker for e in stopped)


def next_line(timeline: Timeline, broker: int, begin: int, end: int | None = None) -> int | None:
    """The time of the first line of a broker's own log at `begin` or later, up to `end`; None if there is none."""
    written = (
        lines.by_broker.get(broker, NOTHING).first(begin) for lines in (timeline.group_events, timeline.ungrouped)
    )
    times = [time_of(line) for line in written if line is not None and (end is None or time_of(line) <= end)]
    return min(times, default=None)


def broker_at(timeline: Timeline, event: Event) -> int | None:
    """The broker on whose host a line was written; None if several brokers or a client run there."""
    brokers = brokers_by_home(timeline).get(home_of(event), set())
    # Kafka's scripts name a broker's GC log kafkaServer-gc.log; the GC log of a client on its host has another name.
    is_named = "kafkaServer" in event.speaker.file
    alone = len(brokers) == 1 and (is_named or not timeline.participants.at_place(event))
    return next(iter(brokers)) if alone else None


@cached_answer
def brokers_by_home(timeline: Timeline) -> Mapping[str, set[int]]:
    """Host or place -> the brokers that log in it."""
    logs = chain(timeline.group_events.by_broker.items(), timeline.ungrouped.by_broker.items())
    # The log of a broker may consist of several files of its host.
    ends = ((broker, event) for broker, log in logs if broker is not None for event in (log[0], log[-1]))
    return sets_by_key((home_of(event), broker) for broker, event in ends)
