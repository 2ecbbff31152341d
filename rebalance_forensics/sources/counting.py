"""What was read of one split, and lost."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_forensics import defects
from rebalance_forensics.records import EpochMs


@dataclass(slots=True)
class Spoiled:
    """The records that one defect of ours spoiled, and what is said of it; one may be looked at more than once."""

    told: str
    at: set[int]


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
    reached: int = 0
    """Where the record starts that was looked at last."""
    _spoiled: dict[str, Spoiled] = field(default_factory=dict)

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

    def spoil(self, offset: int, error: Exception) -> None:
        """Note a record that a defect of ours keeps from being read; the others are."""
        place = defects.place_of(error)
        if (known := self._spoiled.get(place)) is not None:
            known.at.add(offset)
        else:
            self._spoiled[place] = Spoiled(defects.told(error), {offset})

    def sentences(self) -> tuple[str, ...]:
        """All that could not be read."""
        return (*self.errors, *map(_said, self._spoiled.values()))


def _said(spoiled: Spoiled) -> str:
    others = f" and {len(spoiled.at) - 1:,} more" if len(spoiled.at) > 1 else ""
    return f"the record at byte {min(spoiled.at):,}{others} could not be read: {spoiled.told}; {defects.ASK}"
