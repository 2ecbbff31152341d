"""Lines counted from the start of a split, counted from the start of the file."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate
from sys import intern

from rebalance_forensics.pipeline.stats import SplitStats
from rebalance_forensics.timeline.model import Evidence


class LinesBefore:
    """How many lines of a file stand before each of its splits."""

    def __init__(self, stats: Iterable[SplitStats]) -> None:
        by_path: dict[str, list[SplitStats]] = defaultdict(list)
        for split in stats:
            by_path[split.path].append(split)
        self._starts: dict[str, list[int]] = {}
        self._before: dict[str, list[int]] = {}
        for path, splits in by_path.items():
            splits.sort(key=lambda s: s.start)
            self._starts[path] = [s.start for s in splits]
            self._before[path] = list(accumulate((s.lines for s in splits), initial=0))

    def at(self, path: str, byte_offset: int) -> int:
        """The lines before the split that holds this place."""
        starts = self._starts.get(path)
        return self._before[path][bisect_right(starts, byte_offset) - 1] if starts else 0

    def corrected(self, evidence: Evidence) -> Evidence:
        """The same line, numbered as an editor numbers it."""
        before = self.at(evidence.path, evidence.byte_offset)
        return Evidence(
            path=intern(evidence.path),
            line=evidence.line + before,
            byte_offset=evidence.byte_offset,
            timestamp=evidence.timestamp,
            text=evidence.text,
        )
