"""How far a packed file may unpack, in bytes and in seconds: logs pack well, but only so well."""

from __future__ import annotations

import time
from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics.sources.files.codecs import Damage

USUAL_RATIO = 1_000
UNPACKED = 8
"""Text packs to about an eighth."""
_MIB = 1 << 20


class Spent(Damage):
    """A file that unpacks further than logs do."""


class Allowance(Struct, frozen=True, kw_only=True):
    """What may come out of one file; `share` is that of one log, where an archive holds several."""

    unpacked: int
    seconds: float
    share: int | None = None
    ratio: int | None = None
    """Its packed size goes into `unpacked` at least so often; None where another limit was met first."""

    @property
    def most(self) -> int:
        """The bytes that may come out."""
        return self.unpacked if self.share is None else self.share

    def too_large(self) -> str:
        """What is said of a file that has more in it."""
        limit = _size(self.unpacked) + (f", at least {self.ratio} times its packed size" if self.ratio else "")
        if self.share is None:
            return f"unpacks to more than {limit}; {_VERDICT}"
        return f"unpacks to more than {_size(self.share)}, its share of what its archive may ({limit}); {_VERDICT}"


_VERDICT = (
    "it is taken for a decompression bomb and was read no further; "
    "if it is none, unpack it and give the directory, or allow more with --unpack-ratio"
)


class Limits(Struct, frozen=True, kw_only=True):
    """The budget of each file that a user or a store names, together with all that is packed in it."""

    # Log text packs 10 to 60 times with gzip, 100 times with xz or zstd where a loop fails in the same words; 1 000
    # times only what repeats byte for byte, times included. Small files get `least` all the same: a minute of a failing
    # loop may be that dull. `most` is a day of logs of the largest clusters in one archive. Inflating takes 0.1 s of
    # computing for each packed MiB, bzip2 on a slow machine 5 s; a file gets twice that, and a minute.
    ratio: int = USUAL_RATIO
    least: int = 256 * _MIB
    most: int = 1 << 40
    seconds: float = 60.0
    seconds_per_mib: float = 10.0

    @classmethod
    def of(cls, ratio: int) -> Limits:
        """All limits, moved as far as the ratio is from the usual one."""
        usual, factor = cls(), ratio / USUAL_RATIO
        return cls(
            ratio=ratio,
            least=int(usual.least * factor),
            most=int(usual.most * factor),
            seconds=usual.seconds * factor,
            seconds_per_mib=usual.seconds_per_mib * factor,
        )

    def allowance(self, packed: int) -> Allowance:
        """The budget of a file of so many bytes."""
        unpacked = min(max(self.least, self.ratio * packed), self.most)
        seconds = self.seconds + self.seconds_per_mib * packed / _MIB
        fits = unpacked >= self.ratio * packed
        return Allowance(unpacked=unpacked, seconds=seconds, ratio=self.ratio if fits else None)


class Meter:
    """Counts what is unpacked, byte by byte and second by second; with an allowance it stops what goes beyond."""

    # Seconds are those that the processor spends: a slow disk or network is no bomb.
    def __init__(self, allowance: Allowance | None = None) -> None:
        self._allowance = allowance
        self._unpacked, self._seconds = 0, 0.0
        self._running = False

    def spend(self, unpacked: int, seconds: float = 0.0) -> None:
        """Count; raises Spent when nothing is left."""
        self._unpacked += unpacked
        self._seconds += seconds
        if self._allowance is None:
            return
        if self._unpacked > self._allowance.most:
            raise Spent(self._allowance.too_large())
        if self._seconds > self._allowance.seconds:
            raise Spent(f"takes more than {self._allowance.seconds:,.0f} seconds of computing to unpack; {_VERDICT}")

    def guarded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The chunks that a decompressor gives, as long as they are allowed."""
        while True:
            # One decompressor may be fed by another: only the outer one is timed, for its time is both's.
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
