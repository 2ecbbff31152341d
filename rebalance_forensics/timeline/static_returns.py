"""Static members that came back, with the line by which the coordinator says that it costs no rebalance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import StaticMemberKept
from rebalance_forensics.timeline.event_index import EventIndex, time_of
from rebalance_forensics.timeline.facts import StaticReturn
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import TICK_MS


def with_kept_lines(returns: Iterable[StaticReturn], ungrouped: EventIndex) -> Iterator[StaticReturn]:
    """The returns with those lines, which name neither member nor group: each stands right behind its own."""
    kept = ungrouped.of_type(StaticMemberKept)
    for back in returns:
        yield replace(back, events=tuple(_with_kept(back.events, kept))) if kept else back


def _with_kept(events: Iterable[Event], kept: TimeIndex[StaticMemberKept]) -> Iterator[Event]:
    for event in events:
        yield event
        near = kept.between(time_of(event), time_of(event) + TICK_MS)
        behind = (line for line in near if line.origin.byte_offset > event.origin.byte_offset)
        yield from [line for line in behind if line.origin.path == event.origin.path][:1]
