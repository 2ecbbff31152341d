"""The templates that may match a message, in order of preference, and the rivals that would win against one."""

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

# Types whose values contain no blanks in strict mode.
_ONE_WORD = frozenset({"id", "word", "int", "broker_id", "float", "bool", "connection", "dot"})
Run = Sequence[str | int]
"""Literal text and placeholders (by number) that no blank separates."""


class Rivals:
    """The templates that would win against one and are indexed by other words than their first.

    Those words are not part of its own literal text, so they can only appear in its placeholders or next to them.
    """

    def __init__(self, entry: Entry, others: Iterable[Place[Entry]], types: Types) -> None:
        lead = "" if entry.spells_prefix else entry.program.lead
        places = (
            place
            for place in others
            if place[1].weight >= entry.weight and (place[3].startswith(lead) or lead.startswith(place[3]))
        )
        own = frozenset(word for words in entry.program.words for word in words.split())
        self._sieve = Sieve(places, everywhere=own)
        self._within = bool(entry.program.between) and not entry.spells_prefix and bool(self._sieve.words)
        self._words: list[tuple[int, frozenset[str]]] = []
        self._runs: list[Run] = []
        for run in _runs(entry.program.between) if self._within else ():
            self._take(run, [kind for _, kind in entry.program.placeholders], types)

    def may_win(self, text: str, groups: Groups) -> bool:
        """True if a text that the template matches with these values may belong to a preferred template."""
        if not self._within:
            return bool(self._sieve.through(text))
        for at, words in self._words:
            if groups[at] in words:
                return bool(self._sieve.through(text))
        # Each word of a run is a word of the text.
        if not self._runs or self._sieve.words.isdisjoint(text.split()):
            return bool(self._sieve.unindexed(text))
        for run in self._runs:
            shown = "".join([part if isinstance(part, str) else groups[part] or "" for part in run])
            if not self._sieve.words.isdisjoint(shown.split()):
                return bool(self._sieve.through(text))
        return bool(self._sieve.unindexed(text))

    def _take(self, run: Run, kinds: Sequence[str], types: Types) -> None:
        """Note how to check a run; for a single one-word value it is enough to compare it with a few words."""
        placeholders = [part for part in run if isinstance(part, int)]
        kind = kinds[placeholders[0]] if len(placeholders) == 1 else ""
        if kind not in _ONE_WORD:
            self._runs.append(run)
            return
        before, behind = (
            "".join(part for part in side if isinstance(part, str)) for side in _around(run, placeholders[0])
        )
        values = {
            word[len(before) : len(word) - len(behind)]
            for word in self._sieve.words
            if len(word) > len(before) + len(behind) and word.startswith(before) and word.endswith(behind)
        }
        fitting = frozenset(value for value in values if regex.fullmatch(type_named(kind, types).source, value))
        if fitting:
            self._words.append((placeholders[0], fitting))


def _around(run: Run, placeholder: int) -> tuple[Run, Run]:
    at = run.index(placeholder)
    return run[:at], run[at + 1 :]


def _runs(between: Sequence[str]) -> Iterator[Run]:
    """The runs of a template that contain a placeholder."""
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
# Characters of a prefix by which the templates that spell it out are chosen; thousands of prefixes differ only in ids.
_HEAD = 24


class Contender(NamedTuple):
    """A template with the text every match contains: `lead` at its start, `needle` after that."""

    entry: Entry
    stage: int
    """How many prefixes are removed from the text."""
    needle: str
    lead: str


@dataclass(eq=False, slots=True)
class _Prefixed:
    """The candidates for messages after certain prefixes of one logger."""

    sieves: tuple[Sieve[Entry], ...]
    """For each stage, the templates that may spell out its prefix."""
    prefixes: int
    kind: str | None
    logger: str | None
    by_leads: dict[tuple[str, ...], Sequence[Contender]] = field(default_factory=dict)
    """Start of the message -> the templates to try, best first."""


P = TypeVar("P", Contender, tuple[Entry, str])


class Contenders:
    """The templates of a catalog: those without a log prefix, and those that spell one out."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.bare = Index((entry, entry.program) for entry in entries if not entry.spells_prefix)
        self._dressed = Index((entry, entry.program) for entry in entries if entry.spells_prefix)
        self._behind = lru_cache(_REMEMBERED)(self._all_behind)
        self._beginning: dict[str, Sieve[Entry]] = {}
        self._same: dict[tuple[int, ...], Sieve[Entry]] = {}
        self._prefixed = lru_cache(_REMEMBERED)(self._all_prefixed)
        self._alike = lru_cache(_REMEMBERED)(_Prefixed)

    def leading(self, peeled: Peeled, logger: str | None) -> Sequence[Contender]:
        """Contenders found by the start of the message; each must still match its stage."""
        text = peeled.stages[-1]
        if not text or text.startswith(OPENINGS):
            return ()  # the start of an unknown prefix is not specific enough
        found = self._prefixed(peeled.prefixes, peeled.kind, logger)
        leads = self.bare.leads_of(text)
        known = found.by_leads.get(leads)
        if known is None:
            known = found.by_leads[leads] = self._all_by_beginning(leads, found)
        return known

    def has_others(self, bare: str) -> bool:
        """True if templates that `leading` does not return may match as well."""
        return not bare or bare.startswith(OPENINGS) or bool(self.bare.rest.through(bare))

    def all(self, peeled: Peeled, logger: str | None) -> list[tuple[Entry, str]]:
        """Every contender: those that accept the prefixes, and those that spell them out."""
        found = [(entry, peeled.bare) for entry in self.bare.candidates(peeled.bare)]
        for stage, inner in zip_longest(peeled.stages, peeled.stages[1:], fillvalue=""):
            if not stage.startswith(OPENINGS):
                break
            sieve = self._behind(stage[: -len(inner)][:_HEAD]) if inner else self._dressed
            found += [(entry, stage) for entry in sieve.candidates(stage)]
        return _preferred(found, peeled.kind, logger)

    def _all_behind(self, prefix: str) -> Sieve[Entry]:
        """The templates that may spell out this prefix; one object for all prefixes that differ only in ids."""
        opening = self._dressed.opening_of(prefix)
        if (known := self._beginning.get(opening)) is None:
            sieve = self._dressed.beginning_with(opening)
            known = self._same.setdefault(tuple(order for order, *_ in sieve.places), sieve)
            self._beginning[opening] = known
        return known

    def _all_prefixed(self, prefixes: tuple[str, ...], kind: str | None, logger: str | None) -> _Prefixed:
        """The candidates after such prefixes; one object for all prefixes that differ only in ids."""
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
    """The contenders that the innermost prefix allows: longest literal text first, then those of this logger."""
    fitting = [contender for contender in found if not contender[0].prefixes or kind in contender[0].prefixes]
    if len(fitting) > 1:
        name = simple_name(logger) if logger else None
        fitting.sort(
            key=lambda contender: (-contender[0].weight, name not in contender[0].loggers, contender[0].pattern)
        )
    return fitting
