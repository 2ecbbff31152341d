"""`aws logs tail`: time, log stream, line."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope
from rebalance_forensics.sources.layouts.base import LEVEL

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"2026-11-20T10:15:30.123000+00:00 Broker-1 {INSIDE}"
REJECT = "2026-11-20T10:15:30.123Z INFO joined"

ENVELOPE = TextEnvelope(
    shape=re.compile(
        r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) "
        rf"(?!(?:{LEVEL}|[A-Z][a-z]{{2}}) )(?P<host>[A-Za-z][\w./\[\]$-]*) (?P<text>.*)",
        re.DOTALL,
    ),
    rank=64,
    certain=False,
)
