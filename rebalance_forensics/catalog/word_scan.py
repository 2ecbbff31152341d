"""Finds literals in bytes without Hyperscan: two sieves over whole arrays, then a comparison of what is left."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

_GRAM = 4
# Wherever it starts, a window of seven bytes contains an aligned word of four bytes.
_WINDOW = 2 * _GRAM - 1
_CHUNK = 1 << 16
_WINDOW_MASK = np.uint64((1 << (8 * _WINDOW)) - 1)


class WordScan:
    """Finds each literal by its rarest window, and each window by its four words."""

    def __init__(self, literals: list[bytes]) -> None:
        counts = Counter(literal[at : at + _GRAM] for literal in literals for at in range(len(literal) - _GRAM + 1))
        self._windows: dict[bytes, list[tuple[bytes, int]]] = {}
        for literal in literals:
            start = _rarest_window(literal, counts)
            self._windows.setdefault(literal[start : start + _WINDOW], []).append((literal, start))
        grams = {window[at : at + _GRAM] for window in self._windows for at in range(_GRAM)}
        self._first = _table(_hash_words(np.frombuffer(b"".join(grams), dtype="<u4")))
        padded = b"".join(window + b"\0" for window in self._windows)
        self._second = _table(_hash_windows(np.frombuffer(padded, dtype="<u8")))

    def hits(self, block: bytes) -> list[int]:
        """Sorted positions of literals found."""
        words = np.frombuffer(block, dtype="<u4", count=len(block) // _GRAM)
        padded = block + b"\0" * 8
        eights: npt.NDArray[np.uint64] = np.ndarray(len(block) + 1, dtype="<u8", buffer=padded, strides=(1,))
        found: set[int] = set()
        for start in range(0, len(words), _CHUNK):
            likely = np.flatnonzero(self._first[_hash_words(words[start : start + _CHUNK])])
            for before in range(_GRAM):
                self._sieve(block, eights, (likely + start) * _GRAM - before, found)
        return sorted(found)

    def _sieve(
        self, block: bytes, eights: npt.NDArray[np.uint64], places: npt.NDArray[np.int64], found: set[int]
    ) -> None:
        """Add the literals among the places where a window may start."""
        if places.size and places[0] < 0:
            places = places[1:]
        for at in places[self._second[_hash_windows(eights[places])]].tolist():
            for literal, offset in self._windows.get(block[at : at + _WINDOW], ()):
                if at >= offset and block.startswith(literal, at - offset):
                    found.add(at - offset)


def _table(slots: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.bool_]:
    table = np.zeros(1 << 16, dtype=np.bool_)
    table[slots] = True
    return table


def _hash_words(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    return (words * np.uint32(0x9E3779B1)) >> np.uint32(16)


def _hash_windows(eights: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    return ((eights & _WINDOW_MASK) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(48)


def _rarest_window(literal: bytes, counts: Counter[bytes]) -> int:
    """The start of the window whose words appear in the fewest other literals, and so in few other lines."""
    starts = range(len(literal) - _WINDOW + 1)
    return min(starts, key=lambda start: sum(counts[literal[start + at : start + at + _GRAM]] for at in range(_GRAM)))
