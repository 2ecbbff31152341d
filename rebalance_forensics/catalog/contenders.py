"""The templates a message may be of, in the order of preference, and those that would win against one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby, takewhile, zip_longest
from typing import NamedTuple, TypeVar

import regex

from rebalance_forensics.catalog.compiled_catalog import Entry
from rebalance_forensics.catalog.index import Index, Place, Sieve
from rebalance_forensics.catalog.prefixes import OPENINGS, Peeled
from rebalance_forensics.catalog.program import Groups, Types, type_named
from rebalance_forensics.catalog.speakers import simple_name

# The types of holes whose values have no blanks where a text is read strictly.
_ONE_WORD = frozenset({"id", "word", "int", "broker_id", "float", "bool", "connection", "dot"})
Run = Sequence[str | int]
"""What stands together without a blank: words of the template, and holes by their number."""


class Rivals:
    """The templates found by other words than their first that would win against one.

    The words that find them are none of its own. So they stand in its holes, or touch them.
    """

    def __init__(self, entry: Entry, others: Iterable[Place[Entry]], types: Types) -> None:
        lead = "" if entry.dressed else entry.program.lead
        places = (
            place
            for place in others
            if place[1].weight >= entry.weight and (place[3].startswith(lead) or lead.startswith(place[3]))
        )
        own = frozenset(word for words in entry.program.words for word in words.split())
        self._sieve = Sieve(places, everywhere=own)
        self._within = bool(entry.program.between) and not entry.dressed and bool(self._sieve.words)
        self._words: list[tuple[int, frozenset[str]]] = []
        self._runs: list[Run] = []
        for run in _runs(entry.program.between) if self._within else ():
            self._take(run, [kind for _, kind in entry.program.holes], types)

    def may_win(self, text: str, groups: Groups) -> bool:
        """True if a text that the template reads so may belong to another one that goes before it."""
        if not self._within:
            return bool(self._sieve.through(text))
        for at, words in self._words:
            if groups[at] in words:
                return bool(self._sieve.through(text))
        # All words of its runs are words of the text.
        if not self._runs or self._sieve.words.isdisjoint(text.split()):
            return bool(self._sieve.unindexed(text))
        for run in self._runs:
            shown = "".join([part if isinstance(part, str) else groups[part] or "" for part in run])
            if not self._sieve.words.isdisjoint(shown.split()):
                return bool(self._sieve.through(text))
        return bool(self._sieve.unindexed(text))

    def _take(self, run: Run, kinds: Sequence[str], types: Types) -> None:
        """Note what is asked of a run; of one value that is one word only whether it is one of a few."""
        holes = [part for part in run if isinstance(part, int)]
        kind = kinds[holes[0]] if len(holes) == 1 else ""
        if kind not in _ONE_WORD:
            self._runs.append(run)
            return
        before, behind = ("".join(part for part in side if isinstance(part, str)) for side in _around(run, holes[0]))
        values = {
            word[len(before) : len(word) - len(behind)]
            for word in self._sieve.words
            if len(word) > len(before) + len(behind) and word.startswith(before) and word.endswith(behind)
        }
        fitting = frozenset(value for value in values if regex.fullmatch(type_named(kind, types).source, value))
        if fitting:
            self._words.append((holes[0], fitting))


def _around(run: Run, hole: int) -> tuple[Run, Run]:
    at = run.index(hole)
    return run[:at], run[at + 1 :]


def _runs(between: Sequence[str]) -> Iterator[Run]:
    """What of a template stands together without a blank, as far as there is a hole in it."""
    parts: list[str | int | None] = []
    for at, literal in enumerate(between):
        words = literal.split()
        parts += [None] if literal[:1].isspace() else []
        for word in words:
            parts += [word, None]
        if words and not literal[-1:].isspace():
            parts.pop()
        parts.append(at)
    parts.pop()
    for is_run, run in groupby(parts, lambda part: part is not None):
        found = [part for part in run if part is not None]
        if is_run and any(isinstance(part, int) for part in found):
            yield found


_REMEMBERED = 4096
# By so much of a prefix, the templates that may spell it out are chosen: in thousands of them only ids differ.
_HEAD = 24


class Contender(NamedTuple):
    """A template, and what a text of it has: how it begins, and the longest words after that."""

    entry: Entry
    stage: int
    """How many prefixes are off the text."""
    needle: str
    lead: str


@dataclass(eq=False, slots=True)
class _Prefixed:
    """What is known of messages behind some prefixes of one logger."""

    sieves: tuple[Sieve[Entry], ...]
    """Of each stage, the templates that may spell its prefix out."""
    prefixes: int
    kind: str | None
    logger: str | None
    by_leads: dict[tuple[str, ...], Sequence[Contender]] = field(default_factory=dict)
    """By how the message begins: the templates to try, the best first."""


P = TypeVar("P", Contender, tuple[Entry, str])


class Contenders:
    """The templates of a catalog: the bare ones, and those that spell a log prefix out."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.bare = Index((entry, entry.program) for entry in entries if not entry.dressed)
        self._dressed = Index((entry, entry.program) for entry in entries if entry.dressed)
        self._behind = lru_cache(_REMEMBERED)(self._all_behind)
        self._beginning: dict[str, Sieve[Entry]] = {}
        self._same: dict[tuple[int, ...], Sieve[Entry]] = {}
        self._prefixed = lru_cache(_REMEMBERED)(self._all_prefixed)
        self._alike = lru_cache(_REMEMBERED)(_Prefixed)

    def leading(self, peeled: Peeled, logger: str | None) -> Sequence[Contender]:
        """Contenders found by the beginning of the message; each must still match its stage."""
        text = peeled.stages[-1]
        if not text or text.startswith(OPENINGS):
            return ()  # the beginning of an unknown prefix says too little
        found = self._prefixed(peeled.prefixes, peeled.kind, logger)
        leads = self.bare.leads_of(text)
        known = found.by_leads.get(leads)
        if known is None:
            known = found.by_leads[leads] = self._all_by_beginning(leads, found)
        return known

    def has_others(self, bare: str) -> bool:
        """True if there may be templates of a message that `leading` does not have."""
        return not bare or bare.startswith(OPENINGS) or bool(self.bare.rest.through(bare))

    def all(self, peeled: Peeled, logger: str | None) -> list[tuple[Entry, str]]:
        """Contenders that fit the prefixes, and those that spell prefixes out."""
        found = [(entry, peeled.bare) for entry in self.bare.candidates(peeled.bare)]
        for stage, inner in zip_longest(peeled.stages, peeled.stages[1:], fillvalue=""):
            if not stage.startswith(OPENINGS):
                break
            sieve = self._behind(stage[: -len(inner)][:_HEAD]) if inner else self._dressed
            found += [(entry, stage) for entry in sieve.candidates(stage)]
        return _preferred(found, peeled.kind, logger)

    def _all_behind(self, prefix: str) -> Sieve[Entry]:
        """The templates that may spell this prefix out; one object for all prefixes that differ in their ids only."""
        opening = self._dressed.opening_of(prefix)
        if (known := self._beginning.get(opening)) is None:
            sieve = self._dressed.beginning_with(opening)
            known = self._same.setdefault(tuple(order for order, *_ in sieve.places), sieve)
            self._beginning[opening] = known
        return known

    def _all_prefixed(self, prefixes: tuple[str, ...], kind: str | None, logger: str | None) -> _Prefixed:
        """What is found behind such prefixes; one object for all that differ in their ids only."""
        spelled = takewhile(lambda prefix: prefix.startswith(OPENINGS), prefixes)
        return self._alike(tuple([self._behind(prefix[:_HEAD]) for prefix in spelled]), len(prefixes), kind, logger)

    def _all_by_beginning(self, leads: Sequence[str], prefixed: _Prefixed) -> Sequence[Contender]:
        found = _at(prefixed.prefixes, self.bare.led_by(leads))
        for stage, sieve in enumerate(prefixed.sieves):
            found += _at(stage, sieve.places)
        return _preferred(found, prefixed.kind, prefixed.logger)


def _at(stage: int, places: Iterable[Place[Entry]]) -> list[Contender]:
    return [Contender(entry, stage, needle, lead) for _, entry, needle, lead in places]


def _preferred(found: list[P], kind: str | None, logger: str | None) -> list[P]:
    """The contenders that the innermost prefix allows: most words of their own first, then the logger's own."""
    fitting = [contender for contender in found if not contender[0].prefixes or kind in contender[0].prefixes]
    if len(fitting) > 1:
        name = simple_name(logger) if logger else None
        fitting.sort(
            key=lambda contender: (-contender[0].weight, name not in contender[0].loggers, contender[0].pattern)
        )
    return fitting
