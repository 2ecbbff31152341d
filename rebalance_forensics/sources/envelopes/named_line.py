"""A host in front of each line: `b1: …`, `b1> …`, `b1 …` (pssh, ansible, k9s)."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope
from rebalance_forensics.sources.layouts.base import LEVEL

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"b1> {INSIDE}"
REJECT = "Kafka version: 3.9.1"

_KAFKAS_OWN = (
    r"(?:(?:global-)?stream-(?:thread|client|task)|(?:standby-|active-)?task|state-updater) \["
    r"|[A-Z][A-Z0-9_]{2,20} \[(?:thrd:|[^\]\n]*#(?:consumer|producer)-\d)|(?:lib)?rdkafka\b"
)
"""Words that Kafka Streams itself puts before a name in brackets (LogContext), librdkafka's facilities and its name."""

ENVELOPE = TextEnvelope(
    shape=re.compile(rf"(?!{LEVEL}\b|{_KAFKAS_OWN})(?P<host>[A-Za-z][\w.@-]*)(?: ?[:>]| \|)? (?P<text>.*)", re.DOTALL),
    rank=86,
    certain=False,
)
