"""Logstash's own pattern: `[time][LEVEL][logger] msg`."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, LOGGER, TextLayout, pattern

SAMPLE = (
    "[2026-11-20T10:15:30,123][INFO "
    "][org.apache.kafka.clients.consumer.internals.ConsumerCoordinator][main] [Consumer clientId=c, "
    "groupId=g] (Re-)joining group"
)
REJECT = (
    "[2026-11-20 10:15:30,123] INFO [Consumer clientId=c, groupId=g] (Re-)joining group (o.a.k.ConsumerCoordinator)"
)

LAYOUT = TextLayout(
    header=pattern(
        rf"(?:\[(?P<time>{DATED})\] ?)?\[(?P<level>{LEVEL})\s*\] ?\[(?P<logger>{LOGGER})\s*\](?:\["
        rf"(?P<thread>[^\]\n]*)\])*\s+(?P<message>.*)"
    ),
    starts=(b"[",),
    rank=14,
)
