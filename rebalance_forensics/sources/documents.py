"""Formats that are not one record a line: JSON arrays, responses and concatenated objects, CSV with quoted lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rebalance_forensics.sources import csv_rows, json_values
from rebalance_forensics.sources.layouts.json_fields import Fields


class Row(NamedTuple):
    """One entry of a document: where it starts, and its content as text or as an object."""

    offset: int
    line: int
    text: str
    fields: Fields | None


def kind_of(head: bytes) -> str | None:
    """The kind of document that begins so; None for lines."""
    text = head.decode("utf-8", "replace").lstrip("\ufeff\x00 \t\r\n")
    if json_values.is_document(text):
        return "json"
    return "csv" if csv_rows.has_header(text) else None


def rows(chunks: Iterator[bytes], kind: str) -> Iterator[Row]:
    """The entries of a document in file order."""
    found = json_values.values(chunks) if kind == "json" else csv_rows.rows(chunks)
    for offset, line, text, fields in found:
        yield Row(offset, line, text, fields)
