"""What was read of one split, and lost."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_forensics.records import EpochMs


@dataclass(slots=True)
class SplitCounts:
    """Counts of one split.

    `lines` counts the lines that start in it, `records` the records; `unparsed` lines belong to no record.
    `first` and `last` are the earliest and latest times seen; `stopped`, that the rest of the file cannot be read.
    """

    bytes: int = 0
    lines: int = 0
    records: int = 0
    unparsed: int = 0
    first: EpochMs | None = None
    last: EpochMs | None = None
    errors: list[str] = field(default_factory=list)
    stopped: bool = False

    def saw(self, at: EpochMs | None) -> None:
        """Widen the times seen."""
        if at is not None:
            self.first = at if self.first is None or at < self.first else self.first
            self.last = at if self.last is None or at > self.last else self.last

    def stop(self, sentence: str) -> None:
        """Note why reading ended before the file did."""
        self.stopped = True
        self.complain(sentence)

    def complain(self, sentence: str) -> None:
        """Note what could not be read, once."""
        if sentence not in self.errors:
            self.errors.append(sentence)
