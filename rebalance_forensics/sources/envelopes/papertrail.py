"""Papertrail's archives: ten columns with tabs between them, the line last."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"7711561783320576\t2026-11-20T10:15:30Z\t2026-11-20T10:15:31Z\t12\tb1\t10.0.0.7\tUser\tInfo\tkafka\t{INSIDE}"
REJECT = "2026-11-20T10:15:30Z\tINFO\tmain\tjoined"

ENVELOPE = TextEnvelope(
    shape=re.compile(
        r"\d+\t(?P<time>\d{4}-\d\d-\d\dT[^\t]*)\t[^\t]*\t\d+\t(?P<host>[^\t]*)\t[^\t]*\t[^\t]*\t[^\t]*\t"
        r"(?P<stream>[^\t]*)\t(?P<text>.*)",
        re.DOTALL,
    ),
    rank=12,
)
