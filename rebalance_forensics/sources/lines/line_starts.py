"""The line starts of a block, found in one pass; all counts of lines use them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

_NEWLINE = 0x0A
# So much of a block, and what is computed from it, stays in a core's own cache; a block as a whole does not.
_SLICE = 1 << 16
# Bytes.
_WORD = 8

Places = npt.NDArray[np.int64]


class LineStarts:
    """The line starts of one block of whole lines."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        # `bytes.count` begins anew after each newline; for lines of usual length this takes half as long.
        self._found: dict[tuple[bytes, ...], Places] = {}
        self._newlines: Places = np.concatenate(list(_newlines(np.frombuffer(data, dtype=np.uint8))))

    def newlines_before(self, end: int) -> int:
        """The number of lines that end before a place."""
        return int(self._newlines.searchsorted(end))

    def line_around(self, place: int) -> int:
        """The start of the line around a place."""
        index = self.newlines_before(place)
        return int(self._newlines[index - 1]) + 1 if index else 0

    def next_beginning_with(self, beginnings: tuple[bytes, ...], start: int, end: int) -> int:
        """The first line from a line start on that begins like one of these; the end when none does before it."""
        if beginnings not in self._found:
            places = self._newlines + 1
            like = [self._data.startswith(beginnings, place) for place in places.tolist()]
            self._found = {beginnings: places[like]}
        found = self._found[beginnings]
        index = int(found.searchsorted(start))
        return min(int(found[index]), end) if index < len(found) else end

    def beginning_with(self, beginnings: Sequence[bytes], end: int) -> int:
        """The number of lines that start before a place and begin like one of these."""
        last = self.newlines_before(end - 1)
        starts = self._newlines[:last] + 1
        near_the_end = starts.searchsorted(len(self._data) - _WORD, side="right")
        rest = [0, *starts[near_the_end:].tolist()]
        count = sum(self._data.startswith(tuple(beginnings), start) for start in rest)
        return count + self._count(starts[:near_the_end], beginnings)

    def _count(self, starts: Places, beginnings: Sequence[bytes]) -> int:
        """`beginning_with` for lines of at least eight bytes, each compared as one number."""
        if not len(starts):
            return 0
        every: npt.NDArray[np.uint64] = np.ndarray(
            len(self._data) - _WORD + 1, dtype="<u8", buffer=self._data, strides=(1,)
        )
        words = every[starts]
        like = np.zeros(len(starts), dtype=np.bool_)
        for beginning in beginnings:
            alike = _begin(words, beginning[:_WORD])
            for place in np.flatnonzero(alike) if len(beginning) > _WORD else ():
                alike[place] = self._data.startswith(beginning, starts[place])
            like |= alike
        return int(np.count_nonzero(like))


def _newlines(data: npt.NDArray[np.uint8]) -> Iterator[Places]:
    yield np.zeros(0, dtype=np.int64)
    for start in range(0, len(data), _SLICE):
        yield np.flatnonzero(data[start : start + _SLICE] == _NEWLINE) + start


def _begin(words: npt.NDArray[np.uint64], beginning: bytes) -> npt.NDArray[np.bool_]:
    """A mask of the words that have these as their first bytes."""
    mask = np.uint64((1 << 8 * len(beginning)) - 1)
    alike: npt.NDArray[np.bool_] = (words & mask) == np.uint64(int.from_bytes(beginning, "little"))
    return alike
