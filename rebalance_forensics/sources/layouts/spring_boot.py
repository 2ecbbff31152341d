"""Spring Boot's console pattern, 1 to 4, with or without application name, process id and trace ids."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, LOGGER, NESTING, YEARS, TextLayout, pattern

SAMPLE = (
    "2026-11-20T10:15:30.123Z  INFO 112052 --- [orders] [ntainer#0-0-C-1] o.a.k.c.c.internals.ConsumerCoordinator  : "
    "[Consumer clientId=c, groupId=payments] (Re-)joining group"
)
REJECT = "2026-11-20 10:15:30.123 INFO  [main] o.a.k.c.c.internals.ConsumerCoordinator - (Re-)joining group"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?P<time>{DATED})\s+(?P<level>{LEVEL})\s+(?:\[[^\]\n]*\]\s+)?(?:\d+\s+|\$\{{PID:- \}}\s+)?---\s+"
        rf"(?:\[[^\]\n]*\]\s+)?\[(?P<thread>{NESTING}|[^\]\n]*)\]\s+(?:\[[^\]\n]*\]\s*)?"
        rf"(?P<logger>{LOGGER})\s*: (?P<message>.*)"
    ),
    starts=YEARS,
    rank=10,
)
