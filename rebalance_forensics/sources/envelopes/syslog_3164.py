"""Classic syslog: month, day and clock without year or zone, host, program."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.syslog_text import SyslogEnvelope
from rebalance_forensics.sources.layouts.base import LEVEL

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"<14>Nov 20 10:15:30 b1 kafka[812]: {INSIDE}"
REJECT = "Nov 20, 2026 10:15:30 AM org.apache.kafka.X poll"

ENVELOPE = SyslogEnvelope(
    shape=re.compile(
        r"(?:<\d{1,3}>)?(?P<local>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?) "
        rf"(?!{LEVEL}\b)(?:(?P<host>[\w.-]+) (?P<stream>[\w./-]+)(?:\[\d+\])?"
        r"|(?P<stream2>[\w./-]+)(?:\[\d+\])?): (?P<text>.*)",
        re.DOTALL,
    ),
    rank=30,
)
