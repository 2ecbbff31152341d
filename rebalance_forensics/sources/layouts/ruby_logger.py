"""Ruby's standard logger: `I, [time #process]  INFO -- program: msg`, as ruby-kafka, Karafka and Rails use it."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, TextLayout, pattern

SAMPLE = "I, [2026-11-20T10:15:30.123456 #4711]  INFO -- : [[payments] {orders: 0, 2}:] Joining group `payments`"
REJECT = "INFO -- : Joining group `payments`"

LAYOUT = TextLayout(
    header=pattern(
        rf"[DIWEFA], \[(?P<time>{DATED}) #\d+\] +(?P<level>{LEVEL}|ANY) -- (?P<logger>[^:\n]*): (?P<message>.*)"
    ),
    starts=(b"D, [", b"I, [", b"W, [", b"E, [", b"F, [", b"A, ["),
    rank=26,
)
