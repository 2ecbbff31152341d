"""Literals in bytes without Hyperscan: aligned words of four bytes against a table, whole arrays at a time."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

_GRAM = 4
_WINDOW = 2 * _GRAM - 1
"""Wherever a literal starts, a window of seven bytes holds one whole word at an aligned place."""
_MULTIPLIER = np.uint32(0x9E3779B1)
_SHIFT = np.uint32(16)
_CHUNK = 1 << 18


class WordScan:
    """Each literal is known by the rarest window in it, and each window by its four words."""

    def __init__(self, literals: list[bytes]) -> None:
        self._table = np.zeros(1 << 16, dtype=np.bool_)
        self._grams: dict[bytes, list[tuple[bytes, int]]] = {}
        counts = Counter(literal[at : at + _GRAM] for literal in literals for at in range(len(literal) - _GRAM + 1))
        for literal in literals:
            start = _rarest_window(literal, counts)
            for at in range(start, start + _GRAM):
                self._grams.setdefault(literal[at : at + _GRAM], []).append((literal, at))
        for gram in self._grams:
            self._table[_slots(np.frombuffer(gram, dtype="<u4"))] = True

    def hits(self, block: bytes) -> list[int]:
        """Sorted positions of literals found."""
        words = np.frombuffer(block, dtype="<u4", count=len(block) // _GRAM)
        found: set[int] = set()
        for start in range(0, len(words), _CHUNK):
            chunk = words[start : start + _CHUNK]
            for index in np.flatnonzero(self._table[_slots(chunk)]):
                self._confirm(block, (start + int(index)) * _GRAM, found)
        return sorted(found)

    def _confirm(self, block: bytes, at: int, found: set[int]) -> None:
        for literal, offset in self._grams.get(block[at : at + _GRAM], ()):
            if at >= offset and block.startswith(literal, at - offset):
                found.add(at - offset)


def _slots(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    return (words * _MULTIPLIER) >> _SHIFT


def _rarest_window(literal: bytes, counts: Counter[bytes]) -> int:
    """Where the window starts whose words few other literals (and so, few other lines) have."""
    starts = range(len(literal) - _WINDOW + 1)
    return max(starts, key=lambda start: _rarity(literal[start : start + _WINDOW], counts))


def _rarity(window: bytes, counts: Counter[bytes]) -> tuple[int, int]:
    grams = [window[at : at + _GRAM] for at in range(_GRAM)]
    plain = sum(gram.islower() and gram.isalpha() for gram in grams)
    return -plain, sum(counts[gram] for gram in grams)
