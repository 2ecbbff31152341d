"""CSV exports with a header line; a quoted cell may hold several lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from rebalance_forensics.sources.envelopes.csv_export import MESSAGE_COLUMNS, TIME_COLUMNS
from rebalance_forensics.sources.layouts.json_fields import Fields

_MAX_ROW = 8 << 20
csv.field_size_limit(2 * _MAX_ROW)


def _names(line: str) -> list[str]:
    try:
        return [cell.strip().lower() for cell in next(csv.reader([line]), [])]
    except csv.Error:
        return []


def has_header(text: str) -> bool:
    """Whether the first line names columns, one of which holds log lines."""
    names = _names(text.partition("\n")[0])
    named = set(names)
    return bool(named & set(MESSAGE_COLUMNS)) and (
        (len(names) > 1 and bool(named & set(TIME_COLUMNS))) or "_raw" in named
    )


def _physical_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest


def _logical_rows(chunks: Iterator[bytes]) -> Iterator[tuple[int, int, str]]:
    """Rows with their places; a row goes on while a quote is open."""
    offset, held, start, first = 0, b"", 0, 1
    for number, line in enumerate(_physical_lines(chunks), 1):
        if not held:
            start, first = offset, number
        held += line
        offset += len(line)
        if held.count(b'"') % 2 == 0 or len(held) > _MAX_ROW:
            yield start, first, held.decode("utf-8", "replace").removeprefix("\ufeff")
            held = b""
    if held:
        yield start, first, held.decode("utf-8", "replace")


def rows(chunks: Iterator[bytes]) -> Iterator[tuple[int, int, str, Fields | None]]:
    """The rows after the header, each as an object of its columns."""
    logical = _logical_rows(chunks)
    header = next(logical, (0, 1, ""))[2]
    names = _names(header.rstrip("\r\n"))
    for offset, line, text in logical:
        cells = next(csv.reader(io.StringIO(text.rstrip("\r\n"), newline="")), [])
        if cells:
            yield offset, line, text, {"_row": "csv", **dict(zip(names, cells, strict=False))}
