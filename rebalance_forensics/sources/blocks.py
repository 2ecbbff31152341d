"""A byte stream in blocks of whole lines, with every offset exact; a line without end is cut and named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

LONGEST_LINE = 8 << 20
KEPT_OF_A_LONG_LINE = 1 << 20


class Block(NamedTuple):
    """Whole lines from an offset on. `dropped` bytes of its last line were not kept."""

    offset: int
    data: bytes
    dropped: int = 0

    @property
    def end(self) -> int:
        """The offset after this block."""
        return self.offset + len(self.data) + self.dropped


def whole_lines(chunks: Iterator[bytes], offset: int = 0) -> Iterator[Block]:
    """Blocks that end with a newline; only the last of a file may not."""
    rest = b""
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            data = b"".join((rest, memoryview(chunk)[:cut]))
            yield Block(offset, data)
            offset += len(data)
            rest = chunk[cut:]
        else:
            rest += chunk
        if len(rest) > LONGEST_LINE:
            block, rest = _long_line(rest, chunks, offset)
            yield block
            offset = block.end
    if rest:
        yield Block(offset, rest)


def _long_line(start: bytes, chunks: Iterator[bytes], offset: int) -> tuple[Block, bytes]:
    """Keep the beginning of a line that does not end, and skip to where it does."""
    kept, length = start[:KEPT_OF_A_LONG_LINE] + b"\n", len(start)
    for chunk in chunks:
        cut = chunk.find(b"\n") + 1
        if cut:
            return Block(offset, kept, length + cut - len(kept)), chunk[cut:]
        length += len(chunk)
    return Block(offset, kept, length - len(kept)), b""


def from_first_line(blocks: Iterator[Block], start: int) -> Iterator[Block]:
    """The blocks from the first line that starts at or after `start`; they were read from the byte before it."""
    searching = start > 0
    for block in blocks:
        if not searching:
            yield block
            continue
        cut = block.data.find(b"\n") + 1
        searching = cut == 0
        if block.dropped and cut == len(block.data):
            continue
        if cut and cut < len(block.data):
            yield Block(block.offset + cut, block.data[cut:], block.dropped)
