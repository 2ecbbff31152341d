"""Any other JSON object around a log line: what it wraps begins as a record does."""

from __future__ import annotations

from rebalance_forensics.sources.envelopes.base import JsonEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"ts":"2026-11-20T10:15:30.123Z","pod":"kafka-0","msg":"[2026-11-20 10:15:30,123] INFO '
    "[GroupCoordinator 1]: Stabilized group g "
    '(kafka.coordinator.group.GroupCoordinator)"}'
)
REJECT = '{"amount":4}'

ENVELOPE = JsonEnvelope(
    requires=(),
    text=(
        "message",
        "msg",
        "log",
        "line",
        "_raw",
        "raw",
        "text",
        "body",
        "event",
        "event.original",
        "content",
        "LogEntry",
        "textPayload",
    ),
    time=("@timestamp", "timestamp", "time", "ts", "date", "TimeGenerated", "_time"),
    host=(
        "kubernetes.pod_name",
        "kubernetes.pod.name",
        "pod_name",
        "pod",
        "PodName",
        "container_name",
        "host.name",
        "hostname",
        "host",
        "labels.pod",
        "instance",
    ),
    rank=90,
    certain=False,
)
