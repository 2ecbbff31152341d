"""A group's history indexed by time, so that each of many pictures finds its part quickly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from operator import attrgetter

from msgspec import Struct

from rebalance_forensics.records import EpochMs
from rebalance_forensics.report.html.shapes import UNABLE, Window
from rebalance_forensics.report.lanes import leader_names, period_of, stable_until
from rebalance_forensics.report.member_names import short_names
from rebalance_forensics.report.wording import state_after
from rebalance_forensics.timeline.model import (
    BrokerOutage,
    Generation,
    GroupHistory,
    Lane,
    Mark,
    ReadSpan,
    Span,
    UnreadSpan,
)
from rebalance_forensics.timeline.time_index import IntervalIndex, TimeIndex

DISTURBANCES = frozenset({"paused", "away", "broken", "unread", "unread-share", *UNABLE})
COLORS = 10
"""Number of owners with their own color; further ones share colors."""
Held = tuple[Generation, EpochMs | None]
"""A generation, and the time at which the next one began."""


class ReadyLane(Struct, frozen=True, kw_only=True, eq=False):
    """A lane with its marks and spans by time, and the generations that it led."""

    lane: Lane
    marks: TimeIndex[Mark]
    spans: IntervalIndex[Span]
    led: frozenset[int]
    weight: tuple[int, int]
    """The number of faults and disturbances."""

    def speaks_in(self, window: Window) -> bool:
        """True if the lane has content in a period."""
        return self.marks.any_between(window.start, window.end) or bool(
            self.spans.places_touching(window.start, window.end)
        )


class ReadyHistory(Struct, frozen=True, kw_only=True, eq=False):
    """A group's lanes and generations by time."""

    group: str
    cluster: str
    period: tuple[EpochMs, EpochMs] | None
    lanes: tuple[ReadyLane, ...]
    generations: IntervalIndex[Held]
    read: IntervalIndex[ReadSpan]
    unread: IntervalIndex[UnreadSpan]
    partitions: frozenset[str]
    names: Mapping[str, str]
    """The short names of Streams threads: `node-2/T1`."""
    outages: tuple[BrokerOutage, ...]
    owners: Mapping[str, int]
    """Owner -> the number of its color, in the order of names."""


def ready(history: GroupHistory) -> ReadyHistory:
    """Index a history once for all its pictures."""
    led = _led(history)
    return ReadyHistory(
        group=history.group,
        cluster=history.cluster,
        period=period_of(history),
        lanes=tuple(_lane(lane, led) for lane in history.lanes),
        generations=IntervalIndex(stable_until(history), _begun, lambda stretch: stretch[1]),
        read=IntervalIndex(history.read, attrgetter("started_at"), attrgetter("ended_at")),
        unread=IntervalIndex(history.unread, attrgetter("started_at"), attrgetter("ended_at")),
        partitions=frozenset(name for span in history.read for name in span.partitions)
        | {gap.partition for gap in history.unread},
        names=short_names(history),
        outages=history.outages,
        owners={name: place % COLORS for place, name in enumerate(sorted({span.member for span in history.read}))},
    )


def _begun(stretch: Held) -> int:
    generation, _ = stretch
    return generation.began_at or 0


def _lane(lane: Lane, led: dict[str, set[int]]) -> ReadyLane:
    return ReadyLane(
        lane=lane,
        marks=TimeIndex(lane.marks),
        spans=IntervalIndex(lane.spans, attrgetter("started_at"), attrgetter("ended_at")),
        led=frozenset(led.get(lane.name, ())),
        weight=(
            sum(mark.severity == "fault" for mark in lane.marks),
            sum(span.kind in DISTURBANCES for span in lane.spans),
        ),
    )


def _led(history: GroupHistory) -> dict[str, set[int]]:
    owners = {lane.name: lane.owner for lane in history.lanes if lane.owner is not None}
    led: dict[str, set[int]] = defaultdict(set)
    for generation in history.generations:
        for name in _names(generation):
            led[name].add(generation.generation)
            if name in owners:
                led[owners[name]].add(generation.generation)
    return led


def _names(generation: Generation) -> Iterator[str]:
    # A Streams leader is named by its consumer, `<thread>-consumer`, and its thread leads.
    for name in leader_names(generation):
        yield name
        thread, consumer, _ = name.partition("-consumer")
        if consumer:
            yield thread


class Glimpse(Struct, frozen=True, kw_only=True, eq=False):
    """The facts about a group for one line of a list: disturbances, final state, hosts of its members."""

    rebalancing: tuple[tuple[EpochMs, EpochMs | None], ...]
    unread: tuple[tuple[EpochMs, EpochMs | None], ...]
    state: str
    """`stable, 3 members` after its last known rebalance; empty if there was none."""
    hosts: Mapping[str, str]
    """Any name of a member -> its host."""
    files: frozenset[str]
    """The logs of its members and brokers."""


def glimpse_of(history: GroupHistory) -> Glimpse:
    """The glimpse of a group."""
    last = history.generations[-1] if history.generations else None
    return Glimpse(
        rebalancing=tuple(
            (generation.started_at, generation.completed_at)
            for generation in history.generations
            if generation.started_at is not None
        ),
        unread=tuple((gap.started_at, gap.ended_at) for gap in history.unread),
        state="" if last is None else state_after(last),
        hosts={
            name: member.host
            for member in history.identities
            if member.host is not None
            for name in (member.name, *member.names)
        },
        files=frozenset(path for member in history.identities for path in member.files),
    )
