"""Messages of which only the beginning is left: what it tells, where no other message begins so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import regex

from rebalance_forensics.catalog.compiled_catalog import Entry
from rebalance_forensics.catalog.fields import FieldValue
from rebalance_forensics.catalog.prefixes import Peeled
from rebalance_forensics.catalog.program import Types

_SHORTEST_LEAD = 4
_LEAST = 9
"""So many letters of its own a message must have begun with."""
_LONGEST = 2_000

Fields = Mapping[str, FieldValue]


def read(entries: Sequence[Entry], peeled: Peeled, types: Types) -> tuple[Entry, Fields] | None:
    """The template whose beginning this is, with the holes that are whole; None where several fit."""
    if len(peeled.stages[0]) > _LONGEST:
        return None
    found = sorted(_fitting(entries, peeled, types), key=lambda each: -each[0])
    if not found:
        return None
    most = found[0][0]
    rivals = {entry.event for words, entry, _ in found if words >= most}
    # What a template says by itself, another may say otherwise with the words that were cut.
    readings = {tuple(sorted(entry.program.constants.items())) for _, entry, _ in found}
    return found[0][1:] if len(rivals) == len(readings) == 1 else None


def _fitting(entries: Sequence[Entry], peeled: Peeled, types: Types) -> Iterator[tuple[int, Entry, Fields]]:
    for entry in entries:
        if entry.prefixes and peeled.kind not in entry.prefixes:
            continue
        for text in peeled.stages if entry.dressed else peeled.stages[-1:]:
            if not _begins_alike(entry.program.lead, text):
                continue
            match = _compiled(entry.program.source).fullmatch(text, partial=True)
            if match is None:
                continue
            whole = [group if match.end(n) < len(text) else None for n, group in enumerate(match.groups(), 1)]
            sure = _sure(entry.program.lead, text, [match.end(n) for n, group in enumerate(whole, 1) if group])
            fields = entry.program.filled(whole, types)
            if sure - sum(map(len, filter(None, whole))) >= _LEAST and fields is not None:
                yield sure, entry, fields


def _sure(lead: str, text: str, ends: Sequence[int]) -> int:
    """How far a template surely says what the text says; what is behind its last whole hole may be in the next one."""
    return max([min(len(lead), len(text)), *ends])


def _begins_alike(lead: str, text: str) -> bool:
    return len(lead) >= _SHORTEST_LEAD and (text.startswith(lead) or (len(text) >= _LEAST and lead.startswith(text)))


@lru_cache(maxsize=1024)
def _compiled(source: str) -> regex.Pattern[str]:
    return regex.compile(source)
