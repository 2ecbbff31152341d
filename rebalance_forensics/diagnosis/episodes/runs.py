"""Groups items by time: runs are close together; walks go from member to member, or broker to broker, at one pace."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import pairwise
from statistics import median_low
from typing import TypeVar

from rebalance_forensics.timeline.windows import ONE_PACE, ONE_STEP_MS

T = TypeVar("T")
ONE_PLAN = 5
"""At most this many changes to the same object are made by hand; more come from a loop that rewrites it."""


def runs(
    items: Iterable[T], at: Callable[[T], int], gap_ms: int, until: Callable[[T], int] | None = None
) -> list[list[T]]:
    """The items in time order, split wherever a gap is longer than `gap_ms`.

    `until` returns the end of an item with a duration: a gap then starts when all earlier items have ended.
    """
    found: list[list[T]] = []
    over = 0
    for item in sorted(items, key=at):
        end = at(item) if until is None else until(item)
        if found and at(item) - over <= gap_ms:
            found[-1].append(item)
            over = max(over, end)
        else:
            found.append([item])
            over = end
    return found


def walks(steps: Iterable[T], at: Callable[[T], int], place: Callable[[T], Hashable]) -> list[list[T]]:
    """The steps in time order, split if a place is visited again after a long gap or a step breaks the walk's pace.

    `place` is the member or broker that a step visits.
    """
    ordered = sorted(steps, key=at)
    found: list[list[T]] = []
    for run in _without_returns(ordered, at, place):
        found += _at_one_pace(run, at, place)
    return found


def _without_returns(ordered: list[T], at: Callable[[T], int], place: Callable[[T], Hashable]) -> list[list[T]]:
    """Split before each second visit that comes later than one step takes: another walk begins."""
    found: list[list[T]] = []
    visited: set[Hashable] = set()
    for step in ordered:
        near = bool(found) and at(step) - at(found[-1][-1]) <= ONE_STEP_MS
        if not found or (place(step) in visited and not near):
            found.append([])
            visited = set()
        found[-1].append(step)
        visited.add(place(step))
    return found


def _at_one_pace(run: list[T], at: Callable[[T], int], place: Callable[[T], Hashable]) -> list[list[T]]:
    """Split before each step that takes much longer than the walk's usual step."""
    # Two visits do not show a pace: compare with the usual length of a step instead.
    visits: dict[Hashable, int] = {}
    for step in run:
        visits.setdefault(place(step), at(step))
    strides = [later - earlier for earlier, later in pairwise(visits.values())]
    longest = max(ONE_STEP_MS, ONE_PACE * median_low(strides) if len(strides) > 1 else 0)
    found = [run[:1]]
    for before, step in pairwise(run):
        if at(step) - at(before) > longest:
            found.append([])
        found[-1].append(step)
    return found
