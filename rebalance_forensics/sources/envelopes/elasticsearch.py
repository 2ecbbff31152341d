"""Elasticsearch's and OpenSearch's documents: elasticdump, NDJSON exports, hits of a search."""

from __future__ import annotations

from rebalance_forensics.sources.envelopes.base import JsonEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"_index":"kafka-2026.11.20","_id":"x","_source":{"@timestamp":"2026-11-20T10:15:30.123Z"'
    ',"message":"[2026-11-20 10:15:30,123] INFO '
    '[GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)","host":{"name":"b1"},'
    '"log":{"file":{"path":"/var/log/server.log"},"offset":1234}}}'
)
REJECT = '{"@timestamp":"2026-11-20T10:15:30.123Z","message":"joined","log.level":"INFO"}'

ENVELOPE = JsonEnvelope(
    requires=("_source",),
    text=("message", "log", "event.original", "msg"),
    host=(
        "kubernetes.pod.name",
        "kubernetes.pod_name",
        "container.name",
        "host.name",
        "host.hostname",
        "hostname",
        "host",
        "agent.hostname",
        "beat.hostname",
    ),
    inner="_source",
    rank=10,
)
