"""Vector's events."""

from __future__ import annotations

from rebalance_forensics.sources.envelopes.base import JsonEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"message":"[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g '
    '(kafka.coordinator.group.GroupCoordinator)",'
    '"timestamp":"2026-11-20T10:15:30.123Z","stream":"stdout","file":"/var/log/pods/k_kafka-0_u/kafka/0.log",'
    '"source_type":"kubernetes_logs","kubernetes":{"pod_name":"kafka-0","pod_namespace":"k","container_name":"kafka"}}'
)
REJECT = '{"message":"joined","timestamp":"2026-11-20T10:15:30.123Z","level":"INFO"}'

ENVELOPE = JsonEnvelope(
    requires=("message", "source_type"),
    time=("timestamp",),
    host=("kubernetes.pod_name", "container_name", "host"),
    rank=14,
)
