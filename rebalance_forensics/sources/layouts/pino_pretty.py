"""pino-pretty, as KafkaJS in Node.js is often read: time and level, perhaps the process in parentheses, keys below."""

from __future__ import annotations

import json
import re

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import CLOCK, DATED, LEVEL, Parsed, TextLayout, pattern
from rebalance_forensics.sources.layouts.json_fields import with_place
from rebalance_forensics.sources.layouts.json_kafkajs import LAYOUT as KAFKAJS

SAMPLE = '[10:15:30.123] ERROR (7): [Runner] The group is rebalancing, re-joining\n    groupId: "payments"'
REJECT = "[2026-11-20 10:15:30,123] INFO (Re-)joining group (kafka.coordinator)"
_HIDDEN = r"[\d./-]{0,10}[T ]?(?:<[\w .-]{1,20}>|[xX]{2,}[xX:.,-]{0,24}|\*{2,20})"
"""A time that somebody made illegible, or the clock behind its day."""
_KEY = re.compile(r"\n {2,8}(?P<key>\w{1,40}): (?P<value>[^\n]{0,2000})")


def _with_keys(parsed: Parsed) -> Parsed:
    """The facts that KafkaJS puts beside its message, in the order of its JSON lines."""
    told = {found["key"]: _plain(found["value"]) for found in _KEY.finditer(parsed.message)}
    first = with_place(parsed.message.partition("\n")[0], told)
    said = ", ".join(f"{key}: {told[key]}" for key in KAFKAJS.extra if key in told)
    return replace(parsed, logger=told.get("logger"), message=f"{first}; {said}") if said else parsed


def _plain(value: str) -> str:
    try:
        text = json.loads(value)
    except ValueError:
        return value.strip()
    return text if isinstance(text, str) else value.strip()


LAYOUT = TextLayout(
    header=pattern(
        rf"\[(?:(?P<time>{DATED}|{CLOCK}|\d{{13}})|{_HIDDEN})\] (?P<level>{LEVEL})"
        r"(?: {1,2}\((?P<thread>(?:[\w.@/-]{1,80}/)?\d{1,9}(?: on [\w.-]{1,250})?)\))?: (?P<message>.*)"
    ),
    starts=(b"[",),
    finish=_with_keys,
    rank=16,
)
