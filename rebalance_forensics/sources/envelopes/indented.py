"""A log that was pasted with blanks in front of every line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.envelopes.content import begins_record

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"    {INSIDE}"
REJECT = "    group.id = payments"

_SHAPE = re.compile(r"[ \t]+(?P<text>\S.*)", re.DOTALL)


class _Indented:
    """Only what starts a record is moved to the left: lines that continue it are known by their indentation."""

    rank = 84
    certain = False

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
        match = _SHAPE.match(line.text) if line.fields is None else None
        return (replace(line, text=match["text"]),) if match and begins_record(match["text"]) else None


ENVELOPE = _Indented()
