"""Docker's json-file driver; a long line is cut into parts of which only the last ends with a newline."""

from __future__ import annotations

from rebalance_forensics.sources.envelopes.base import JsonEnvelope
from rebalance_forensics.sources.layouts.json_fields import Fields

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"log":"[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g '
    '(kafka.coordinator.group.GroupCoordinator)\\n","stream":"stdout","time":"2026-11-20T10:15:30.123456789Z"}'
)
REJECT = '{"log":{"level":"INFO"},"message":"Stabilized group g","time":"2026-11-20T10:15:30.123Z"}'


def _goes_on(fields: Fields) -> bool:
    return not str(fields.get("log")).endswith("\n") and "date" not in fields and "kubernetes" not in fields


ENVELOPE = JsonEnvelope(requires=("log", "stream", "time"), text=("log",), time=("time",), partial=_goes_on, rank=20)
