"""rsyslog's file with ISO times where the program gives no process id."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.syslog_text import SyslogEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"2026-11-20T10:15:30.123456+00:00 b1 kafka: {INSIDE}"
REJECT = "2026-11-20T10:15:30.123Z INFO kafka: joined"

ENVELOPE = SyslogEnvelope(
    shape=re.compile(
        r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)) (?P<host>[\w.-]+) "
        r"(?P<stream>[a-z][\w.@/-]*): (?P<text>.*)",
        re.DOTALL,
    ),
    rank=62,
    certain=False,
)
