"""Go's standard log, as sarama and kafka-go use it: `[sarama] 2006/01/02 15:04:05 msg`."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import LEVEL, TextLayout, pattern

SAMPLE = "[sarama] 2026/11/20 10:15:30 consumergroup/payments: lost ownership of orders/0 due to fenced"
REJECT = "26/11/20 10:15:30 INFO group.GroupCoordinator: Stabilized group payments"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?:\[(?P<logger>[A-Za-z][\w.-]*)\] ?|(?P<logger2>[A-Za-z][\w.-]*(?: [A-Za-z]+){{0,2}}): ?)?"
        rf"(?P<time>\d{{4}}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)?)"
        rf"(?: [\w./-]+\.go:\d+:)? (?:\[?(?P<level>{LEVEL})\]?:? )?(?P<message>.*)"
    ),
    starts=(b"[", b"20"),
    rank=25,
)
