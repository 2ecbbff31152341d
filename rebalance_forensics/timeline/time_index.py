"""Lists in the order of time: what lies in a span, or belongs to a participant, is found without scanning the rest."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar

T = TypeVar("T")


class TimeIndex(list[T]):
    """A list in time order, not to be changed once it is made."""

    def __init__(
        self, things: Iterable[T] = (), at: Callable[[T], int] = attrgetter("at"), *, ordered: bool = False
    ) -> None:
        """`ordered` things are in time order already, as is whatever was picked from such a list."""
        super().__init__(things if ordered else sorted(things, key=at))
        self._at = at
        self._of: dict[object, TimeIndex[T]] | None = None

    @cached_property
    def times(self) -> list[int]:
        """When each of them was."""
        return list(map(self._at, self))

    def between(self, begin: int, end: int) -> list[T]:
        """Those from `begin` to `end`, both included."""
        times = self.times
        return self[bisect_left(times, begin) : bisect_right(times, end)]

    def since(self, begin: int) -> list[T]:
        """Those at `begin` and later."""
        return self[bisect_left(self.times, begin) :]

    def onwards(self, begin: int) -> Iterator[T]:
        """The same, one after another, for whoever stops soon."""
        return (self[place] for place in range(bisect_left(self.times, begin), len(self)))

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
        times = self.times
        index = bisect_left(times, begin)
        return index < len(times) and times[index] <= end

    def nearest(self, at: int, within: int) -> Iterator[T]:
        """Those at most `within` away, the nearest first, of two as near the earlier: for whoever takes the first."""
        times = self.times
        after = bisect_left(times, at)
        before = after - 1
        while True:
            back = at - times[before] if before >= 0 else within + 1
            ahead = times[after] - at if after < len(times) else within + 1
            if min(back, ahead) > within:
                return
            if back <= ahead:
                yield self[before]
                before -= 1
            else:
                yield self[after]
                after += 1

    def of(self, participant: object) -> TimeIndex[T]:
        """Those of one participant."""
        known = self._of
        if known is None:
            known = self._of = self._by_participant()
        return known.get(participant, NOTHING)

    def _by_participant(self) -> dict[object, TimeIndex[T]]:
        found: dict[object, list[T]] = defaultdict(list)
        for thing in self:
            found[thing.participant].append(thing)  # type: ignore[attr-defined]  # asked only of things that have one
        return {participant: TimeIndex(things, self._at, ordered=True) for participant, things in found.items()}


NOTHING: TimeIndex[Any] = TimeIndex()


class IntervalIndex(TimeIndex[T]):
    """A list in the order of begins whose things last: `until` says when each was over, None if it never was."""

    def __init__(self, things: Iterable[T], at: Callable[[T], int], until: Callable[[T], int | None]) -> None:
        super().__init__(things, at)
        self._until = until

    def touching(self, begin: int, end: int) -> list[T]:
        """Those that had begun by `end` and were not over before `begin`."""
        return [self[place] for place in self.places_touching(begin, end)]

    def places_touching(self, begin: int, end: int) -> list[int]:
        """The same, by their places in the list."""
        if not self:
            return []
        found = self._open[: bisect_left(self._open, bisect_right(self.times, end))] if self._open else []
        ends = self._ends
        for longest, begins, places in self._by_length:
            for some in range(bisect_left(begins, begin - longest), bisect_right(begins, end)):
                place = places[some]
                if ends[place] >= begin:
                    found.append(place)
        if len(found) > 1:
            found.sort()
        return found

    @cached_property
    def _ends(self) -> list[int]:
        """When each was over, its begin where it never was."""
        return [at if end is None else end for at, end in zip(self.times, map(self._until, self), strict=True)]

    @cached_property
    def _open(self) -> list[int]:
        return [place for place, thing in enumerate(self) if self._until(thing) is None]

    @cached_property
    def _by_length(self) -> list[tuple[int, list[int], list[int]]]:
        """Begins and places by how long things last: one that lasted for a day must not hide a thousand seconds."""
        found: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        still = set(self._open)
        for place, (begin, end) in enumerate(zip(self.times, self._ends, strict=True)):
            if place not in still:
                begins, places = found[max(end - begin, 0).bit_length() // 4]
                begins.append(begin)
                places.append(place)
        return [(1 << 4 * length + 4, *begins_and_places) for length, begins_and_places in found.items()]
