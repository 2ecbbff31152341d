"""A CSV row without a header line: the cell that holds a log line, a time in another, perhaps the host."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line, instant
from rebalance_forensics.sources.envelopes.csv_rows import cells_of
from rebalance_forensics.sources.times.timestamps import read_stamp

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f'"2026-11-20T10:15:30.123Z","b1","kafka","{INSIDE}"'
REJECT = "2026-11-20 10:15:30,123 INFO joined"

_UNQUOTED = re.compile(r"(?P<text>[\[\d{].{20,}),(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?)\Z", re.DOTALL)
_LONGEST_TIME = 36
_HOST = re.compile(r"[A-Za-z](?=\D*+\d)[\w.-]*+\Z")


def _is_time(cell: str) -> bool:
    return len(cell) <= _LONGEST_TIME and read_stamp(cell) is not None


class _CsvRow:
    """Cells are told apart by what they hold: the longest is the line."""

    rank = 75
    certain = False

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
        if line.fields is not None:
            return None
        if match := _UNQUOTED.match(line.text):
            return (replace(line, text=match["text"], at=instant(match["time"]) or line.at),)
        if not line.text.startswith('"') or '",' not in line.text:
            return None
        cells = cells_of([line.text.replace("\n", "\r")])
        if not cells:
            return None
        longest = max((cell for cell in cells if not _is_time(cell)), key=len, default="")
        others = [cell for cell in cells if cell is not longest]
        time = next((cell for cell in others if _is_time(cell)), None)
        host = next((cell for cell in others if _HOST.match(cell)), line.host)
        return (replace(line, text=longest, at=instant(time) or line.at, host=host),)


ENVELOPE = _CsvRow()
