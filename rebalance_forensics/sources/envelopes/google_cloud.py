"""Google Cloud Logging's entries."""

from __future__ import annotations

from rebalance_forensics.sources.envelopes.base import JsonEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"insertId":"i","timestamp":"2026-11-20T10:15:30.123Z","resource":{"type":"k8s_container"'
    ',"labels":{"pod_name":"kafka-0"}},"severity":"INFO",'
    '"textPayload":"[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g '
    '(kafka.coordinator.group.GroupCoordinator)"}'
)
REJECT = '{"timestamp":"2026-11-20T10:15:30.123Z","severity":"INFO","message":"joined"}'

ENVELOPE = JsonEnvelope(
    requires=("resource.labels", "timestamp"),
    text=("textPayload", "jsonPayload.message", "jsonPayload.msg"),
    time=("timestamp",),
    host=("resource.labels.pod_name", "labels.compute.googleapis.com/resource_name", "resource.labels.instance_id"),
    file=("logName",),
    rank=12,
)
