"""A date, a level, the message, and perhaps the logger and thread after it: Strimzi, Confluent's log4j2 images."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, TextLayout, pattern
from rebalance_forensics.sources.layouts.either_end import logger_at_either_end

SAMPLE = (
    "2026-11-20 10:15:30,123 INFO [GroupCoordinator 0]: Preparing to rebalance group g "
    "(kafka.coordinator.group.GroupCoordinator) [executor-Heartbeat]"
)
REJECT = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 0]: Preparing to rebalance group g "
    "(kafka.coordinator.group.GroupCoordinator)"
)

LAYOUT = TextLayout(
    header=pattern(rf"(?P<time>{DATED}):?\s+\[?(?P<level>{LEVEL})\b\]?:?\s+(?P<message>.*)"),
    starts=(b"20", b"19"),
    finish=logger_at_either_end,
    rank=60,
)
