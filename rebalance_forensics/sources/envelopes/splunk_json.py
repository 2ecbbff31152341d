"""Splunk's export as JSON lines, newest first."""

from __future__ import annotations

from rebalance_forensics.sources.envelopes.base import JsonEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"preview":false,"offset":0,"result":{"_raw":"[2026-11-20 10:15:30,123] INFO [GroupCoordinator '
    "1]: Stabilized group g "
    '(kafka.coordinator.group.GroupCoordinator)","_time":"2026-11-20T10:15:30.123+00:00","host":"b1"'
    ',"source":"/var/log/server.log"}}'
)
REJECT = '{"result":"ok","message":"joined"}'

ENVELOPE = JsonEnvelope(
    requires=("result._raw",),
    text=("_raw",),
    time=("_time",),
    host=("host",),
    file=("source",),
    inner="result",
    rank=12,
)
