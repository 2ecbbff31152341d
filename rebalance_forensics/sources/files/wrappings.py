"""Removes the codecs around a stream, one after another: gzip within gzip exists."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

from rebalance_forensics.sources.files.budgets import Meter
from rebalance_forensics.sources.files.codecs import Damage, codec_of, decompressed
from rebalance_forensics.sources.files.containers import HEAD

MAX_DEPTH = 6
# This much of a compressed stream is read at once: to look at its start, no more has to be unpacked.
PIECE = 64 << 10


def pieces(stream: BinaryIO) -> Iterator[bytes]:
    """The rest of a stream, in pieces."""
    return iter(lambda: stream.read(PIECE), b"")


def unwrapped(packed: Iterator[bytes], meter: Meter) -> tuple[list[str], Iterator[bytes]]:
    """The codecs around a stream, and the bytes inside all of them."""
    codecs: list[str] = []
    head, chunks = peeked(packed)
    while (codec := codec_of(head)) and len(codecs) < MAX_DEPTH:
        codecs.append(codec)
        head, chunks = peeked(meter.guarded(decompressed(chunks, codec)))
    return codecs, chunks


def peeked(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes of an iterator, and an iterator that still includes them."""
    read: list[bytes] = []
    damage: Damage | None = None
    try:
        while sum(map(len, read)) < HEAD:
            read.append(next(chunks))
    except StopIteration:
        pass
    except Damage as error:
        damage = error

    def rest() -> Iterator[bytes]:
        if damage:
            raise damage
        yield from chunks

    return b"".join(read)[:HEAD], chain(read, rest())


class _Reader(io.RawIOBase, BinaryIO):
    """An iterator of chunks as a stream that can be read once."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes."""
        if not self._rest:
            self._rest = next(self._chunks, b"")
        data, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        return data


def reader(chunks: Iterator[bytes]) -> BinaryIO:
    """Chunks as a stream that can be read once."""
    return _Reader(chunks)
