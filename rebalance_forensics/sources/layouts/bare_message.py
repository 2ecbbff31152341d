"""No layout at all: the message as Kafka composed it, its own prefix first, perhaps a level before it."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import LEVEL, TextLayout, pattern
from rebalance_forensics.sources.layouts.header_remainder import OPENING
from rebalance_forensics.sources.layouts.message_trailer import logger_in_parentheses

SAMPLE = "[Consumer clientId=c, groupId=g] (Re-)joining group"
REJECT = "[main] starting up"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?:\[?(?P<level>{LEVEL})(?:\s*+\])?\s++)?(?:\[(?P<thread>[^\]=|\n]*)\]\s++(?={OPENING}))?(?P<message>(?:{OPENING}).*)"
    ),
    starts=(b"[", b"stream-", b"task [", b"INFO ", b"WARN ", b"ERROR ", b"DEBUG "),
    finish=logger_in_parentheses,
    rank=80,
)
