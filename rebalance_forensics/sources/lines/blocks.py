"""Splits a byte stream into blocks of whole lines with exact offsets, and finds the line starts of a block."""

# A line that is too long is cut and reported.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rebalance_forensics.sources.lines.line_ends import is_nul

_NEWLINE = 0x0A
# This much of a block, and what is computed from it, fits into a core's cache; a whole block does not.
_SLICE = 1 << 16
# Bytes.
_WORD = 8

Places = npt.NDArray[np.int64]


class LineStarts:
    """The line starts of one block of whole lines."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        # `bytes.count` restarts after each newline; for lines of usual length this takes half as long.
        self._found: dict[tuple[bytes, ...], Places] = {}
        self._newlines: Places = np.concatenate(list(_newlines(np.frombuffer(data, dtype=np.uint8))))

    def newlines_before(self, end: int) -> int:
        """The number of lines that end before a position."""
        return int(self._newlines.searchsorted(end))

    def line_around(self, place: int) -> int:
        """The start of the line that contains a position."""
        index = self.newlines_before(place)
        return int(self._newlines[index - 1]) + 1 if index else 0

    def bounds_of_lines_with(self, places: Sequence[int]) -> Iterable[tuple[int, int, int]]:
        """For each line with one of these positions: the number of lines before it, its start, the next start."""
        lines = np.unique(self._newlines.searchsorted(places))
        bounds = np.concatenate(([0], self._newlines + 1, [len(self._data)]))
        return zip(lines.tolist(), bounds[lines].tolist(), bounds[lines + 1].tolist(), strict=True)

    def next_beginning_with(self, beginnings: tuple[bytes, ...], start: int, end: int) -> int:
        """The first line from `start` on that starts with one of these; `end` if there is none before it."""
        if beginnings not in self._found:
            places = self._newlines + 1
            like = [self._data.startswith(beginnings, place) for place in places.tolist()]
            self._found = {beginnings: places[like]}
        found = self._found[beginnings]
        index = int(found.searchsorted(start))
        return min(int(found[index]), end) if index < len(found) else end

    def beginning_with(self, beginnings: Sequence[bytes], end: int) -> int:
        """The number of lines before `end` that start with one of these."""
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
    """A mask of the words that start with these bytes."""
    mask = np.uint64((1 << 8 * len(beginning)) - 1)
    alike: npt.NDArray[np.bool_] = (words & mask) == np.uint64(int.from_bytes(beginning, "little"))
    return alike


def lines_before(data: bytes, stop: int) -> int:
    """The total length of the lines that start before a position."""
    return 0 if stop <= 0 else len(data) if stop >= len(data) else data.find(b"\n", stop - 1) + 1 or len(data)


LONGEST_LINE = 8 << 20
KEPT_OF_A_LONG_LINE = 1 << 20
_NO_TEXT = b"\x00\r\n"


class Block(NamedTuple):
    """Whole lines from an offset on; `dropped` bytes of the last line were discarded, `lost` if they contained text."""

    offset: int
    data: bytes
    dropped: int = 0
    lost: bool = False

    @property
    def end(self) -> int:
        """The offset after this block."""
        return self.offset + len(self.data) + self.dropped


def whole_lines(chunks: Iterator[bytes], offset: int = 0) -> Iterator[Block]:
    """Blocks that end with a newline; only the last of a file may not."""
    pending: list[bytes] = []
    size = 0
    for chunk in chunks:
        rest = chunk
        if size + len(chunk) > LONGEST_LINE and size + (chunk.find(b"\n") + 1 or len(chunk)) > LONGEST_LINE:
            block, rest = _long_line(b"".join((*pending, chunk)), chunks, offset)
            yield block
            offset, pending, size = block.end, [], 0
        cut = rest.rfind(b"\n") + 1
        if cut:
            data = b"".join((*pending, memoryview(rest)[:cut]))
            yield Block(offset, data)
            offset += len(data)
            pending, size = [], 0
        pending.append(rest[cut:] if cut else rest)
        size += len(rest) - cut
    if size:
        yield Block(offset, b"".join(pending))


def _long_line(start: bytes, chunks: Iterator[bytes], offset: int) -> tuple[Block, bytes]:
    """Keep the start of a line that is too long, and skip to its end."""
    kept, length, lost = start[:KEPT_OF_A_LONG_LINE] + b"\n", 0, False
    for chunk in chain((start,), chunks):
        cut = chunk.find(b"\n") + 1
        lost = lost or not (
            is_nul(chunk) or not chunk[max(0, len(kept) - 1 - length) : cut or len(chunk)].strip(_NO_TEXT)
        )
        length += cut or len(chunk)
        if cut:
            kept = kept if lost else kept.rstrip(_NO_TEXT) + b"\n"
            return Block(offset, kept, length - len(kept), lost), chunk[cut:]
    return Block(offset, kept, length - len(kept), lost), b""


def from_first_line(chunks: Iterator[bytes], at: int, start: int, end: int | None) -> tuple[int, Iterator[bytes]]:
    """The start of the first line at or after `start`, and the bytes from there on; empty if it is not before `end`.

    The chunks were read from `at`, which is before `start` or starts a line.
    """
    if at >= start:
        return at, chunks
    for chunk in chunks:
        cut = chunk.find(b"\n", max(0, start - 1 - at)) + 1
        if cut:
            return at + cut, chain((chunk[cut:],), chunks)
        at += len(chunk)
        if end is not None and at >= end:
            break
    return at, iter(())
