"""Which programs a text may be of: by how it begins or by a word in it, then by the longest words of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from rebalance_forensics.catalog.program import Program

_WIDTHS = (24, 12, 6)
"""Leads are looked up by as many of their first characters as one of these; the longest that fits."""
_FEW = 40
_MANY_WORDS = 4000
"""For so few needles, or in so long a text, looking for each costs less than taking all words of the text."""

T = TypeVar("T")
_Place = tuple[int, T, str, str]


class Index(Generic[T]):
    """Things with programs, found by the words of those."""

    def __init__(self, things: Iterable[tuple[T, Program]]) -> None:
        self._by_lead: dict[int, dict[str, list[_Place[T]]]] = {width: {} for width in _WIDTHS}
        self._by_word: dict[str, list[_Place[T]]] = {}
        self._anywhere: list[_Place[T]] = []
        self._worded: list[_Place[T]] = []
        for order, (thing, program) in enumerate(things):
            self._add((order, thing, program.needle, program.lead))
        if len(self._worded) < _FEW:
            self._anywhere += self._worded
            self._by_word, self._worded = {}, []

    def _add(self, place: _Place[T]) -> None:
        lead = place[3]
        width = next((width for width in _WIDTHS if len(lead) >= width), None)
        if width is not None:
            self._by_lead[width].setdefault(lead[:width], []).append(place)
        elif word := _whole_word(place[2]):
            self._by_word.setdefault(word, []).append(place)
            self._worded.append(place)
        else:
            self._anywhere.append(place)

    def candidates(self, text: str) -> list[T]:
        """What the text may be of, in the order of the index."""
        found = [place for place in self._anywhere if place[2] in text and text.startswith(place[3])]
        for width, table in self._by_lead.items():
            for place in table.get(text[:width], ()):
                if place[2] in text and text.startswith(place[3]):
                    found.append(place)  # noqa: PERF401 - most texts find nothing here, a comprehension would cost more
        found += self._with_words(text)
        if len(found) > 1:
            found.sort(key=_order)
        return [thing for _, thing, _, _ in found]

    def _with_words(self, text: str) -> list[_Place[T]]:
        if not self._worded:
            return []
        places = self._worded
        if len(text) <= _MANY_WORDS:
            places = [place for word in set(text.split()) for place in self._by_word.get(word, ())]
        return [place for place in places if place[2] in text and text.startswith(place[3])]


def _order(place: _Place[T]) -> int:
    return place[0]


def _whole_word(needle: str) -> str | None:
    """The longest word of a needle with blanks on both sides, which a text that has the needle has as a word."""
    inner = needle.split()[1:-1]
    return max(inner, key=len, default=None)
