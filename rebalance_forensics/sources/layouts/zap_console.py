"""zap's console encoder: time, level, logger, caller and message between tabs."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, TextLayout, pattern

SAMPLE = (
    '2026-11-20T10:15:30.123Z\tINFO\tkafka.consumer\tconsumer/group.go:88\tjoined\t{"group": "payments", '
    '"generation": 4}'
)
REJECT = "2026-11-20T10:15:30.123Z  INFO 1 --- [main] o.a.k.c.c.i.ConsumerCoordinator : (Re-)joining group"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?P<time>{DATED}|1\d{{9}}\.\d+)\t(?P<level>{LEVEL})\t(?:(?P<logger>[\w.-]+)\t(?=[^\n]*\t))?"
        rf"(?:[\w./@-]+\.go:\d+\t)?(?P<message>.*)"
    ),
    starts=(b"20", b"1"),
    rank=8,
)
