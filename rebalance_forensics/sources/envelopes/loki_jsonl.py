"""logcli --output=jsonl: labels, line, time; newest first unless --forward."""

from __future__ import annotations

from rebalance_forensics.sources.envelopes.base import JsonEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"labels":{"pod":"kafka-0"},"line":"[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g '
    '(kafka.coordinator.group.GroupCoordinator)","timestamp":"2026-11-20T10:15:30.123456789Z"}'
)
REJECT = '{"line":"joined","timestamp":"2026-11-20T10:15:30.123456789Z"}'

HOST_LABELS = (
    "pod",
    "pod_name",
    "instance",
    "container_name",
    "container",
    "hostname",
    "host",
    "nodename",
    "service_name",
    "job",
)

ENVELOPE = JsonEnvelope(
    requires=("labels", "line"),
    text=("line",),
    time=("timestamp",),
    host=tuple(f"labels.{label}" for label in HOST_LABELS),
    file=("labels.filename",),
    stream=("labels.stream",),
    rank=12,
)
