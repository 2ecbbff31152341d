"""One event of CloudWatch on its own line: from its API, Insights or a pipeline."""

from __future__ import annotations

from rebalance_forensics.sources.envelopes.base import JsonEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"logStreamName":"Broker-1","timestamp":1795169730123,"message":"[2026-11-20 10:15:30,123] INFO '
    '[GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"'
    ',"ingestionTime":1795169730999}'
)
REJECT = '{"timestamp":1795169730123,"message":"joined","level":"INFO"}'

ENVELOPE = JsonEnvelope(
    requires=("ingestionTime", "message"), time=("timestamp",), host=("logStreamName", "logStream"), file=(), rank=20
)
