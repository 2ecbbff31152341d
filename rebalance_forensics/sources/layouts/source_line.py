"""A short class and the source line it speaks from: `ConsumerCoordinator [AbstractCoordinator.java:535] msg`."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, LOGGER, TextLayout, pattern

SAMPLE = (
    "2026-11-20 10:15:30,123 INFO ConsumerCoordinator [AbstractCoordinator.java:535] [Consumer clientId=c, "
    "groupId=g] (Re-)joining group"
)
REJECT = "2026-11-20 10:15:30,123 INFO [Consumer clientId=c, groupId=g] (Re-)joining group (o.a.k.ConsumerCoordinator)"

LAYOUT = TextLayout(
    header=pattern(
        rf"\[?(?P<time>{DATED})\]?\s+\[?(?P<level>{LEVEL})\]?\s+(?:\[(?P<thread>[^\]\n]*)\]\s+)?"
        rf"(?P<logger>{LOGGER})"
        rf"(?::\d+ -| ?[(\[][\w$]+\.(?:java|scala|kt)(?::\d+)?[)\]](?: -|:)?| -|\s+\[[^\]\n]*\] -|\s+:) "
        rf"(?P<message>.*)"
    ),
    starts=(b"20", b"[20"),
    rank=25,
)
