"""A byte stream in blocks of whole lines with exact offsets; a line that is too long is cut and reported."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from rebalance_forensics.sources.lines.line_ends import is_nul

LONGEST_LINE = 8 << 20
KEPT_OF_A_LONG_LINE = 1 << 20
_NO_TEXT = b"\x00\r\n"


class Block(NamedTuple):
    """Whole lines from an offset on. `dropped` bytes of its last line were not kept; `lost` if text was among them."""

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
    """Keep the beginning of a line that does not end, and skip to where it does."""
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
    """The start of the first line at or after `start`, and the bytes from there on; none if it is not before `end`.

    The chunks were read from `at`, which is before `start` or begins a line.
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
