"""Finds the relevant lines in a block of bytes: those that contain search words of a pattern."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol

from rebalance_forensics.catalog import cache

try:
    import hyperscan
except ImportError:  # the `fast` extra is not installed
    hyperscan = None  # type: ignore[assignment]  # absent, as the line above says


class Scan(Protocol):
    """Finds literals in bytes."""

    def hits(self, block: bytes) -> list[int]:
        """Sorted positions within the literals found; lines without any are not parsed."""


def scan_for(search_words: Iterable[str], *, key: str | None = None, fast: bool = True) -> Scan:
    """A scan for these words: Hyperscan if it is installed (and `fast`), else `WordScan`."""
    words: list[bytes] = []
    for word in sorted({word.encode() for word in search_words}, key=len):
        # A word that contains another one is found by that.
        if not any(shorter in word for shorter in words):
            words.append(word)
    if fast and hyperscan is not None:
        return _HyperscanScan(_database(words, key or hashlib.sha256(b"\0".join(words)).hexdigest()[:32]))
    from rebalance_forensics.catalog.word_scan import WordScan  # noqa: PLC0415 - numpy takes a while to import

    return WordScan(words)


def _database(words: list[bytes], key: str) -> Any:  # noqa: ANN401 - hyperscan has no types
    """A block-mode database of literals, cached because it takes a moment to compile."""
    name = f"prefilter-{key}.hs"
    # A database from another version or machine is rejected.
    with suppress(hyperscan.error, ValueError, TypeError):
        if kept := cache.read(name):
            return hyperscan.loadb(kept, mode=hyperscan.HS_MODE_BLOCK)
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=words, ids=list(range(len(words))), literal=True)
    cache.write(name, bytes(hyperscan.dumpb(database)))
    return database


class _HyperscanScan:
    """Literals in bytes by Hyperscan, the `fast` extra."""

    def __init__(self, database: Any) -> None:  # noqa: ANN401 - as above
        self._database = database
        self._of_thread = threading.local()

    def hits(self, block: bytes) -> list[int]:
        """Sorted positions of the last byte of each literal found."""
        found: dict[int, None] = {}

        def on_match(_word: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found[end - 1] = None  # one call less than to append to a list

        # Scratch memory, one for each thread.
        if not hasattr(self._of_thread, "scratch"):
            self._of_thread.scratch = hyperscan.Scratch(self._database)
        self._database.scan(block, match_event_handler=on_match, scratch=self._of_thread.scratch)
        return sorted(found)
