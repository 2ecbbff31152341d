"""Formats that are not one record a line: JSON arrays, CSV, blocks of fields, several files in a row, pastes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rebalance_forensics.sources import pastes
from rebalance_forensics.sources.documents import (
    journal_blocks,
    json_values,
    printed_events,
    tailed_files,
    yaml_entries,
)
from rebalance_forensics.sources.envelopes import csv_rows
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.layouts.json_fields import Fields

PASTE = "paste"


class Row(NamedTuple):
    """One entry of a document: where it starts, and its content."""

    offset: int
    number: int
    line: Line


_Begins = Callable[[str], bool]
_Entry = tuple[int, int, str, Fields | None] | tuple[int, int, str, Fields | None, str | None]
_Entries = Callable[[Iterator[bytes]], Iterator[_Entry]]
_KINDS: dict[str, tuple[_Begins, _Entries]] = {
    "json": (json_values.is_document, json_values.values),
    "csv": (csv_rows.has_header, csv_rows.rows),
    "journal": (journal_blocks.is_document, journal_blocks.entries),
    "tailed": (tailed_files.is_document, tailed_files.entries),
    "events": (printed_events.is_document, printed_events.entries),
    "yaml": (yaml_entries.is_document, yaml_entries.entries),
}


def kind_of(head: bytes) -> str | None:
    """The kind of document that begins so; None for lines. What is a paste, only its lines show."""
    text = head.decode("utf-8", "replace").lstrip("\ufeff\x00\x1e \t\r\n")
    return next((kind for kind, (begins, _) in _KINDS.items() if begins(text)), None)


def rows(chunks: Iterator[bytes], kind: str) -> Iterator[Row]:
    """The entries of a document in file order."""
    if kind == PASTE:
        return (Row(*entry) for entry in pastes.entries(chunks))
    return (_row(*entry) for entry in _KINDS[kind][1](chunks))


def _row(offset: int, number: int, text: str, fields: Fields | None, host: str | None = None) -> Row:
    return Row(offset, number, Line(text=text, fields=fields, host=host))
