"""Which templates a message may be of, in the order of preference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise, zip_longest
from typing import NamedTuple, TypeVar

from rebalance_forensics.catalog.compiled_catalog import Entry
from rebalance_forensics.catalog.index import Index, Place, Sieve
from rebalance_forensics.catalog.prefixes import OPENINGS, Peeled
from rebalance_forensics.catalog.speakers import simple_name

_REMEMBERED = 4096


class _Contender(NamedTuple):
    """A template, and what a text of it has: how it begins, and the longest words after that."""

    entry: Entry
    stage: int
    """How many prefixes are off the text."""
    needle: str
    lead: str


P = TypeVar("P", _Contender, tuple[Entry, str])


class Contenders:
    """The templates of a catalog: the bare ones, and those that spell a log prefix out."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.bare = Index((entry, entry.program) for entry in entries if not entry.dressed)
        self._dressed = Index((entry, entry.program) for entry in entries if entry.dressed)
        self._behind = lru_cache(_REMEMBERED)(self._all_behind)
        self._same: dict[tuple[int, ...], Sieve[Entry]] = {}
        self._by_beginning = lru_cache(_REMEMBERED)(self._all_by_beginning)

    def leading(self, peeled: Peeled, logger: str | None) -> list[tuple[Entry, str]]:
        """Those that are found by how the message begins, with the text that they are tried on."""
        *prefixed, text = stages = peeled.stages
        if not text or text.startswith(OPENINGS):
            return []  # of a prefix that nobody knows the beginning says too little
        sieves: tuple[Sieve[Entry], ...] = ()
        for stage, inner in pairwise(stages):
            if not stage.startswith(OPENINGS):
                break
            sieves = (*sieves, self._behind(stage[: -len(inner)]))
        leads = self.bare.leads_of(text)
        return [
            (entry, stage)
            for entry, at, needle, lead in self._by_beginning(leads, sieves, len(prefixed), peeled.kind, logger)
            if needle in (stage := stages[at]) and stage.startswith(lead)
        ]

    def all(self, peeled: Peeled, logger: str | None) -> list[tuple[Entry, str]]:
        """Those that fit the prefixes, and those that spell prefixes out."""
        found = [(entry, peeled.bare) for entry in self.bare.candidates(peeled.bare)]
        for stage, inner in zip_longest(peeled.stages, peeled.stages[1:], fillvalue=""):
            if not stage.startswith(OPENINGS):
                break
            sieve = self._behind(stage[: -len(inner)]) if inner else self._dressed
            found += [(entry, stage) for entry in sieve.candidates(stage)]
        return _preferred(found, peeled.kind, logger)

    def _all_behind(self, prefix: str) -> Sieve[Entry]:
        """The templates that may spell this prefix out; one object for all prefixes that differ in their ids only."""
        sieve = self._dressed.beginning_with(prefix)
        return self._same.setdefault(tuple(order for order, *_ in sieve.places), sieve)

    def _all_by_beginning(
        self, leads: Sequence[str], sieves: Sequence[Sieve[Entry]], prefixes: int, kind: str | None, logger: str | None
    ) -> list[_Contender]:
        found = _at(prefixes, self.bare.led_by(leads))
        for stage, sieve in enumerate(sieves):
            found += _at(stage, sieve.places)
        return _preferred(found, kind, logger)


def _at(stage: int, places: Iterable[Place[Entry]]) -> list[_Contender]:
    return [_Contender(entry, stage, needle, lead) for _, entry, needle, lead in places]


def _preferred(found: list[P], kind: str | None, logger: str | None) -> list[P]:
    """Those that the innermost prefix allows: most words of their own first, then the logger's own."""
    fitting = [one for one in found if not one[0].prefixes or kind in one[0].prefixes]
    if len(fitting) > 1:
        name = simple_name(logger) if logger else None
        fitting.sort(key=lambda one: (-one[0].weight, name not in one[0].loggers, one[0].pattern))
    return fitting
