"""Rows copied out of Kibana as a Markdown table: a time in words, then the message."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"| Nov 20, 2026 @ 11:15:30.123 | log: {INSIDE} |"
REJECT = "| time | log |"

ENVELOPE = TextEnvelope(
    shape=re.compile(
        r"\|?\s*(?P<local>[A-Z][a-z]{2,8} +\d{1,2}(?:, \d{4} @|(?:st|nd|rd|th) \d{4},) \d\d:\d\d:\d\d(?:\.\d+)?)"
        r"\s*\|\s*+"
        r"(?:[\w.@]+: )?(?P<text>.*?)(?:(?<!\s)\s++)?\|?\Z",
        re.DOTALL,
    ),
    rank=30,
)
