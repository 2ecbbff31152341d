"""Kubernetes' container log (CRI): time, stream, P for part of a line or F for a full one."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"2026-11-20T10:15:30.123456789Z stdout F {INSIDE}"
REJECT = "2026-11-20T10:15:30.123456789Z stdout was closed"

ENVELOPE = TextEnvelope(
    shape=re.compile(
        r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) (?P<stream>stdout|stderr) "
        r"(?:(?P<partial>P)|F)(?::\S*)?(?: (?P<text>.*)|(?P<empty>)\Z)",
        re.DOTALL,
    ),
    rank=10,
)
