"""Tables as CSV that a spreadsheet shows and does not execute."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable

from msgspec import Struct

from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.schema import Columns, Value
from rebalance_forensics.report.times import iso

CELL_CHARACTERS = 8_000
# Also as full-width signs, which some spreadsheets take for the narrow ones.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def table(columns: Columns, rows: Iterable[tuple[Struct, ...]], **in_words: Callable[[Value], Value]) -> str:
    """Write a table with its titles, each row of the Structs that have its cells; an unknown is an empty cell.

    `in_words` holds a function for each column that says its value in words.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns.names)
    writers = [in_words.get(name, iso if name in columns.times else _as_it_is) for name in columns.names]
    for parts in rows:
        writer.writerow([_shown(write(value)) for write, value in zip(writers, columns.values(*parts), strict=True)])
    return text.getvalue()


def _as_it_is(value: Value) -> Value:
    return value


def _shown(value: Value) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, int):
        return value
    harmless = line_of(value if isinstance(value, str) else " ".join(value), CELL_CHARACTERS)
    # A spreadsheet runs what starts like a formula, and a client id may.
    return f"'{harmless}" if harmless.lstrip().startswith(FORMULA_STARTS) else harmless
