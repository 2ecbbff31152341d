"""Syslog with a version and an ISO time (RFC 5424); the message may begin with a byte order mark."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.syslog_text import SyslogEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"<14>1 2026-11-20T10:15:30.123Z b1 kafka 812 - - \ufeff{INSIDE}"
REJECT = "<14>Nov 20 10:15:30 b1 kafka[812]: joined"

ENVELOPE = SyslogEnvelope(
    shape=re.compile(
        r"(?:\d+ )?<\d{1,3}>1 (?P<time>\S+) (?P<host>\S+) (?P<stream>\S+) \S+ \S+ "
        r'(?:-|(?:\[(?:[^\]"]|"(?:[^"\\]|\\.)*")*\])+) \ufeff?(?P<text>.*)',
        re.DOTALL,
    ),
    rank=12,
)
