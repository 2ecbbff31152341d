"""Marks in front of lines that were pasted: `# `, `// `, `> `, ` * `, a terminal's frame."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"> {INSIDE}"
REJECT = "#PID<0.1.0> joined"

ENVELOPE = TextEnvelope(
    shape=re.compile(
        r"\s*(?:#+|//|>+|\*|[│|┃])(?:[ \t](?:[ \t]+(?=[\[{\d]))?(?P<text>.*?)"
        r"(?:(?:(?<!\s)\s++)?[│┃])?\Z|(?P<empty>)\Z)",
        re.DOTALL,
    ),
    rank=80,
    certain=False,
)
