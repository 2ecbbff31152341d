"""Erlang's and Elixir's loggers, as brod and kaffe use them."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import CLOCK, DATED, TextLayout, pattern

SAMPLE = (
    "10:15:30.123 [info] Group member (payments,coor=#PID<0.1.0>,cb=#PID<0.2.0>,generation=4): re-joining "
    "group, reason::rebalance_in_progress"
)
REJECT = "10:15:30.123 [main] INFO o.a.k.c.c.i.ConsumerCoordinator - (Re-)joining group"

_LEVEL = r"(?:debug|info|notice|warning|warn|error|critical)"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?:(?P<time>{DATED}|{CLOCK}) (?:\[(?P<level>{_LEVEL})\] ?|(?P<level2>{_LEVEL}):) |="
        rf"(?P<level3>[A-Z]+) REPORT==== "
        rf"(?P<time2>\d{{1,2}}-[A-Z][a-z]{{2}}-\d{{4}}::\d\d:\d\d:\d\d(?:\.\d+)?) ===\s*)(?P<message>.*)"
    ),
    starts=(b"0", b"1", b"2", b"="),
    rank=18,
)
