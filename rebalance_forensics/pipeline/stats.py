"""What was read of one split: counted where it is read, with lines counted from its start, added up for the report."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from msgspec import Struct

from rebalance_forensics import defects
from rebalance_forensics.pipeline.schemas import Row
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.coverage import LogSpan


class SplitLines(NamedTuple):
    """How many lines start in one split of a file."""

    path: str
    start: int
    lines: int


class LinesBefore:
    """The number of lines of a file before each of its splits."""

    def __init__(self, splits: Iterable[SplitLines]) -> None:
        by_path: dict[str, list[SplitLines]] = defaultdict(list)
        for split in splits:
            by_path[split.path].append(split)
        self._starts: dict[str, list[int]] = {}
        self._before: dict[str, list[int]] = {}
        for path, known in by_path.items():
            known.sort(key=lambda s: s.start)
            self._starts[path] = [s.start for s in known]
            self._before[path] = list(accumulate((s.lines for s in known), initial=0))

    def at(self, path: str, byte_offset: int) -> int:
        """The number of lines before the split that contains this byte offset."""
        starts = self._starts.get(path)
        return self._before[path][bisect_right(starts, byte_offset) - 1] if starts else 0

    def counted_on(self, row: Row) -> Row:
        """The row of an event, with its line number counted from the start of the file."""
        assert row.path is not None
        assert row.byte_offset is not None
        assert row.line is not None
        before = self.at(row.path, row.byte_offset)
        return row._replace(line=row.line + before) if before else row


SAMPLES = 5
"""Maximum number of unmatched lines of group classes that each split keeps as examples."""


class Failure(Struct, frozen=True, kw_only=True):
    """A group whose investigation failed; if `group` is None, the lines of the cluster that name no group."""

    cluster: str
    group: str | None
    error: str

    @property
    def what(self) -> str:
        """What failed, and why."""
        if self.group is None:
            return f"The lines of {self.cluster} that name no group could not be used: {self.error}"
        return f"group {self.group} ({self.cluster}) could not be investigated: {self.error}"

    @property
    def consequence(self) -> str:
        """What the report lacks as a result, and what to do."""
        lacks = "nothing is said about this group" if self.group else "what they show about its groups is missing"
        return f"{lacks}; {defects.ASK}"


class HostStats(Struct, frozen=True, kw_only=True):
    """The counts of one host in a split with lines of several hosts; times as in `SplitStats`."""

    host: str
    kafka_version: str | None = None
    matched: int = 0
    unmatched_kafka: int = 0
    first: EpochMs | None = None
    last: EpochMs | None = None
    opening: EpochMs | None = None
    closing: EpochMs | None = None


class SplitStats(Struct, frozen=True, kw_only=True):
    """The counts of one split. `lines` counts the lines that start in it."""

    # `first` and `last` are the earliest and the latest time, `opening` and `closing` the times of the first and the
    # last record.

    path: str
    index: int
    start: int
    bytes: int
    lines: int
    records: int
    unparsed: int
    matched: int = 0
    unmatched_kafka: int = 0
    unmatched: tuple[str, ...] = ()
    first: EpochMs | None = None
    last: EpochMs | None = None
    opening: EpochMs | None = None
    closing: EpochMs | None = None
    kafka_version: str | None = None
    hosts: tuple[HostStats, ...] = ()
    heard: tuple[LogSpan, ...] = ()
    """The span of time that each log covers: one per host if the split has lines of several."""
    errors: tuple[str, ...] = ()
    defects: tuple[str, ...] = ()
    """What could not be read because of a defect of this program, as sentences."""
    try_again: bool = False
    """True if reading again may succeed where `errors` or `defects` report a failure."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything that could not be read, as sentences."""
        return (*self.errors, *self.defects)

    @property
    def split_lines(self) -> SplitLines:
        """The number of lines that start in the split."""
        return SplitLines(self.path, self.start, self.lines)
