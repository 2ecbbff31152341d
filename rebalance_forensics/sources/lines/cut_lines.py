"""Lines that a viewer, a shipper or `cut -c` cut off at one column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rebalance_forensics.records import LEFT_OUT

# Below a terminal's width, lines are broken or moved, hardly ever cut; and many are as short as that by themselves.
_NARROWEST = 80
_END = 8
# So many ends of different letters: lines that are by nature equally long, as one message is, end alike.
_ENDS = 3
_JUST_BELOW = 8
# Behind no more than one cut line in so many stands one that no record starts with: else lines were broken there.
_GOES_ON = 3
_DIGITS = re.compile(r"\d+")

LineStart = tuple[str, bool]
"""A line, and whether a record starts with it."""


def cut_column(lines: Sequence[LineStart]) -> int | None:
    """The column at which a log's lines were cut, in characters; None where they were not."""
    # No line is longer, more lines are exactly as long than a little shorter, and they end anywhere in their message.
    # The next line is a record; where a terminal broke lines, it would be their rest. Lines with an ellipsis need no
    # column.
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
    """True for a line that reaches the column at which lines were cut, or one less where a trailing blank was lost."""
    return column is not None and len(text) >= column - 1
