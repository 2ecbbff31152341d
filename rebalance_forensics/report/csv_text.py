"""Tables as CSV that a spreadsheet shows and does not execute."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from rebalance_forensics.report.plain_text import line_of

CELL_CHARACTERS = 8_000
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Also as full-width signs, which some spreadsheets take for the narrow ones."""

Cell = str | int | float | None


def table(titles: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Write a table with its titles; an unknown is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows([_shown(cell) for cell in row] for row in rows)
    return text.getvalue()


def _shown(cell: Cell) -> str | int | float:
    if cell is None:
        return ""
    if not isinstance(cell, str):
        return cell
    harmless = line_of(cell, CELL_CHARACTERS)
    # A spreadsheet runs what starts like a formula, and a client id may.
    return f"'{harmless}" if harmless.lstrip().startswith(FORMULA_STARTS) else harmless
