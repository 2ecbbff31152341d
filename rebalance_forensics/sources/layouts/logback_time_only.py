"""logback's BasicConfigurator: a clock, the thread, the level, the logger, and no date."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import CLOCK, LEVEL, LOGGER, TextLayout, pattern

SAMPLE = (
    "10:15:30.123 [main] INFO  o.a.k.c.c.i.ConsumerCoordinator - [Consumer clientId=c, groupId=g] (Re-)joining group"
)
REJECT = "2026-11-20 10:15:30.123 [main] INFO  o.a.k.c.c.i.ConsumerCoordinator - (Re-)joining group"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?P<time>{CLOCK})\s+(?:\[(?P<thread>[^\n]*?)\]\s+(?P<level>{LEVEL})\s+(?P<logger>{LOGGER})(?::\d+)?"
        r"|(?P<level2>" + LEVEL + r")\s+\[[^\]\n]*\]\s+(?P<logger2>" + LOGGER + r")(?::\d+)?)\s+[-:] (?P<message>.*)"
    ),
    starts=(b"0", b"1", b"2"),
    rank=20,
)
