"""Spark's pattern: `yy/MM/dd HH:mm:ss LEVEL class: msg`."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import LEVEL, LOGGER, TextLayout, pattern

SAMPLE = (
    "26/11/20 10:15:30 INFO consumer.internals.ConsumerCoordinator: [Consumer clientId=c, groupId=g] (Re-)joining group"
)
REJECT = "2026/11/20 10:15:30 [Consumer clientId=c, groupId=g] (Re-)joining group"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?P<time>\d\d/\d\d/\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?)\s+(?P<level>{LEVEL})\s+(?:\["
        rf"(?P<thread>[^\]\n]*)\]\s+)?(?P<logger>{LOGGER}): (?P<message>.*)"
    ),
    starts=tuple(b"%d" % digit for digit in range(10)),
    rank=20,
)
