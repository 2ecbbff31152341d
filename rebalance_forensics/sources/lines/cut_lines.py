"""Detects lines that a viewer, a shipper or `cut -c` truncated at a fixed column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rebalance_forensics.records import LEFT_OUT

# Narrower than a terminal, lines are wrapped rather than truncated, and many are short anyway.
_NARROWEST = 80
_END = 8
# Minimum number of different final characters: repeated messages of equal length end alike.
_ENDS = 3
_JUST_BELOW = 8
# At most one in this many truncated lines may be followed by a line that starts no record: else lines were wrapped.
_GOES_ON = 3
_DIGITS = re.compile(r"\d+")

LineStart = tuple[str, bool]
"""A line, and whether a record starts with it."""


def cut_column(lines: Sequence[LineStart]) -> int | None:
    """The column at which the lines of a log were truncated, in characters; None if they were not."""
    # No line is longer, more lines have exactly this length than slightly less, and they end anywhere in the message.
    # The next line starts a record; if a terminal had wrapped lines, it would be the rest. Lines with an ellipsis need
    # no column.
    column = max((len(text) for text, _ in lines), default=0)
    if column < _NARROWEST:
        return None
    full = [text for text, _ in lines if is_cut(text, column)]
    nearly = sum(column - _JUST_BELOW <= len(text) for text, _ in lines) - len(full)
    ends = {_DIGITS.sub("0", text[-_END:]) for text in full}
    marked = sum(LEFT_OUT in text or "..." in text for text in full)
    if marked * 2 > len(full) or len(ends) < _ENDS or len(full) <= nearly:
        return None
    behind = [begins for (text, _), (_, begins) in pairwise(lines) if is_cut(text, column)]
    return column if behind.count(False) * _GOES_ON <= len(behind) else None


def is_cut(text: str, column: int | None) -> bool:
    """True for a line that reaches the column, or one less if a trailing blank was lost."""
    return column is not None and len(text) >= column - 1
