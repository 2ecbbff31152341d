"""Surrounding lines: without them the lines of a cause, read alone, look like another cause."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import AssignmentComputed, AssignmentReceived, GenerationStabilized
from rebalance_forensics.timeline.group_timeline import Timeline

# Lines that count the members of a generation, the shortest first.
_LISTING = (GenerationStabilized, AssignmentReceived, AssignmentComputed)


def surrounding_generations(timeline: Timeline, times: Sequence[int]) -> tuple[Event, ...]:
    """The logged generation before these times, and those that followed."""
    for kind in _LISTING:
        listed = timeline.of(kind)
        if not listed:
            continue
        ungrouped = [listed.last(times[0] - 1), *[listed.first(at + 1) for at in (times[-1], *times[:-1])]]
        generations = tuple([event for event in ungrouped if event is not None])
        if generations:
            return generations
    return ()
