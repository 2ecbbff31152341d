"""Things that a report tells of, of which only outlines are held: the whole of each is fetched when it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

Whole = TypeVar("Whole")
Outline = TypeVar("Outline")


class Kept(Sequence[Whole], Generic[Whole, Outline]):
    """Wholes in order, each made anew whenever it is asked for, beside their outlines, which are at hand."""

    __slots__ = ("_whole", "outlines")

    def __init__(self, outlines: Sequence[Outline], whole: Callable[[int], Whole]) -> None:
        """`whole` fetches the one at a place."""
        self.outlines = outlines
        self._whole = whole

    def __len__(self) -> int:
        """How many there are."""
        return len(self.outlines)

    def __iter__(self) -> Iterator[Whole]:
        """Fetch one after another."""
        return map(self._whole, range(len(self.outlines)))

    @overload
    def __getitem__(self, place: int) -> Whole: ...

    @overload
    def __getitem__(self, place: slice) -> Kept[Whole, Outline]: ...

    def __getitem__(self, place: int | slice) -> Whole | Kept[Whole, Outline]:
        """One of them, or some without fetching any."""
        places = range(len(self.outlines))[place]
        return self._whole(places) if isinstance(places, int) else self.at(places)

    def at(self, places: Sequence[int]) -> Kept[Whole, Outline]:
        """Those at some places, in that order."""
        return Kept([self.outlines[place] for place in places], lambda number: self._whole(places[number]))

    def changed(self, change: Callable[[Whole], Whole]) -> Kept[Whole, Outline]:
        """All of them, each changed in what its outline does not hold."""
        return Kept(self.outlines, lambda place: change(self._whole(place)))
