"""Simulated time: what is to happen, and when."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

Step = Callable[[float], None]


class Agenda:
    """Steps in the order of their time; steps of one instant happen in the order in which they were planned."""

    def __init__(self) -> None:
        self._steps: list[tuple[float, int, Step]] = []
        self._places = count()

    def plan(self, at: float, step: Step) -> None:
        """Schedule a step; it is called with its time."""
        heapq.heappush(self._steps, (at, next(self._places), step))

    def run(self, until: float) -> None:
        """Let everything happen up to a time, and what follows from it."""
        while self._steps and self._steps[0][0] <= until:
            at, _, step = heapq.heappop(self._steps)
            step(at)
