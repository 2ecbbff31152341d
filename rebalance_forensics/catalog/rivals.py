"""Templates that would win against one whose message begins as they need not: asked for line after line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import regex

from rebalance_forensics.catalog.compiled_catalog import Entry
from rebalance_forensics.catalog.index import Place, Sieve
from rebalance_forensics.catalog.program import Groups, Types, type_named

_ONE_WORD = frozenset({"id", "word", "int", "float", "bool", "connection", "dot"})
"""The types of holes whose values have no blanks where a text is read strictly."""
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
        """Whether a text that the template reads so may be of another one that goes before it."""
        if not self._within:
            return bool(self._sieve.through(text))
        for at, words in self._words:
            if groups[at] in words:
                return bool(self._sieve.through(text))
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
