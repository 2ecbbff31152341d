"""A group's lines on one clock, each with a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clocks.file_clocks import FileClock, Place, on_one_clock, read_clocks
from rebalance_forensics.timeline.clocks.whole_seconds import within_their_seconds
from rebalance_forensics.timeline.clocks.writing_order import in_order, with_times
from rebalance_forensics.timeline.cluster_events import Surroundings
from rebalance_forensics.timeline.event_index import Told


class TimedLines(Struct, frozen=True):
    """`own` is what the group's story is made of, `around` what brokers said to nobody in particular."""

    own: Told
    around: Told
    clocks: Mapping[Place, FileClock]

    def of_the_group(self) -> tuple[Event, ...]:
        """The lines that name the group."""
        return tuple([event for event in self.own if event.group is not None])


def timed(lines: Sequence[Event], around: Surroundings) -> TimedLines:
    """The lines by time; one that has none takes that of the line before it in its log, or only its place among all."""
    clocks = read_clocks([*lines, *around.witnesses])
    filled = with_times(lines, around.by_brokers_in_logs_of(e for e in lines if e.at is None))
    if all(event.at is None for event in filled):
        return _by_order(filled, around, clocks)
    own = within_their_seconds(on_one_clock(filled, clocks), clocks)
    return TimedLines(Told(own), around.brokers(clocks, lines), clocks)


def _by_order(lines: Sequence[Event], around: Surroundings, clocks: dict[Place, FileClock]) -> TimedLines:
    """Lines without times in their order, among what brokers said there to nobody in particular."""
    own = {event.origin for event in lines}
    beside = (event for event in around.by_brokers_in_logs_of(lines) if event.at is None and event.origin not in own)
    ordered = on_one_clock(in_order([*lines, *beside]), clocks)
    return TimedLines(
        Told([event for event in ordered if event.origin in own]),
        Told([event for event in ordered if event.origin not in own]),
        clocks,
    )
