"""When the generations of a group were reached, by whatever line tells."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import accumulate

from rebalance_forensics.events.rebalances import JoinSucceeded
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import Generation


def reached_at(timeline: Timeline, generation: Generation) -> int:
    """When all had their assignment; of one that never got that far when it was created, else when it was prepared."""
    began = generation.started_at or 0
    created = timeline.remembered(_created_at).get(generation.generation, ())
    return generation.completed_at or next((at for at in created if at >= began), began)


def _created_at(timeline: Timeline) -> dict[int | None, list[int]]:
    """By their numbers, which begin anew where a group was deleted."""
    found: dict[int | None, list[int]] = defaultdict(list)
    for rebalance in timeline.rebalances:
        if rebalance.stabilized_at is not None:
            found[rebalance.generation].append(rebalance.stabilized_at)
    return found


def first_generation(timeline: Timeline, at: int) -> Generation | None:
    """The first generation that was reached at that time or later, or that was joined where no more is told."""
    latest = timeline.remembered(_latest_reached)
    place = bisect_left(latest, at)
    if place < len(latest):
        return timeline.generations[place]
    joined = timeline.of(JoinSucceeded).first(at)
    return next((g for g in timeline.generations if joined and g.generation == joined.generation), None)


def last_generation(timeline: Timeline, at: int) -> Generation | None:
    """The last of the generations that were reached by then."""
    times, latest = timeline.remembered(_by_their_times)
    place = bisect_right(times, at)
    return timeline.generations[latest[place - 1]] if place else None


def populated_at(timeline: Timeline) -> int | None:
    """When the first generation with members was reached, of those whose time is known."""
    return timeline.remembered(_populated_at)


def _populated_at(timeline: Timeline) -> int | None:
    return min((at for g in timeline.generations if g.members and (at := reached_at(timeline, g))), default=None)


def _latest_reached(timeline: Timeline) -> list[int]:
    """For each generation, when the latest up to it was reached."""
    return [*accumulate((reached_at(timeline, g) for g in timeline.generations), max)]


def _by_their_times(timeline: Timeline) -> tuple[list[int], list[int]]:
    """When each generation was reached, oldest first, with the place of the last one that was reached by then."""
    times = ((reached_at(timeline, g), place) for place, g in enumerate(timeline.generations))
    told = sorted((at, place) for at, place in times if at > 0)
    return [at for at, _ in told], [*accumulate((place for _, place in told), max)]
