"""franz-go's basic logger: `[INFO] msg; key: value, key: value`, with whatever time the program puts before it."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, Parsed, TextLayout, pattern

SAMPLE = "[2026-11-20 10:15:30.123] [INFO] joined; group: payments, member_id: c-1, generation: 4, leader: false"
REJECT = "[INFO ][org.apache.kafka.Consumer] (Re-)joining group"

_PAIR = re.compile(r" (?=[a-z][a-z_]{0,30}=)")
_GROUP = " group="


def _with_its_pairs(parsed: Parsed) -> Parsed:
    """Loggers of one's own print `msg key=value key=value`; the basic one prints `msg; key: value, key: value`."""
    if _GROUP not in parsed.message or "; " in parsed.message:
        return parsed
    message, *pairs = _PAIR.split(parsed.message)
    said = ", ".join(pair.strip().replace("=", ": ", 1) for pair in pairs)
    return replace(parsed, message=f"{message}; {said}")


LAYOUT = TextLayout(
    header=pattern(
        rf"(?:(?:time=\"|\[)?(?P<time>{DATED}|\d\d:\d\d:\d\d(?:[.,]\d+)?)[\]\"]? (?:name=[\w.-]*+)?)?"
        rf"(?:(?P<logger>kgo|franz-go)[: ]+)?\["
        rf"(?P<level>{LEVEL})\] (?P<message>.*)"
    ),
    starts=(b"[20", b"20", b"[INFO]", b"[WARN]", b"[ERROR]", b"[DEBUG]", b"time=", b"0", b"1", b"2"),
    finish=_with_its_pairs,
    rank=40,
)
