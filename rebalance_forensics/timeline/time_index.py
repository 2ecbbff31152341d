"""Lists in time order that find the items in a span, or of a participant, without a scan of the whole list."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from itertools import takewhile
from operator import attrgetter
from typing import Any, SupportsIndex, TypeVar, overload

K = TypeVar("K")
T = TypeVar("T")


def grouped(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The items by key, each list in the order of the items."""
    found: dict[K, list[T]] = defaultdict(list)
    for thing in things:
        found[key(thing)].append(thing)
    return found


def lists_by_key(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Key -> its values in the given order; a missing key gives an empty list."""
    found: dict[K, list[T]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return found


def sets_by_key(pairs: Iterable[tuple[K, T]]) -> dict[K, set[T]]:
    """Key -> its values; a missing key gives an empty set."""
    found: dict[K, set[T]] = defaultdict(set)
    for key, value in pairs:
        found[key].add(value)
    return found


def linked(things: Iterable[T], names: Callable[[T], Iterable[object]]) -> list[list[T]]:
    """The items in groups: items with a common name are in the same group."""
    groups: list[tuple[set[object], list[T]]] = []
    for thing in things:
        own, together = set(names(thing)), list[T]()
        for group in [group for group in groups if not group[0].isdisjoint(own)]:
            own |= group[0]
            together += group[1]
            groups.remove(group)
        groups.append((own, [*together, thing]))
    return [together for _, together in groups]


def united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of these spans as disjoint spans, in time order."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


@dataclass(slots=True)
class Extent:
    """The first and last time of some lines; None if no line has a time."""

    first: int | None = None
    last: int | None = None

    def reach(self, at: int | None) -> None:
        """Extend the span to the time of a line."""
        if at is not None and (self.first is None or at < self.first):
            self.first = at
        if at is not None and (self.last is None or at > self.last):
            self.last = at

    def overlap_ms(self, other: Extent) -> int | None:
        """The overlap of two spans in ms, negative for a gap between them; None if either has no times."""
        if self.first is None or self.last is None or other.first is None or other.last is None:
            return None
        return min(self.last, other.last) - max(self.first, other.first)


class TimeIndex(list[T]):
    """A list in time order, immutable once created."""

    # There are several for each member. Most never need `times`, so the attribute is created on demand.
    __slots__ = ("__dict__", "_at", "_of")

    def __init__(
        self, things: Iterable[T] = (), at: Callable[[T], int] = attrgetter("at"), *, ordered: bool = False
    ) -> None:
        """`ordered`: the items are already in time order, like any selection from a TimeIndex."""
        super().__init__(things if ordered else sorted(things, key=at))
        self._at = at
        self._of: dict[object, TimeIndex[T]] | None = None

    @cached_property
    def times(self) -> list[int]:
        """The time of each item."""
        return list(map(self._at, self))

    def between(self, begin: int, end: int) -> list[T]:
        """The items from `begin` to `end`, both included."""
        times = self.times
        return self[bisect_left(times, begin) : bisect_right(times, end)]

    def since(self, begin: int) -> list[T]:
        """The items at `begin` and later."""
        return self[bisect_left(self.times, begin) :]

    def onwards(self, begin: int) -> Iterator[T]:
        """An iterator over the items at `begin` and later, for callers that stop early."""
        return (self[place] for place in range(bisect_left(self.times, begin), len(self)))

    def backwards(self, end: int) -> Iterator[T]:
        """An iterator over the items at `end` and earlier, the last first, for callers that stop early."""
        return (self[place] for place in range(bisect_right(self.times, end) - 1, -1, -1))

    def last(self, end: int) -> T | None:
        """The last item at `end` or before."""
        index = bisect_right(self.times, end)
        return self[index - 1] if index else None

    def first(self, begin: int) -> T | None:
        """The first item at `begin` or later."""
        index = bisect_left(self.times, begin)
        return self[index] if index < len(self) else None

    def any_between(self, begin: int, end: int) -> bool:
        """True if there is an item from `begin` to `end`."""
        times = self.times
        index = bisect_left(times, begin)
        return index < len(times) and times[index] <= end

    def nearest(self, at: int, within: int) -> Iterator[T]:
        """The items at most `within` ms before or after `at`, nearest first; for equal distances, the earlier first."""
        place = bisect_left(self.times, at)
        before = (self[index] for index in range(place - 1, -1, -1))
        near = merge(before, self.onwards(at), key=lambda thing: abs(self._at(thing) - at))
        return takewhile(lambda thing: abs(self._at(thing) - at) <= within, near)

    def of(self, participant: object) -> TimeIndex[T]:
        """The items of one participant."""
        known = self._of
        if known is None:
            known = self._of = self.by(attrgetter("participant"))
        return known.get(participant, NOTHING)

    def by(self, key: Callable[[T], K]) -> dict[K, TimeIndex[T]]:
        """The items by key."""
        return {value: TimeIndex(things, self._at, ordered=True) for value, things in grouped(self, key).items()}


NOTHING: TimeIndex[Any] = TimeIndex()


class IntervalIndex(TimeIndex[T]):
    """A list of items with a start and an end, ordered by start; `until` returns the end, None if it is ongoing."""

    def __init__(self, things: Iterable[T], at: Callable[[T], int], until: Callable[[T], int | None]) -> None:
        super().__init__(things, at)
        self._until = until

    def touching(self, begin: int, end: int) -> list[T]:
        """The items that overlap the span from `begin` to `end`."""
        return [self[place] for place in self.places_touching(begin, end)]

    def places_touching(self, begin: int, end: int) -> list[int]:
        """The indices of the items in `touching`."""
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
        """The end of each item, or its start if it is ongoing."""
        return [at if end is None else end for at, end in zip(self.times, map(self._until, self), strict=True)]

    @cached_property
    def _open(self) -> list[int]:
        return [place for place, thing in enumerate(self) if self._until(thing) is None]

    @cached_property
    def _by_length(self) -> list[tuple[int, list[int], list[int]]]:
        """(longest length, starts, indices), one for each order of magnitude of the length."""
        # An item that lasted for a day must not widen the search among a thousand that lasted a second.
        found: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        still = set(self._open)
        for place, (begin, end) in enumerate(zip(self.times, self._ends, strict=True)):
            if place not in still:
                begins, places = found[max(end - begin, 0).bit_length() // 4]
                begins.append(begin)
                places.append(place)
        return [(1 << 4 * length + 4, *begins_and_places) for length, begins_and_places in found.items()]


class JoinedIndex(TimeIndex[T]):
    """Several lists as one. Searches in a span search each list; only an iteration over all items merges them."""

    # Groups of the same process share its lines: a merged list for each group would repeat the log of the process.
    def __init__(self, parts: Sequence[TimeIndex[T]], key: Callable[[T], Any]) -> None:
        """`key` orders the items of different parts; for equal keys, the items of the earlier part come first."""
        super().__init__((), parts[0]._at, ordered=True)  # noqa: SLF001 - its own
        self._parts = parts
        self._key = key

    # Methods that are not overridden use the times and items of the merged list.
    @cached_property
    def _everything(self) -> list[T]:
        return list(merge(*self._parts, key=self._key))

    def __iter__(self) -> Iterator[T]:
        """All items, oldest first."""
        return iter(self._everything)

    def __reversed__(self) -> Iterator[T]:
        """All items, the last first."""
        return reversed(self._everything)

    def __len__(self) -> int:
        """The number of all items."""
        return sum(map(len, self._parts))

    @overload
    def __getitem__(self, place: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: SupportsIndex | slice) -> T | list[T]:
        """The item at an index, or those of a slice."""
        if place == 0:
            return min((part[0] for part in self._parts), key=self._key)
        if place == -1:
            return max((part[-1] for part in reversed(self._parts)), key=self._key)
        return self._everything[place]

    def __contains__(self, thing: object) -> bool:
        """True if one of the parts contains it."""
        return any(thing in part for part in self._parts)

    def between(self, begin: int, end: int) -> list[T]:
        """The items from `begin` to `end`, both included."""
        found = [things for part in self._parts if (things := part.between(begin, end))]
        return found[0] if len(found) == 1 else list(merge(*found, key=self._key))

    def since(self, begin: int) -> list[T]:
        """The items at `begin` and later."""
        return list(self.onwards(begin))

    def onwards(self, begin: int) -> Iterator[T]:
        """An iterator over the items at `begin` and later, for callers that stop early."""
        return merge(*(part.onwards(begin) for part in self._parts), key=self._key)

    def last(self, end: int) -> T | None:
        """The last item at `end` or before."""
        found = [thing for part in reversed(self._parts) if (thing := part.last(end)) is not None]
        return max(found, key=self._key, default=None)

    def first(self, begin: int) -> T | None:
        """The first item at `begin` or later."""
        found = [thing for part in self._parts if (thing := part.first(begin)) is not None]
        return min(found, key=self._key, default=None)

    def any_between(self, begin: int, end: int) -> bool:
        """True if there is an item from `begin` to `end`."""
        return any(part.any_between(begin, end) for part in self._parts)


def joined(parts: Iterable[TimeIndex[T]], key: Callable[[T], Any]) -> TimeIndex[T]:
    """The parts combined into one list."""
    some = [part for part in parts if part]
    return NOTHING if not some else some[0] if len(some) == 1 else JoinedIndex(some, key)
