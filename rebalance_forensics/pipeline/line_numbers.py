"""Lines counted from the start of a split, counted from the start of the file."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from rebalance_forensics.pipeline.schemas import Row


class SplitLines(NamedTuple):
    """How many lines start in one split of a file."""

    path: str
    start: int
    lines: int


class LinesBefore:
    """How many lines of a file stand before each of its splits."""

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
        """The lines before the split that holds this place."""
        starts = self._starts.get(path)
        return self._before[path][bisect_right(starts, byte_offset) - 1] if starts else 0

    def counted_on(self, row: Row) -> Row:
        """The row of an event, its line counted from the start of the file."""
        assert row.path is not None
        assert row.byte_offset is not None
        assert row.line is not None
        before = self.at(row.path, row.byte_offset)
        return row._replace(line=row.line + before) if before else row
