"""Debezium's images: the connector's context between bars, the logger in brackets at the end."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, YEARS, TextLayout, pattern
from rebalance_forensics.sources.layouts.message_trailer import logger_in_brackets

SAMPLE = (
    "2026-11-20 10:15:30,123 INFO   ||  [Worker clientId=connect-1, groupId=1] Rebalance started   "
    "[org.apache.kafka.connect.runtime.distributed.WorkerCoordinator]"
)
REJECT = (
    "2026-11-20 10:15:30,123 INFO [Worker clientId=connect-1, groupId=1] Rebalance started (o.a.k.WorkerCoordinator)"
)

LAYOUT = TextLayout(
    header=pattern(rf"\[?(?P<time>{DATED})\]?\s+(?P<level>{LEVEL})\s+[^|\s]*\|[^|\n]*\|\S*\s+(?P<message>.*)"),
    starts=YEARS,
    finish=logger_in_brackets,
    rank=12,
)
