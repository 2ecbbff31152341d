"""CSV exports: documents with a header row and any separator, and single rows without one."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line, Placed, instant
from rebalance_forensics.sources.envelopes.json_envelopes import line_in_object
from rebalance_forensics.sources.layouts.json_field_names import TEXTS, TIMES, is_called
from rebalance_forensics.sources.layouts.json_fields import object_of
from rebalance_forensics.sources.lines.text import lines_of
from rebalance_forensics.sources.times.timestamps import read_stamp

_MAX_ROW = 8 << 20
_DELIMITERS = ",;\t|"
_LONGEST_NAME = 80
# Sentences contain commas as well, but more words between them than a column name has.
_MOST_WORDS = 4
_LONGEST_TIME = 36
_HOST = re.compile(r"[A-Za-z](?=\D*+\d)[\w.-]*+\Z")
csv.field_size_limit(2 * _MAX_ROW)


def cells_of(row: Iterable[str], delimiter: str = ",") -> list[str]:
    """The cells of a row, given its lines; empty if it is not CSV."""
    try:
        return next(csv.reader(row, delimiter=delimiter), [])
    except csv.Error:
        return []


def _names(line: str) -> tuple[list[str], str]:
    """The columns that a header row names, and their separator."""
    delimiter = max(_DELIMITERS, key=line.count)
    return [cell.strip() for cell in cells_of([line], delimiter)], delimiter


def has_header(text: str) -> bool:
    """True if the first line names columns, one of them for log lines; a bar at the start is Markdown."""
    if text.startswith("|"):
        return False
    names = _names(text.partition("\n")[0].rstrip("\r"))[0]
    if any(len(name) > _LONGEST_NAME or len(name.split()) > _MOST_WORDS for name in names) or not any(
        is_called(name, TEXTS) for name in names
    ):
        return False
    return any(is_called(name, ("raw",)) for name in names) or any(
        is_called(name, TIMES) for name in names if not is_called(name, TEXTS)
    )


def _logical_rows(chunks: Iterator[bytes]) -> Iterator[tuple[int, int, str]]:
    """Rows with their positions; a row continues while a quote is open."""
    offset, row, start, first = 0, b"", 0, 1
    for number, line in enumerate(lines_of(chunks), 1):
        if not row:
            start, first = offset, number
        row += line
        offset += len(line)
        if row.count(b'"') % 2 == 0 or len(row) > _MAX_ROW:
            yield start, first, row.decode("utf-8", "replace").removeprefix("\ufeff")
            row = b""
    if row:
        yield start, first, row.decode("utf-8", "replace")


def rows(chunks: Iterator[bytes]) -> Iterator[Placed]:
    """The rows after the header, each as an object with its columns."""
    logical = _logical_rows(chunks)
    header = next(logical, (0, 1, ""))[2]
    names, delimiter = _names(header.rstrip("\r\n"))
    for offset, line, text in logical:
        row = text.rstrip("\r\n")
        if cells := cells_of(io.StringIO(row, newline=""), delimiter):
            fields = {"_row": "csv", **dict(zip(names, cells, strict=False))}
            yield offset, line, Line(text=text, fields=fields)
        elif row.strip():
            yield offset, line, Line(text=row)


def row_in_export(line: Line) -> Sequence[Line] | None:
    """The log line in a row of a document with a header, which `rows` yields as an object marked `_row`."""
    fields = object_of(line.text) if line.fields is None else line.fields
    if fields is None or "_row" not in fields:
        return None
    return line_in_object(line, {name: cell for name, cell in fields.items() if name != "_row"})


def bare_row(line: Line) -> Sequence[Line] | None:
    """The log line in a row of a document without a header: the longest cell; the others are identified by content."""
    if line.fields is not None or not line.text.startswith('"') or '",' not in line.text:
        return None
    cells = cells_of([line.text.replace("\n", "\r")])
    if not cells:
        return None
    line_cell = max((cell for cell in cells if not _is_time(cell)), key=len, default="")
    others = [cell for cell in cells if cell is not line_cell]
    time = next((cell for cell in others if _is_time(cell)), None)
    host = next((cell for cell in others if _HOST.match(cell)), line.host)
    return (replace(line, text=line_cell, at=instant(time) or line.at, host=host),)


def _is_time(cell: str) -> bool:
    return len(cell) <= _LONGEST_TIME and read_stamp(cell) is not None
