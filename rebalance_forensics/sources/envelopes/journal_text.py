"""journalctl's text with a whole date: `-o short-full`, `short-unix`, `with-unit`."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope
from rebalance_forensics.sources.times.zone_names import ZONE

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"Fri 2026-11-20 10:15:30 UTC b1 kafka.service[812]: {INSIDE}"
REJECT = "Fri 2026-11-20 10:15:30 UTC joined"

ENVELOPE = TextEnvelope(
    shape=re.compile(
        rf"(?:(?P<time>1\d{{9}}\.\d{{3,6}}|[A-Z][a-z]{{2}} \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? {ZONE})) "
        r"(?P<host>[\w.-]+) (?P<stream>[\w.@:\\/-]+)\[\d+\]: (?P<text>.*)",
        re.DOTALL,
    ),
    rank=28,
)
