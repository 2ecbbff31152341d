"""Streams of a known size of which any place can be reached without reading up to it."""

from __future__ import annotations

import io
from typing import BinaryIO


class RandomAccess(io.RawIOBase, BinaryIO):
    """What a stream of a known size answers without reading; whoever extends it reads at `_at`."""

    def __init__(self, size: int) -> None:
        self._at, self._size = 0, size

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        """The place."""
        return self._at

    def seekable(self) -> bool:
        """Every place can be reached."""
        return True

    def readable(self) -> bool:
        """It is there to be read."""
        return True
