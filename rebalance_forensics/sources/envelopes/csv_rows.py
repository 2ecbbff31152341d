"""CSV exports with a header line, whatever separates the columns; a quoted cell may hold several lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from rebalance_forensics.sources.layouts.json_field_names import TEXTS, TIMES, is_called
from rebalance_forensics.sources.layouts.json_fields import Fields
from rebalance_forensics.sources.lines.text import lines_of

_MAX_ROW = 8 << 20
_DELIMITERS = ",;\t|"
_LONGEST_NAME = 80
csv.field_size_limit(2 * _MAX_ROW)


def cells_of(row: Iterable[str], delimiter: str = ",") -> list[str]:
    """The cells of one row, whose lines these are; none where it is no CSV."""
    try:
        return next(csv.reader(row, delimiter=delimiter), [])
    except csv.Error:
        return []


def _names(line: str) -> tuple[list[str], str]:
    """The columns that a line names, and what separates them."""
    delimiter = max(_DELIMITERS, key=line.count)
    return [cell.strip() for cell in cells_of([line], delimiter)], delimiter


def has_header(text: str) -> bool:
    """Whether the first line names columns, one of which holds log lines; a bar in front is Markdown's."""
    if text.startswith("|"):
        return False
    names = _names(text.partition("\n")[0].rstrip("\r"))[0]
    if any(len(name) > _LONGEST_NAME for name in names) or not any(is_called(name, TEXTS) for name in names):
        return False
    return any(is_called(name, ("raw",)) for name in names) or any(
        is_called(name, TIMES) for name in names if not is_called(name, TEXTS)
    )


def _logical_rows(chunks: Iterator[bytes]) -> Iterator[tuple[int, int, str]]:
    """Rows with their places; a row continues while a quote is open."""
    offset, held, start, first = 0, b"", 0, 1
    for number, line in enumerate(lines_of(chunks), 1):
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
    names, delimiter = _names(header.rstrip("\r\n"))
    for offset, line, text in logical:
        row = text.rstrip("\r\n")
        if cells := cells_of(io.StringIO(row, newline=""), delimiter):
            yield offset, line, text, {"_row": "csv", **dict(zip(names, cells, strict=False))}
        elif row.strip():
            yield offset, line, row, None
