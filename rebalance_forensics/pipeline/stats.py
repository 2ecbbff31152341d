"""What was read of one split: counted where it is read, added up where the report is made."""

from __future__ import annotations

from msgspec import Struct

from rebalance_forensics import defects
from rebalance_forensics.pipeline.line_numbers import SplitLines
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.coverage import LogSpan

SAMPLES = 5
"""Lines of group classes that no pattern knew, kept of each split to be shown."""


class Failure(Struct, frozen=True, kw_only=True):
    """A group whose investigation broke off, and the error; without a group, the lines of a cluster that name none."""

    cluster: str
    group: str | None
    error: str

    @property
    def what(self) -> str:
        """What could not be done, and why."""
        if self.group is None:
            return f"The lines of {self.cluster} that name no group could not be used: {self.error}"
        return f"group {self.group} ({self.cluster}) could not be investigated: {self.error}"

    @property
    def consequence(self) -> str:
        """What the report lacks, and what to do."""
        lacks = "nothing is said about this group" if self.group else "what they show about its groups is missing"
        return f"{lacks}; {defects.ASK}"


class HostStats(Struct, frozen=True, kw_only=True):
    """The share of one host in a stream of several; its times as in `SplitStats`."""

    host: str
    kafka_version: str | None = None
    matched: int = 0
    unmatched_kafka: int = 0
    first: EpochMs | None = None
    last: EpochMs | None = None
    opening: EpochMs | None = None
    closing: EpochMs | None = None


class SplitStats(Struct, frozen=True, kw_only=True):
    """The counts of one split. `lines` are those that start in it: later lines of the file count on from there.

    `first` and `last` are the earliest and the latest time, `opening` and `closing` those of its first and last record.
    """

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
    """How far each log was read: one a host of a stream of several."""
    errors: tuple[str, ...] = ()
    try_again: bool = False
    """Whether another try may read what these say was not."""

    @property
    def split_lines(self) -> SplitLines:
        """How many lines start in it."""
        return SplitLines(self.path, self.start, self.lines)
