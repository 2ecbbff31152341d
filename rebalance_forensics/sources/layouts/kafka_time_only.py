"""Kafka's pattern with a clock and no date, as the Streams quickstart has it."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import CLOCK, LEVEL, TextLayout, pattern
from rebalance_forensics.sources.layouts.message_trailer import logger_in_parentheses

SAMPLE = (
    "[02:16:40,559] INFO stream-client [c] State transition from CREATED to REBALANCING "
    "(org.apache.kafka.streams.KafkaStreams:371)"
)
REJECT = "[2026-11-20 02:16:40,559] INFO State transition (org.apache.kafka.streams.KafkaStreams)"

LAYOUT = TextLayout(
    header=pattern(rf"\[(?P<time>{CLOCK})\]\s+(?P<level>{LEVEL})\s(?P<message>.*)"),
    starts=(b"[0", b"[1", b"[2"),
    finish=logger_in_parentheses,
    rank=20,
)
