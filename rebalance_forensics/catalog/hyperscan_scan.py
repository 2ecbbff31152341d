"""Literals in bytes by Hyperscan, the `fast` extra."""

from __future__ import annotations

import threading
from typing import Any

import hyperscan


class HyperscanScan:
    """One block-mode database of literals."""

    def __init__(self, database: Any) -> None:  # noqa: ANN401 - hyperscan has no types
        self._database = database
        self._of_thread = threading.local()

    @classmethod
    def compiled(cls, words: list[bytes]) -> HyperscanScan:
        """Build the database; takes a moment."""
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(expressions=words, ids=list(range(len(words))), literal=True)
        return cls(database)

    @classmethod
    def loaded(cls, dumped: bytes) -> HyperscanScan | None:
        """A database that `dump` wrote, or None where it was another version's or machine's."""
        try:
            return cls(hyperscan.loadb(dumped, mode=hyperscan.HS_MODE_BLOCK))
        except (hyperscan.error, ValueError, TypeError):
            return None

    def dump(self) -> bytes:
        """The database as bytes."""
        return bytes(hyperscan.dumpb(self._database))

    def hits(self, block: bytes) -> list[int]:
        """Sorted positions of the last byte of each literal found."""
        found: list[int] = []
        append = found.append

        def on_match(_word: int, _start: int, end: int, _flags: int, _context: object) -> None:
            append(end - 1)

        self._database.scan(block, match_event_handler=on_match, scratch=self._scratch())
        found.sort()
        return found

    def _scratch(self) -> Any:  # noqa: ANN401 - as above
        """Working memory, which no two threads may share."""
        if not hasattr(self._of_thread, "scratch"):
            self._of_thread.scratch = hyperscan.Scratch(self._database)
        return self._of_thread.scratch
