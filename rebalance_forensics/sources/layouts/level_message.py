"""A level and a message, the logger at either end: the time is left to whoever collects the lines."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import TextLayout, pattern
from rebalance_forensics.sources.layouts.either_end import logger_at_either_end

SAMPLE = "INFO Kafka version: 3.9.1 (org.apache.kafka.common.utils.AppInfoParser)"
REJECT = "INFO: (Re-)joining group"

# Behind a colon it is the second line of java.util.logging or tinylog.
LAYOUT = TextLayout(
    header=pattern(r"\[?(?P<level>TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)(?:\s*\])?(?:\s+[-|])?\s+(?P<message>.*)"),
    starts=(b"INFO ", b"WARN", b"ERROR ", b"DEBUG ", b"TRACE ", b"FATAL ", b"["),
    finish=logger_at_either_end,
    rank=85,
)
