"""Reads the uncompressed bytes of a file, whatever its compression."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import BinaryIO

from rebalance_forensics.sources.files.archives import archives
from rebalance_forensics.sources.files.budgets import Meter
from rebalance_forensics.sources.files.codecs import Damage, codec_of
from rebalance_forensics.sources.files.containers import HEAD
from rebalance_forensics.sources.files.places import Place
from rebalance_forensics.sources.files.wrappings import pieces, unwrapped

CHUNK = 1 << 20


@contextmanager
def opened(place: Place, meter: Meter | None = None) -> Iterator[BinaryIO]:
    """Open a file, or a member of an archive, still in its own compression."""
    with archives() as opened, opened.opened(place, meter or Meter(), Meter()) as stream:
        yield stream


def chunks_of(place: Place, start: int = 0) -> Iterator[bytes]:
    """The uncompressed bytes from an offset on; Damage or OSError if the rest cannot be read."""
    meter = Meter(place.allowance)
    with opened(place, meter) as stream:
        head = stream.read(HEAD)
        if stream.seekable() and codec_of(head) is None:
            stream.seek(start)
            yield from iter(lambda: stream.read(CHUNK), b"")
            return
        skip = start
        for chunk in _gathered(unwrapped(chain([head], pieces(stream)), meter)[1]):
            if skip < len(chunk):
                yield chunk[skip:] if skip else chunk
            skip = max(0, skip - len(chunk))


def is_packed(place: Place) -> bool:
    """True if a file is compressed or an archive."""
    with opened(place) as stream:
        return not stream.seekable() or codec_of(stream.read(HEAD)) is not None


def _gathered(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Join the small pieces of decompressors, because searching a block has a fixed cost."""
    gathered: list[bytes] = []
    size = 0
    try:
        for chunk in chunks:
            gathered.append(chunk)
            size += len(chunk)
            if size >= CHUNK // 2:
                yield b"".join(gathered)
                gathered, size = [], 0
    except (Damage, OSError):
        # Bytes before the damage are valid.
        yield b"".join(gathered)
        raise
    yield b"".join(gathered)
