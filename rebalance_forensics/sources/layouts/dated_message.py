"""The last resort: a time, perhaps a level and a logger somewhere after it, and the message."""

from __future__ import annotations

import re
from dataclasses import replace

from rebalance_forensics.sources.layouts.base import CLOCK, DATED, LEVEL, LOGGER, Parsed, TextLayout, level_of, pattern
from rebalance_forensics.sources.layouts.librdkafka import unwrapped
from rebalance_forensics.sources.layouts.trailing import logger_in_parentheses

SAMPLE = (
    "2026-11-20 10:15:30.123 [main-thread] {trace} INFO a.b.ConsumerCoordinator # [Consumer clientId=c, "
    "groupId=g] (Re-)joining group"
)
REJECT = "\tat org.apache.kafka.clients.consumer.KafkaConsumer.poll(KafkaConsumer.java:1200)"

_HEAD = re.compile(
    rf"(?P<before>(?:\[[^\]\n]*\]|\{{[^}}\n]*\}}|\([^)\n]*\)|\S+) +){{0,4}}?\[?(?P<level>{LEVEL})\]?\s+"
    rf"(?:\[(?P<thread>[^\]=\n]*)\] +)?(?:(?P<logger>{LOGGER}\.{LOGGER})(?::\d+)?\s*[-:#>|]?\s+)?"
)


def _finish(parsed: Parsed) -> Parsed:
    """Find the level near the front and the logger at either end."""
    head = _HEAD.match(parsed.message)
    if head is None:
        return unwrapped(logger_in_parentheses(parsed))
    rest = replace(
        parsed,
        level=level_of(head["level"]),
        logger=head["logger"],
        thread=head["thread"],
        message=parsed.message[head.end() :],
    )
    return unwrapped(rest if rest.logger else logger_in_parentheses(rest))


LAYOUT = TextLayout(
    header=pattern(
        rf"[\[<(\"]?(?P<time>{DATED}|{CLOCK}|[A-Z][a-z]{{2}} +\d{{1,2}},? (?:\d{{4}}(?:,| @)? )?\d\d:\d\d:\d\d"
        rf"(?:[.,]\d+)?|\d{{1,2}}[ /-][A-Z][a-z]{{2}}[ /-]\d{{4}}[ :]{{1,2}}\d\d:\d\d:\d\d(?:[.,]\d+)?)"
        r"[\])>\"]?(?:[,:|]|\s|-)\s*(?P<message>.*)"
    ),
    starts=(b"20", b"[20", b"[0", b"[1", b"0", b"1", b"2"),
    finish=_finish,
    rank=90,
)
