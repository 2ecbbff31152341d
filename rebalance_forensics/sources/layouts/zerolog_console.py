"""zerolog's console: `10:15AM INF main.go:45 > msg key=value`, with hour and minute or a whole time."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, DIGITS, TextLayout, pattern

SAMPLE = "10:15AM WRN consumer.go:45 > heartbeat errored group=payments"
REJECT = "10:15AM the consumer was slow"

# Of a time without seconds only the order is of use.
LAYOUT = TextLayout(
    header=pattern(
        rf"(?:(?P<time>{DATED})|1?\d:[0-5]\d[AP]M) (?P<level>TRC|DBG|INF|WRN|ERR|FTL|PNC) (?:[\w./-]+\.go:\d+ > )?"
        r"(?P<message>.*)"
    ),
    starts=DIGITS,
    rank=13,
)
