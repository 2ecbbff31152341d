"""Runs: items close together in time. Walks: steps from member to member, or broker to broker, at a steady pace."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import pairwise
from statistics import median_low
from typing import TypeVar

from rebalance_forensics.timeline.windows import ONE_PACE, ONE_STEP_MS

T = TypeVar("T")
ONE_PLAN = 5
"""Changes that somebody makes to one thing by hand; more of them are a loop that rewrites it."""


def runs(
    items: Iterable[T], at: Callable[[T], int], gap_ms: int, until: Callable[[T], int] | None = None
) -> list[list[T]]:
    """The items in time order, cut wherever a gap is longer than `gap_ms`.

    `until` gives the end of an item that lasts: the gap then starts when the last item before it is over.
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
    """The steps in time order, cut where a long gap leads back to a visited place or breaks the walk's own pace.

    `place` is the member or broker that a step visits.
    """
    ordered = sorted(steps, key=at)
    found: list[list[T]] = []
    for run in _without_returns(ordered, at, place):
        found += _at_one_pace(run, at, place)
    return found


def _without_returns(ordered: list[T], at: Callable[[T], int], place: Callable[[T], Hashable]) -> list[list[T]]:
    """Cut where a second visit comes later than one step takes: that is another walk."""
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
    # Two visits show no pace of their own: only the usual step can be compared with.
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
