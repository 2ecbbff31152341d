"""Heroku's and Cloud Foundry's log stream: time, process, line."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"2026-11-20T10:15:30.123456+00:00 app[worker.1]: {INSIDE}"
REJECT = "2026-11-20T10:15:30.123Z INFO app[1] joined"

ENVELOPE = TextEnvelope(
    shape=re.compile(
        r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)):? "
        r"(?:(?:app|heroku)\[(?P<host>[\w.-]+)\]:|\[(?P<host2>[A-Z]+/[\w./-]+)\] +(?:OUT|ERR)) (?P<text>.*)",
        re.DOTALL,
    ),
    rank=20,
)
