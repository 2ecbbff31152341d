"""Where the lines of a block start, found in one pass; everything about lines is counted from that."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_NEWLINE = 0x0A


class LineStarts:
    """The line starts of one block of whole lines."""

    def __init__(self, data: bytes) -> None:
        self._bytes = np.frombuffer(data, dtype=np.uint8)
        # `bytes.count` begins anew after each newline; for lines of usual length this takes half as long.
        self._newlines = np.flatnonzero(self._bytes == _NEWLINE)

    def newlines_before(self, end: int) -> int:
        """How many lines end before a place."""
        return bisect_left(self._newlines, end)

    def beginning_with(self, beginnings: Sequence[bytes], end: int) -> int:
        """How many lines that start before a place begin like one of these; no two of them fit the same line."""
        starts = np.concatenate(([0], self._newlines[: bisect_left(self._newlines, end - 1)] + 1))
        return sum(self._beginning(starts, beginning) for beginning in beginnings)

    def _beginning(self, starts: npt.NDArray[np.int64], beginning: bytes) -> int:
        kept = starts[starts <= len(self._bytes) - len(beginning)]
        for distance, byte in enumerate(beginning):
            kept = kept[self._bytes[kept + distance] == byte]
        return len(kept)
