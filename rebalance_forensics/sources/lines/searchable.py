"""Prepares bytes for the prefilter by undoing JSON escapes, line by line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

Relevant = Callable[[bytes], Sequence[int]]

# Docker's JSON within JSON escapes a quote twice; Go writes <, > and & as \\u escapes, Gson also the quote and =.
_ESCAPES = (
    (b'\\\\\\"', b'"'),
    (b'\\"', b'"'),
    (b"\\/", b"/"),
    (b"\\\\u", b"\\u"),
    (b"\\u003c", b"<"),
    (b"\\u003e", b">"),
    (b"\\u0026", b"&"),
    (b"\\u0027", b"'"),
    (b"\\u003d", b"="),
    (b"\\u003C", b"<"),
    (b"\\u003E", b">"),
    (b"\\u003D", b"="),
)


def unescaped(block: bytes) -> bytes:
    """The block with JSON escapes undone; number and order of its lines stay the same."""
    if b"\\" in block:
        for written, meant in _ESCAPES:
            if written in block:
                block = block.replace(written, meant)
    return block


def hit_lines(lines: Sequence[bytes], relevant: Relevant) -> Iterator[int]:
    """The indexes of the lines that a prefilter hits, ascending."""
    block = unescaped(b"\n".join(lines))
    hits = relevant(block)
    if not hits:
        return
    ends = list(accumulate(len(line) + 1 for line in (lines if len(block) == _size(lines) else block.split(b"\n"))))
    last = -1
    for hit in hits:
        line = bisect_right(ends, hit)
        if line > last:
            last = line
            yield line


def _size(lines: Sequence[bytes]) -> int:
    return sum(map(len, lines)) + len(lines) - 1
