"""The Streams archetype's pattern `%d{HH:mm:ss,SSS} %-5p %-60c %x - %m%n`: no date, no thread."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import CLOCK, LEVEL, LOGGER, TextLayout, pattern

SAMPLE = (
    "10:15:30,123 INFO  org.apache.kafka.streams.KafkaStreams                         - stream-client [c] "
    "State transition from CREATED to REBALANCING"
)
REJECT = "10:15:30,123 [main] INFO  org.apache.kafka.streams.KafkaStreams - stream-client [c] State transition"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?P<time>{CLOCK})\s+(?P<level>{LEVEL})\s+(?:\[(?P<thread>[^\]\n]*)\]\s+)?"
        rf"(?P<logger>{LOGGER})(?::\d+)?(?:\s[^\n]*?)??\s[-:] (?P<message>.*)"
    ),
    starts=(b"0", b"1", b"2"),
    rank=25,
)
