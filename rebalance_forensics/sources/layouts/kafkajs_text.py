"""KafkaJS as NestJS prints it: level, place and message as text, the facts behind it as JSON (its KafkaLogger)."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.json_fields import object_of
from rebalance_forensics.sources.layouts.json_kafkajs import LAYOUT as KAFKAJS

SAMPLE = (
    'WARN [Runner] The group is rebalancing, re-joining {"timestamp":"2026-11-20T10:15:30.123Z","logger":"kafkajs",'
    '"groupId":"payments","memberId":"c-1"}'
)
REJECT = 'WARN [Orders] stored {"timestamp":"2026-11-20T10:15:30.123Z","logger":"orders","groupId":"payments"}'
_TEXT = re.compile(
    r"(?P<level>NOTHING|ERROR|WARN|INFO|DEBUG) (?P<message>\[\w{1,40}\] [^\n{]{1,2000}?) (?P<facts>\{[^\n]*\})"
    r"(?: \+\d{1,9}ms)?\s*(?:\n|$)"
)
_PLACE = re.compile(r"\[[A-Z]\w{1,40}\] ")
_STACK = " CallStack:"
"""What some loggers put behind the facts."""


def kafkajs_in(text: str) -> Parsed | None:
    """What KafkaJS said, from a text that begins with it; None for any other text."""
    told = _TEXT.match(text)
    facts = object_of(told["facts"]) if told is not None else None
    if told is None or facts is None or facts.get("logger") != "kafkajs":
        return None
    return KAFKAJS.parse_fields({**facts, "level": told["level"], "message": told["message"]})


def with_kafkajs_facts(parsed: Parsed) -> Parsed:
    """A record of some logger in which KafkaJS speaks, with the facts that its words have behind them.

    An application's own logCreator puts its place in front and a colon before the facts.
    """
    if '"logger":"kafkajs"' not in parsed.message:
        return parsed
    words, brace, facts = parsed.message.partition("\n")[0].partition("{")
    place, told = _PLACE.search(words), object_of(brace + facts.partition(_STACK)[0])
    if place is None or told is None:
        return parsed
    found = KAFKAJS.parse_fields({**told, "message": words[place.start() :].rstrip(": ")})
    return (
        replace(found, stamp=parsed.stamp or found.stamp, level=parsed.level, thread=parsed.thread) if found else parsed
    )


class _KafkaJsText:
    """The time of a line is that of its facts."""

    rank = 15
    starts = (b"ERROR [", b"WARN [", b"INFO [", b"DEBUG [", b"NOTHING [")

    def is_header(self, line: str) -> bool:
        """Whether a record starts with this line."""
        return self.parse(line) is not None

    def parse(self, text: str) -> Parsed | None:
        """Take a whole record apart."""
        return kafkajs_in(text)


LAYOUT = _KafkaJsText()
