"""slf4j-simple: `[thread] LEVEL logger - msg`, without a time by default."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import LEVEL, LOGGER, TextLayout, pattern

SAMPLE = (
    "[com.acme.Main.main()] INFO org.apache.kafka.clients.consumer.internals.ConsumerCoordinator - "
    "[Consumer clientId=c, groupId=g] (Re-)joining group"
)
REJECT = "[2026-11-20 10:15:30,123] INFO [Consumer clientId=c, groupId=g] Revoke - all (o.a.k.ConsumerCoordinator)"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?:\[(?P<thread>(?!\d{{4}}-)[^\]\n]*)\] (?P<level>{LEVEL})"
        rf"|(?P<level2>{LEVEL})(?:\s+\[(?P<thread2>[^\]\n]*)\])?)"
        rf"\s+(?P<logger>{LOGGER}) - (?P<message>.*)"
    ),
    starts=(b"[", b"INFO ", b"WARN ", b"ERROR ", b"DEBUG "),
    rank=22,
)
