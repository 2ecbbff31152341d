"""Records that lost the line end between them: a viewer or a chat ran them together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from rebalance_forensics.sources.layouts.base import LEVEL
from rebalance_forensics.sources.pastes.piece import Piece

_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})"
_THREAD = r"(?:\[[^\[\]\s][^\[\]]{0,120}\] )"
# A whole time with a level behind it (and a thread between them) is the header of a record wherever it stands, and so
# is a time of day with thousandths.
_DATED = r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?\s{1,4}"
_HEADER = (
    rf"(?:{_DATED}{_THREAD}?\[?{LEVEL}\b"
    rf"|\[{_CLOCK}\] {LEVEL}\b|{_CLOCK} {_THREAD}?{LEVEL}\b)"
)
_OBJECT = r"\{\"@?[A-Za-z][\w.]{0,30}\":"
_FIRST = re.compile(f"{_HEADER}|{_OBJECT}")
_NEXT = re.compile(rf"(?<=[\s)\].;,}}])(?:(?={_HEADER})|(?={_OBJECT}\"))")
_SHORTEST = 60
"""No record is shorter, header and all; a shorter stretch is one of two headers that stand in front of a message."""


_FEW = 5
"""One line in more than so many is no paste: two processes that write into one file tear a line now and then."""


def is_glued(lines: Sequence[str]) -> bool:
    """Whether many lines hold several records."""
    first = [line for line in lines if _FIRST.match(line)]
    return sum(next(_begins(line), None) is not None for line in first) * _FEW > len(first)


def parted(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """One piece for each record."""
    for piece in pieces:
        at = 0
        for start in _begins(piece.text) if _FIRST.match(piece.text) else ():
            yield piece.part(at, start)
            at = start
        yield piece.part(at, len(piece.text)) if at else piece


def _begins(text: str) -> Iterator[int]:
    """Where the second record of a line begins, and each after it; what a JSON object holds is of that record."""
    at = 0
    while match := _NEXT.search(text, max(_end_of_object(text, at), at + _SHORTEST)):
        at = match.start()
        yield at


def _end_of_object(text: str, at: int) -> int:
    """Where the JSON object that begins at a place ends; the place itself where none does."""
    if not text.startswith("{", at):
        return at
    try:
        return json.JSONDecoder().raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return len(text)
