"""Limits how far a compressed file may unpack, in bytes and in seconds, to stop decompression bombs."""

from __future__ import annotations

import time
from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics.sources.files.codecs import Damage

USUAL_RATIO = 1_000
UNPACKED = 8
"""Text compresses to about an eighth."""
_MIB = 1 << 20


class Spent(Damage):
    """A file that unpacks further than any log."""


class Allowance(Struct, frozen=True, kw_only=True):
    """How far one file may unpack; `share` is the part of one log if an archive holds several."""

    unpacked: int
    seconds: float
    share: int | None = None
    ratio: int | None = None
    """The ratio of unpacked to packed size that applies; None if another limit is reached first."""

    @property
    def most(self) -> int:
        """The maximum number of unpacked bytes."""
        return self.unpacked if self.share is None else self.share

    def too_large(self) -> str:
        """The sentence about a file that exceeds it."""
        limit = _size(self.unpacked) + (f", at least {self.ratio} times its packed size" if self.ratio else "")
        if self.share is None:
            return f"unpacks to more than {limit}; {_VERDICT}"
        return f"unpacks to more than {_size(self.share)}, its share of what its archive may ({limit}); {_VERDICT}"


_VERDICT = (
    "it is taken for a decompression bomb and was read no further; "
    "if it is none, unpack it and give the directory, or allow more with --unpack-ratio"
)


class Limits(Struct, frozen=True, kw_only=True):
    """The budget of each input file, including everything packed in it."""

    # Logs compress by a factor of 10 to 60 with gzip, 100 with xz or zstd if a loop keeps logging the same error; 1,000
    # only if everything repeats byte for byte, times included. Small files get at least `least`, since a minute of a
    # failing loop may be that repetitive. `most` is a day of logs of the largest clusters in one archive. Inflating
    # takes 0.1 s of CPU for each packed MiB, bzip2 on a slow machine 5 s; a file gets twice that, and a minute.
    ratio: int = USUAL_RATIO
    least: int = 256 * _MIB
    most: int = 1 << 40
    seconds: float = 60.0
    seconds_per_mib: float = 10.0

    @classmethod
    def of(cls, ratio: int) -> Limits:
        """The limits, scaled by the ratio relative to the default one."""
        usual, factor = cls(), ratio / USUAL_RATIO
        return cls(
            ratio=ratio,
            least=int(usual.least * factor),
            most=int(usual.most * factor),
            seconds=usual.seconds * factor,
            seconds_per_mib=usual.seconds_per_mib * factor,
        )

    def allowance(self, packed: int) -> Allowance:
        """The budget of a file with `packed` bytes."""
        unpacked = min(max(self.least, self.ratio * packed), self.most)
        seconds = self.seconds + self.seconds_per_mib * packed / _MIB
        fits = unpacked >= self.ratio * packed
        return Allowance(unpacked=unpacked, seconds=seconds, ratio=self.ratio if fits else None)


class Meter:
    """Counts unpacked bytes and CPU seconds; with an allowance, stops what exceeds it."""

    # CPU seconds, because a slow disk or network is not a bomb.
    def __init__(self, allowance: Allowance | None = None) -> None:
        self._allowance = allowance
        self._unpacked, self._seconds = 0, 0.0
        self._running = False

    def spend(self, unpacked: int, seconds: float = 0.0) -> None:
        """Add to the counts; Spent if the allowance is exceeded."""
        self._unpacked += unpacked
        self._seconds += seconds
        if self._allowance is None:
            return
        if self._unpacked > self._allowance.most:
            raise Spent(self._allowance.too_large())
        if self._seconds > self._allowance.seconds:
            raise Spent(f"takes more than {self._allowance.seconds:,.0f} seconds of computing to unpack; {_VERDICT}")

    def guarded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The chunks of a decompressor, up to the allowance."""
        while True:
            # If one decompressor feeds another, only the outer one is timed, since its time includes the other's.
            outer, self._running = not self._running, True
            begun = time.thread_time() if outer else 0.0
            try:
                chunk = next(chunks, None)
            finally:
                self._running = not outer
            if chunk is None:
                return
            self.spend(len(chunk), time.thread_time() - begun if outer else 0.0)
            yield chunk


def _size(number: int) -> str:
    for name, unit in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= unit:
            return f"{number / unit:.1f} {name}".replace(".0 ", " ")
    return f"{number} bytes"
