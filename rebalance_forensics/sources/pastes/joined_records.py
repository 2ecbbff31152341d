"""Records that lost the line end between them: a viewer or a chat ran them together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rebalance_forensics.sources.layouts.base import LEVEL
from rebalance_forensics.sources.pastes.piece import Piece

# A whole time with a level behind it is the header of a record wherever it stands.
_HEADER = rf"\[?\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?(?:Z|[+-]\d\d:?\d\d)?\]?\s{{1,4}}\[?{LEVEL}\b"
_FIRST = re.compile(_HEADER)
_NEXT = re.compile(rf"(?<=[\s)\].;,])(?={_HEADER})")


_FEW = 5
"""One line in more than so many is no paste: two processes that write into one file tear a line now and then."""


def is_glued(lines: Sequence[str]) -> bool:
    """Whether many lines hold several records."""
    first = [line for line in lines if _FIRST.match(line)]
    return sum(_NEXT.search(line, 1) is not None for line in first) * _FEW > len(first)


def parted(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """One piece for each record."""
    for piece in pieces:
        at = 0
        for match in _NEXT.finditer(piece.text, 1) if _FIRST.match(piece.text) else ():
            yield piece.part(at, match.start())
            at = match.start()
        yield piece.part(at, len(piece.text)) if at else piece
