"""log4j's milliseconds since the start: `1688 [thread] INFO  logger  - msg`; it has no time of day."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DIGITS, LEVEL, LOGGER, TextLayout, pattern

SAMPLE = (
    "1688 [main] INFO  org.apache.kafka.clients.consumer.internals.ConsumerCoordinator  - [Consumer "
    "clientId=c, groupId=g] (Re-)joining group"
)
REJECT = "10:15:30.123 [main] INFO  o.a.k.c.c.i.ConsumerCoordinator - (Re-)joining group"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?:(?P<time>1\d{{12}})|\d+)\s+\[(?P<thread>[^\n]*?)\]\s+(?P<level>{LEVEL})\s+(?P<logger>{LOGGER})\s++"
        r"(?:\S++\s++)?- (?P<message>.*)"
    ),
    starts=DIGITS,
    rank=20,
)
