"""A time before each line: kubectl --timestamps, docker logs -t, CloudWatch's export to S3, Docker Desktop, svlogd."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope
from rebalance_forensics.sources.times.zone_names import ZONE

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"2026-11-20T10:15:30.123Z {INSIDE}"
REJECT = "2026-11-20T10:15:30.123Z INFO [main] o.a.k.X - joined"

ENVELOPE = TextEnvelope(
    shape=re.compile(
        rf"(?:(?P<time>\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)? ?{ZONE})"
        r"|(?P<local>\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?))"
        r"(?:[ \t](?P<text>.*)|(?P<empty>)\Z)",
        re.DOTALL,
    ),
    rank=65,
    certain=False,
)
