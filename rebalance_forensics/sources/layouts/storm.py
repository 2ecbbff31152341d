"""Storm's workers: time, logger, the executor's thread, the level in brackets, the message."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, DOTTED, LEVEL, YEARS, TextLayout, pattern

SAMPLE = (
    "2026-11-20 10:15:30.123 o.a.k.c.c.i.AbstractCoordinator Thread-16-orders-spout-executor[5, 5] [INFO] "
    "[Consumer clientId=c, groupId=g] (Re-)joining group"
)
REJECT = "2026-11-20 10:15:30,123 INFO o.a.k.c.c.i.AbstractCoordinator [main] joined"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?P<time>{DATED}) (?P<logger>{DOTTED}) (?:(?P<thread>[\w-]+(?:\[[\d, ]+\])?) )?\[(?P<level>{LEVEL})\] "
        r"(?P<message>.*)"
    ),
    starts=YEARS,
    rank=19,
)
