"""Which lines of a block of bytes are worth a look: those that contain words some pattern is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Protocol

from rebalance_forensics.catalog import cache

try:
    from rebalance_forensics.catalog.hyperscan_scan import HyperscanScan
except ImportError:  # the `fast` extra is not installed
    HyperscanScan = None  # type: ignore[assignment,misc]  # absent, as the line above says


class Scan(Protocol):
    """Finds literals in bytes."""

    def hits(self, block: bytes) -> list[int]:
        """Sorted positions, each inside a literal that was found."""


class Prefilter:
    """Finds positions of relevant words; a line without one is never parsed."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan

    @classmethod
    def of(cls, search_words: Iterable[str], *, key: str | None = None, fast: bool = True) -> Prefilter:
        """A prefilter for these words: Hyperscan's where it is installed (and `fast`), else our own."""
        words = _without_contained(sorted({word.encode() for word in search_words}, key=len))
        if fast and HyperscanScan is not None:
            return cls(_hyperscan(words, key or hashlib.sha256(b"\0".join(words)).hexdigest()[:32]))
        from rebalance_forensics.catalog.word_scan import WordScan  # noqa: PLC0415 - numpy takes a while to import

        return cls(WordScan(words))

    def hits(self, block: bytes) -> list[int]:
        """Sorted byte positions, one or more in every line that may be relevant."""
        return self._scan.hits(block)


def _without_contained(words: list[bytes]) -> list[bytes]:
    """A word that contains another one is found by it."""
    kept: list[bytes] = []
    for word in words:
        if not any(shorter in word for shorter in kept):
            kept.append(word)
    return kept


def _hyperscan(words: list[bytes], key: str) -> Scan:
    name = f"prefilter-{key}.hs"
    kept = cache.read(name)
    scan = HyperscanScan.loaded(kept) if kept else None
    if scan is None:
        scan = HyperscanScan.compiled(words)
        cache.write(name, scan.dump())
    return scan
