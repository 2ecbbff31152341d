"""Datadog's archives and its API's events."""

from __future__ import annotations

from rebalance_forensics.sources.envelopes.base import JsonEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"_id":"A","date":"2026-11-20T10:15:30.123Z","host":"b1","service":"kafka","source":"kafka"'
    ',"status":"info","message":'
    '"[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g '
    '(kafka.coordinator.group.GroupCoordinator)","attributes":{},"tags":["env:p"]}'
)
REJECT = '{"_id":"A","date":"2026-11-20T10:15:30.123Z","note":"no message"}'

ENVELOPE = JsonEnvelope(
    requires=("message", "date", "service", "status"),
    time=("date",),
    host=("attributes.pod_name", "host"),
    file=(),
    rank=16,
)
