"""Counts of what was read and lost in one split."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_forensics import defects
from rebalance_forensics.records import EpochMs


@dataclass(slots=True)
class Spoiled:
    """The records that a defect of ours made unreadable, and its description; a record may be read more than once."""

    description: str
    at: set[int]


@dataclass(slots=True)
class Times:
    """The earliest and latest time of records in any order, and the times of the first and last one in the file."""

    first: EpochMs | None = None
    last: EpochMs | None = None
    opening: EpochMs | None = None
    closing: EpochMs | None = None
    _opens: int = 0
    _closes: int = 0

    def saw(self, at: EpochMs | None, offset: int) -> None:
        """Add the time of the record at an offset."""
        if at is None:
            return
        self.first = at if self.first is None or at < self.first else self.first
        self.last = at if self.last is None or at > self.last else self.last
        if self.opening is None or offset < self._opens:
            self.opening, self._opens = at, offset
        if offset >= self._closes:
            self.closing, self._closes = at, offset


@dataclass(slots=True)
class SplitCounts:
    """Counts of one split.

    `lines` counts the lines that start in it, `records` the records; `unparsed` lines belong to no record. `stopped`:
    the rest of the file cannot be read. `try_again`: the reason is not the file but a disk, a network or a defect of
    ours.
    """

    bytes: int = 0
    lines: int = 0
    records: int = 0
    unparsed: int = 0
    times: Times = field(default_factory=Times)
    errors: list[str] = field(default_factory=list)
    stopped: bool = False
    try_again: bool = False
    reached: int = 0
    """The offset of the last record that was read."""
    _broken_off: str | None = None
    _spoiled: dict[str, Spoiled] = field(default_factory=dict)

    def add(self, other: SplitCounts) -> None:
        """Add the counts of lines that were not framed."""
        self.bytes += other.bytes
        self.lines += other.lines
        self.unparsed += other.unparsed
        self.stopped |= other.stopped
        self.try_again |= other.try_again
        for sentence in other.errors:
            self.complain(sentence)

    def recognize(self) -> None:
        """Count a line of unknown layout as a record after all: it has one of Kafka's messages."""
        self.records += 1
        self.unparsed -= 1

    def stop(self, sentence: str, *, may_pass: bool) -> None:
        """Note the reason why reading ended before the end of the file."""
        self.stopped = True
        self.try_again |= may_pass
        self.complain(sentence)

    def break_off(self, error: Exception) -> None:
        """Note that a defect of ours ended reading before the end of the file."""
        self.stopped = self.try_again = True
        self._broken_off = defects.sentence(f"reading stopped behind the record at byte {self.reached:,}", error)

    def complain(self, sentence: str) -> None:
        """Note something that could not be read, once."""
        if sentence not in self.errors:
            self.errors.append(sentence)

    def spoil(self, offset: int, error: Exception) -> None:
        """Note a record that could not be read because of a defect of ours."""
        self.try_again = True
        place = defects.place_of(error)
        if (known := self._spoiled.get(place)) is not None:
            known.at.add(offset)
        else:
            self._spoiled[place] = Spoiled(defects.describe(error), {offset})

    def defects(self) -> tuple[str, ...]:
        """Sentences about everything that a defect of ours kept from being read."""
        return (*filter(None, (self._broken_off,)), *map(_sentence, self._spoiled.values()))


def _sentence(spoiled: Spoiled) -> str:
    others = f" and {len(spoiled.at) - 1:,} more" if len(spoiled.at) > 1 else ""
    return f"the record at byte {min(spoiled.at):,}{others} could not be read: {spoiled.description}; {defects.ASK}"
