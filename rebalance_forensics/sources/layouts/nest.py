"""The console logger of NestJS: process, the day as its locale writes it, level, and the class in brackets."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, Parsed, TextLayout, pattern
from rebalance_forensics.sources.layouts.kafkajs_text import kafkajs_in

SAMPLE = "[Nest] 31  - 11/20/2026, 10:15:30 AM     LOG [ServerKafka] Connected"
REJECT = "[Nest] Starting"


def _with_facts(parsed: Parsed) -> Parsed:
    """Nest's server and client of Kafka pass on what KafkaJS logs, its time included, as one text."""
    return kafkajs_in(parsed.message) or parsed


LAYOUT = TextLayout(
    header=pattern(
        rf"\[Nest\] (?P<thread>\d{{1,9}}) {{1,4}}- (?P<time>{DATED}) +"
        r"(?:(?P<level>LOG|ERROR|WARN|DEBUG|VERBOSE|FATAL) )?(?:\[(?P<logger>[^\]\n]{1,200})\] )?(?P<message>.*)"
    ),
    starts=(b"[Nest] ",),
    finish=_with_facts,
    rank=14,
)
