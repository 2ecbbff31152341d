"""WildFly and Quarkus: the logger in brackets, the thread in parentheses."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import CLOCK, DATED, LEVEL, LOGGER, TextLayout, pattern

SAMPLE = (
    "2026-11-20 10:15:30,123 INFO  [org.apache.kafka.clients.consumer.internals.ConsumerCoordinator] "
    "(vert.x-kafka-consumer-thread-0) [Consumer clientId=c, groupId=g] (Re-)joining group"
)
REJECT = "2026-11-20 10:15:30,123 INFO  [main] o.a.k.c.c.i.ConsumerCoordinator - (Re-)joining group"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?P<time>{DATED}|{CLOCK})\s+(?:\S+ )??(?P<level>{LEVEL})\s+\[(?P<logger>{LOGGER})\]\s+"
        rf"\((?P<thread>(?:[^()\n]++|\([^()\n]*+\))*|[^\n]*?)\) (?P<message>.*)"
    ),
    starts=(b"20", b"0", b"1", b"2"),
    rank=12,
)
