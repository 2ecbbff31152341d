"""A list of groups or incidents of which only outlines are in memory; each is loaded on access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

Whole = TypeVar("Whole")
Outline = TypeVar("Outline")


class LazyList(Sequence[Whole], Generic[Whole, Outline]):
    """A sequence of values that are built on each access; their outlines stay in memory."""

    __slots__ = ("_whole", "outlines")

    def __init__(self, outlines: Sequence[Outline], whole: Callable[[int], Whole]) -> None:
        """`whole` loads the value at an index."""
        self.outlines = outlines
        self._whole = whole

    def __len__(self) -> int:
        """The number of values."""
        return len(self.outlines)

    def __iter__(self) -> Iterator[Whole]:
        """Load one value after another."""
        return map(self._whole, range(len(self.outlines)))

    @overload
    def __getitem__(self, place: int) -> Whole: ...

    @overload
    def __getitem__(self, place: slice) -> LazyList[Whole, Outline]: ...

    def __getitem__(self, place: int | slice) -> Whole | LazyList[Whole, Outline]:
        """The value at an index; a slice stays lazy."""
        places = range(len(self.outlines))[place]
        return self._whole(places) if isinstance(places, int) else self.at(places)

    def at(self, places: Sequence[int]) -> LazyList[Whole, Outline]:
        """The values at these indexes, in that order, still lazy."""
        return LazyList([self.outlines[place] for place in places], lambda number: self._whole(places[number]))

    def changed(self, change: Callable[[Whole], Whole]) -> LazyList[Whole, Outline]:
        """Every value with a change that its outline does not show, applied on access."""
        return LazyList(self.outlines, lambda place: change(self._whole(place)))
