"""The console logger of NestJS: process, the day as its locale writes it, level, and the class in brackets."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import DATED, Parsed, TextLayout, pattern
from rebalance_forensics.sources.layouts.json_fields import object_of
from rebalance_forensics.sources.layouts.json_kafkajs import LAYOUT as KAFKAJS
from rebalance_forensics.sources.layouts.kafkajs_text import kafkajs_in

SAMPLE = "[Nest] 31  - 11/20/2026, 10:15:30 AM     LOG [ServerKafka] Connected"
REJECT = "[Nest] Starting"


_PLACE = re.compile(r"Kafka(?:JS)?(?:: ?|[ /.-])(?P<place>[A-Z]\w{1,40})")
"""The logger of an application's own logCreator: KafkaJS' place in its name."""


def _with_facts(parsed: Parsed) -> Parsed:
    """Nest's server and client of Kafka pass on what KafkaJS logs, its time included, as one text."""
    return kafkajs_in(parsed.message) or _of_a_log_creator(parsed) or parsed


def _of_a_log_creator(parsed: Parsed) -> Parsed | None:
    """What KafkaJS logged, its place as the logger's name and its facts, if any, as JSON behind the words."""
    place = _PLACE.fullmatch(parsed.logger or "")
    if place is None:
        return None
    words, brace, facts = parsed.message.partition(" {")
    told = (object_of(brace.lstrip() + facts) if brace else None) or {}
    found = KAFKAJS.parse_fields({**told, "logger": "kafkajs", "message": f"[{place['place']}] {words}"})
    return replace(found, stamp=parsed.stamp, level=parsed.level, thread=parsed.thread) if found else None


LAYOUT = TextLayout(
    header=pattern(
        rf"\[Nest\] (?P<thread>\d{{1,9}}) {{1,4}}- (?P<time>{DATED}) +"
        r"(?:(?P<level>LOG|ERROR|WARN|DEBUG|VERBOSE|FATAL) )?(?:\[(?P<logger>[^\]\n]{1,200})\] )?(?P<message>.*)"
    ),
    starts=(b"[Nest] ",),
    finish=_with_facts,
    rank=14,
)
