"""kubectl logs --prefix and skaffold, stern's `pod container line` too."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"[pod/kafka-0/kafka] {INSIDE}"
REJECT = "[main] INFO org.apache.kafka.X - joined"

ENVELOPE = TextEnvelope(
    shape=re.compile(r"\[pod/(?P<host>[^/\]]+)(?P<stream>/[^\]]*)?\](?: (?P<text>.*)|(?P<empty>)\Z)", re.DOTALL),
    rank=12,
)
