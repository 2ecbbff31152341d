"""Python's logging: `LEVEL:[time:]logger:msg`, `time - logger - LEVEL - msg`, `time:LEVEL:logger:msg`, loguru."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, LOGGER, TextLayout, pattern

SAMPLE = "2026-11-20 10:15:30,123 - kafka.coordinator - INFO - (Re-)joining group payments"
REJECT = (
    "2026-11-20 10:15:30,123 INFO [GroupCoordinator 0]: Preparing to rebalance group g "
    "(kafka.coordinator.group.GroupCoordinator)"
)

LAYOUT = TextLayout(
    header=pattern(
        rf"(?:\[?(?P<time>{DATED})\]? ?(?:"
        rf"- (?P<logger>{LOGGER}) - (?P<level>{LEVEL}) - "
        rf"|[-|] ?(?P<level2>{LEVEL})\s*[-|] (?P<logger2>{LOGGER})(?::[\w<>]+:\d+)? [-|:] "
        rf"|\[?(?P<level3>{LEVEL})\]?:? +\[?(?P<logger3>{LOGGER})\]?(?::\d+)?(?: \(\w+\))?: "
        rf"|: ?(?P<level6>{LEVEL}): ?(?P<logger6>{LOGGER}): ?"
        rf"|\[(?P<logger4>{LOGGER})\] \[?(?P<level4>{LEVEL})\]?:? "
        rf")|(?P<level5>[A-Z]{{4,8}}):(?:(?P<time2>{DATED}):)?(?P<logger5>[a-z_]\w*(?:\.\w+)*):)(?P<message>.*)"
    ),
    starts=(b"20", b"[20", b"INFO:", b"WARNING:", b"ERROR:", b"DEBUG:", b"CRITICAL:"),
    rank=30,
)
