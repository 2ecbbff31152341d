"""Formats other than one record per line: JSON arrays, CSV, blocks of fields, concatenated files, pastes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rebalance_forensics.sources import pastes
from rebalance_forensics.sources.documents import (
    described_pods,
    journal_blocks,
    json_values,
    printed_events,
    tailed_files,
    thread_files,
    vm_errors,
    yaml_entries,
)
from rebalance_forensics.sources.envelopes import csv_rows
from rebalance_forensics.sources.envelopes.base import Placed

PASTE = "paste"


_Begins = Callable[[str], bool]
_Entries = Callable[[Iterator[bytes]], Iterator[Placed]]
_KINDS: dict[str, tuple[_Begins, _Entries]] = {
    "json": (json_values.is_document, json_values.values),
    "csv": (csv_rows.has_header, csv_rows.rows),
    "journal": (journal_blocks.is_document, journal_blocks.entries),
    "tailed": (tailed_files.is_document, tailed_files.entries),
    "events": (printed_events.is_document, printed_events.entries),
    "hs-err": (vm_errors.is_document, vm_errors.entries),
    "threads": (thread_files.is_document, thread_files.entries),
    "described": (described_pods.is_document, described_pods.entries),
    "yaml": (yaml_entries.is_document, yaml_entries.entries),
}


def kind_of(head: bytes) -> str | None:
    """The kind of document that starts like this; None for lines. A paste is recognized by its lines instead."""
    text = head.decode("utf-8", "replace").lstrip("\ufeff\x00\x1e \t\r\n")
    return next((kind for kind, (begins, _) in _KINDS.items() if begins(text)), None)


def rows(chunks: Iterator[bytes], kind: str) -> Iterator[Placed]:
    """The entries of a document in file order."""
    return pastes.entries(chunks) if kind == PASTE else _KINDS[kind][1](chunks)
