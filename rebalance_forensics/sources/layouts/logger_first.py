"""Kafka's pattern with the logger in parentheses before the message."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, DOTTED, LEVEL, TextLayout, pattern

SAMPLE = (
    "[2026-11-20 10:15:30,123] INFO (org.apache.kafka.streams.processor.internals.StreamThread:351) "
    "stream-thread [t] State transition"
)
REJECT = (
    "[2026-11-20 10:15:30,123] INFO stream-thread [t] State transition "
    "(org.apache.kafka.streams.processor.internals.StreamThread:351)"
)

LAYOUT = TextLayout(
    header=pattern(
        rf"\[?(?P<time>{DATED})\]?\s+(?P<level>{LEVEL})\s+(?:\[(?P<thread>[^\]\n]*)\] )?"
        rf"\((?P<logger>{DOTTED}|[A-Z]\w+)(?::\d+)?\)(?: -)? (?P<message>.*)"
    ),
    starts=(b"[20", b"20"),
    rank=15,
)
