"""How long members take between two polls, where their logs tell: from the word of a rebalance to the rejoin.

The heartbeat thread logs that the group rebalances; the member rejoins at its next poll. When the word comes is chance,
so that half of the members wait for less than half a batch: a batch takes about twice the median wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from statistics import median

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.partitions import PartitionsRevoked
from rebalance_forensics.events.rebalances import HeartbeatFailed, JoinRequested, JoinStarted
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import REQUEST_MS

FEWEST = 3
"""Fewer waits say nothing about a batch."""
UNEVEN = 0.9
"""Four in five medians of n waits lie within this, divided by the root of n, of the true one (uniform waits)."""


class PollGap(Struct, frozen=True, kw_only=True):
    """Time between two polls of a busy member, and the range in which it lies, by how many waits tell it. ms."""

    low: float
    likely: float
    high: float
    waits: int


def poll_gap(timeline: Timeline, until: int, *, commits_first: bool) -> PollGap | None:
    """The gap by the rebalances up to a time; None if too few members log both the notice and the rejoin."""
    waits = [wait for at, wait in timeline.cached(_waits) if at <= until]
    busy = [wait for wait in waits if wait > REQUEST_MS]
    known = busy if len(busy) >= FEWEST else waits
    if len(known) < FEWEST:
        return None
    # A cooperative member that commits before it joins waits for the poll after that as well.
    polls = 1.5 if timeline.mode == "cooperative" and commits_first and known is busy else 0.5
    likely = max(REQUEST_MS, median(known) / polls)
    apart = min(0.6, UNEVEN / sqrt(len(known))) * (0.5 / polls)
    return PollGap(low=likely * (1 - apart), likely=likely, high=likely * (1 + apart), waits=len(known))


def _waits(timeline: Timeline) -> list[tuple[int, int]]:
    """(when it rejoined, after how long) of every member that logs both."""
    found: list[tuple[int, int]] = []
    for participant in timeline.participants.everybody:
        events = timeline.events_from(participant, JoinRequested, HeartbeatFailed, PartitionsRevoked, JoinStarted)
        found += _waits_of(events)
    return sorted(found)


def _waits_of(events: list[Event]) -> Iterator[tuple[int, int]]:
    noticed: int | None = None
    for event in events:
        if event.at is None:
            continue
        match event:
            case JoinRequested(why="already-rebalancing") | HeartbeatFailed(error="REBALANCE_IN_PROGRESS" | None):
                noticed = event.at if noticed is None else noticed
            case PartitionsRevoked() | JoinStarted():
                if noticed is not None:
                    yield event.at, event.at - noticed
                noticed = None
