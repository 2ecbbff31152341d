"""franz-go's basic logger: `[INFO] msg; key: value, key: value`, with whatever time the program puts before it."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, TextLayout, pattern

SAMPLE = "[2026-11-20 10:15:30.123] [INFO] joined; group: payments, member_id: c-1, generation: 4, leader: false"
REJECT = "[INFO ][org.apache.kafka.Consumer] (Re-)joining group"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?:\[?(?P<time>{DATED}|\d\d:\d\d:\d\d(?:[.,]\d+)?)\]? )?(?:(?P<logger>kgo|franz-go)[: ]+)?\["
        rf"(?P<level>{LEVEL})\] (?P<message>.*)"
    ),
    starts=(b"[20", b"20", b"[INFO]", b"[WARN]", b"[ERROR]", b"[DEBUG]", b"0", b"1", b"2"),
    rank=40,
)
