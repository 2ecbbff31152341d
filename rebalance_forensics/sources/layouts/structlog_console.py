"""structlog's console: the level padded within brackets, the logger in brackets at the end, values after it."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, LOGGER, YEARS, Parsed, TextLayout, pattern

SAMPLE = "2026-11-20T10:15:30.123456Z [info     ] (Re-)joining group payments    [kafka.coordinator] pid=7"
REJECT = "2026-11-20 10:15:30,123 [main] INFO  o.a.k.c.c.i.ConsumerCoordinator - (Re-)joining group"
_TAIL = re.compile(
    rf"\A(?P<event>[^\n]*?)(?<! ) *+\[(?P<logger>{LOGGER})\](?: \w+=[^\n]*)?\s*(?P<trace>\n.*)?\Z", re.DOTALL
)


def _without_tail(parsed: Parsed) -> Parsed:
    found = _TAIL.match(parsed.message)
    if found:
        parsed = replace(parsed, logger=found["logger"], message=found["event"] + (found["trace"] or ""))
    return parsed


LAYOUT = TextLayout(
    header=pattern(rf"(?P<time>{DATED}) \[(?P<level>{LEVEL}) *\] (?P<message>.*)"),
    starts=YEARS,
    finish=_without_tail,
    rank=16,
)
