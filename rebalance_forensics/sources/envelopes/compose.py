"""docker compose logs: the service, a bar, the line; with `-t` a time after the bar."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"broker-1   | {INSIDE}"
REJECT = "2026-11-20 10:15:30,123 INFO   ||  [Worker clientId=connect-1, groupId=1] Rebalance started   [o.a.k.X]"

ENVELOPE = TextEnvelope(
    shape=re.compile(r"(?:[\w.-]+@)?(?P<host>[A-Za-z][\w.-]*?)(?:_1)?\s*\|(?: (?P<text>.*)|(?P<empty>)\Z)", re.DOTALL),
    rank=60,
    certain=False,
)
