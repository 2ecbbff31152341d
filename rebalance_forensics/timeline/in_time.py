"""Lists in the order of time: what lies in a while, and what is an actor's, is found without looking at the rest."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from operator import attrgetter
from typing import TypeVar

T = TypeVar("T")


class InTime(list[T]):
    """A list in time order, not to be changed once it is made."""

    def __init__(self, things: Iterable[T] = (), at: Callable[[T], int] = attrgetter("at")) -> None:
        super().__init__(sorted(things, key=at))
        self._at = at

    @cached_property
    def times(self) -> list[int]:
        """When each of them was."""
        return list(map(self._at, self))

    def between(self, begin: int, end: int) -> list[T]:
        """Those from `begin` to `end`, both included."""
        return self[bisect_left(self.times, begin) : bisect_right(self.times, end)]

    def since(self, begin: int) -> list[T]:
        """Those at `begin` and later."""
        return self[bisect_left(self.times, begin) :]

    def last(self, end: int) -> T | None:
        """The last one at `end` or before."""
        index = bisect_right(self.times, end)
        return self[index - 1] if index else None

    def first(self, begin: int) -> T | None:
        """The first one at `begin` or later."""
        index = bisect_left(self.times, begin)
        return self[index] if index < len(self) else None

    def any_between(self, begin: int, end: int) -> bool:
        """Whether there is one from `begin` to `end`."""
        index = bisect_left(self.times, begin)
        return index < len(self) and self.times[index] <= end

    def of(self, actor: object) -> InTime[T]:
        """Those of one actor."""
        return self._by_actor.get(actor) or InTime()

    @cached_property
    def _by_actor(self) -> dict[object, InTime[T]]:
        found: dict[object, list[T]] = defaultdict(list)
        for thing in self:
            found[thing.actor].append(thing)  # type: ignore[attr-defined]  # asked only of things that have one
        return {actor: InTime(things, self._at) for actor, things in found.items()}
