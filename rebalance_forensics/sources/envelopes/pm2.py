"""pm2's logs of Node.js: the process's number and name, a bar, perhaps a time, the line."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"0|orders   | 2026-11-20T10:15:30: {INSIDE}"
REJECT = "10|orders|paid"

ENVELOPE = TextEnvelope(
    shape=re.compile(
        r"(?P<stream>\d+\|[A-Za-z][\w.-]*) *\| (?:(?P<local>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?): )?(?P<text>.*)",
        re.DOTALL,
    ),
    rank=20,
)
