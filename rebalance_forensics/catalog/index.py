"""Finds the programs that may match a text: by its start or by a word in it, then by their longest literal text."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Container, Iterable, Sequence
from os.path import commonprefix
from typing import Generic, TypeVar

from rebalance_forensics.catalog.program import Program

# Leads are indexed by this many of their first characters: the largest number that they have.
_WIDTHS = (24, 12, 8, 6, 4)
_OPENING = min(_WIDTHS)
_FEW = 12
# With so few needles, or in so long a text, searching for each is cheaper than splitting the text into words.
_MANY_WORDS = 4000

T = TypeVar("T")
Place = tuple[int, T, str, str]
"""An indexed item: its order, the item, its needle and its lead."""


class Sieve(Generic[T]):
    """Chooses the items that may match a text; words that appear `everywhere` do not distinguish any."""

    def __init__(self, places: Iterable[Place[T]], everywhere: Container[str] = ()) -> None:
        self.places = sorted(places, key=_order)
        self._unindexed = self.places
        self._by_word: dict[str, list[Place[T]]] = {}
        self.words = self._by_word.keys()
        """A text that matches an item indexed by a word contains one of these."""
        if len(self.places) > _FEW:
            self._unindexed = []
            for place in self.places:
                word = _whole_word(place[2], everywhere)
                (self._by_word.setdefault(word, []) if word else self._unindexed).append(place)

    def candidates(self, text: str) -> list[T]:
        """The items that may match the text, in the order of the index."""
        return _items(self.through(text))

    def unindexed(self, text: str) -> list[Place[T]]:
        """The places that are indexed by no word and whose needle and lead the text has."""
        found: list[Place[T]] = []
        for place in self._unindexed:
            if place[2] in text and text.startswith(place[3]):
                found.append(place)  # noqa: PERF401 - asked of every line, and few lines have any
        return found

    def through(self, text: str) -> list[Place[T]]:
        """The places whose needle and lead the text has."""
        if not self._by_word or len(text) > _MANY_WORDS:
            return [place for place in self.places if place[2] in text and text.startswith(place[3])]
        found = self.unindexed(text)
        words = text.split()
        if self.words.isdisjoint(words):
            return found
        for word in self.words & set(words):
            found += [place for place in self._by_word[word] if place[2] in text and text.startswith(place[3])]
        return found


class Index(Generic[T]):
    """Items found by the literal text of their programs."""

    def __init__(self, items: Iterable[tuple[T, Program]]) -> None:
        by_opening: dict[str, dict[int, dict[str, list[Place[T]]]]] = {}
        not_leading: list[Place[T]] = []
        by_lead: list[tuple[str, Place[T]]] = []
        for order, (item, program) in enumerate(items):
            lead = program.lead
            place = (order, item, program.needle, lead)
            by_lead.append((lead, place))
            width = next((width for width in _WIDTHS if len(lead) >= width), None)
            if width is None:
                not_leading.append(place)
            else:
                tables = by_opening.setdefault(lead[:_OPENING], {})
                tables.setdefault(width, {}).setdefault(lead[:width], []).append(place)
        self._by_lead = sorted(by_lead, key=lambda led: led[0])
        self._leads = [lead for lead, _ in self._by_lead]
        self.rest = Sieve(not_leading)
        """The items that are not found by the start of a text."""
        self._by_opening = {
            opening: [
                (width, {lead: Sieve(places) for lead, places in table.items()}) for width, table in tables.items()
            ]
            for opening, tables in by_opening.items()
        }

    def candidates(self, text: str) -> list[T]:
        """The items that may match the text, in the order of the index."""
        return _items(self._led(text) + self.rest.through(text))

    def leads_of(self, text: str) -> tuple[str, ...]:
        """The starts of a text that items are found by: few in all, whichever ids follow."""
        leads: tuple[str, ...] = ()
        for width, table in self._by_opening.get(text[:_OPENING], ()):
            if (lead := text[:width]) in table:
                leads += (lead,)
        return leads

    def led_by(self, leads: Sequence[str]) -> list[Place[T]]:
        """The places found by the start of a text, as `leads_of` returns it."""
        tables = self._by_opening.get(leads[0][:_OPENING], ()) if leads else ()
        sieves = (table[lead] for width, table in tables for lead in leads if len(lead) == width)
        return sorted((place for sieve in sieves for place in sieve.places), key=_order)

    def beginning_with(self, opening: str) -> Sieve[T]:
        """The sieve for all texts that start with this."""
        places = (place for _, place in self._by_lead)
        return Sieve(place for place in places if place[3].startswith(opening) or opening.startswith(place[3]))

    def opening_of(self, text: str) -> str:
        """The part of a text's start that determines `beginning_with`: up to where it differs from every lead."""
        # A broker logs thousands of partitions in prefixes that differ from all leads after the same few characters.
        at = bisect(self._leads, text)
        near = self._leads[max(at - 1, 0) : at + 1]
        alike = (len(commonprefix((text, lead))) for lead in near)  # noqa: RUF071 - characters, not paths
        return text[: max(alike, default=0) + 1]

    def _led(self, text: str) -> list[Place[T]]:
        found: list[Place[T]] = []
        for width, table in self._by_opening.get(text[:_OPENING], ()):
            if (sieve := table.get(text[:width])) is not None:
                found += sieve.through(text)
        return found


def _items(found: list[Place[T]]) -> list[T]:
    if len(found) > 1:
        found.sort(key=_order)
    return [place[1] for place in found]


def _order(place: Place[T]) -> int:
    return place[0]


def _whole_word(needle: str, everywhere: Container[str]) -> str | None:
    """The longest inner word of a needle: any text that contains the needle contains it as a whole word."""
    inner = [word for word in needle.split()[1:-1] if word not in everywhere]
    return max(inner, key=len, default=None)
