"""glog, klog and abseil: one letter for the level stuck to month and day: `I1120 10:15:30.123456 7 main.cc:45] msg`."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import TextLayout, pattern

SAMPLE = (
    "W1120 10:15:30.123456   712 consumer.cc:45] [thrd:main]: Application maximum poll interval (300000ms) exceeded "
    "by 129ms"
)
REJECT = "W1120 consumers were asked at 10:15:30"

LAYOUT = TextLayout(
    header=pattern(
        r"(?P<level>[DIWEF])(?P<time>(?:20\d\d)?[01]\d[0-3]\d [0-2]\d:[0-5]\d:[0-5]\d\.\d{3,9}) +(?P<thread>\d+) +"
        r"(?:[\w./+-]+:\d+|\w?)\] (?P<message>.*)"
    ),
    starts=(b"D0", b"D1", b"D2", b"I0", b"I1", b"I2", b"W0", b"W1", b"W2", b"E0", b"E1", b"E2", b"F0", b"F1", b"F2"),
    rank=12,
)
