"""`aws logs filter-log-events` and `get-log-events`: one document with all events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rebalance_forensics.sources.envelopes.base import JsonEnvelope
from rebalance_forensics.sources.layouts.json_fields import Fields

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"events":[{"logStreamName":"Broker-1","timestamp":1795169730123,"message":"[2026-11-20 10:15:30,123] INFO '
    '[GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"'
    ',"ingestionTime":1795169730999}]}'
)
REJECT = '{"events":4,"message":"joined"}'


def _events(fields: Fields) -> Sequence[Fields]:
    events = fields.get("events")
    return tuple(event for event in events if isinstance(event, Mapping)) if isinstance(events, list) else ()


ENVELOPE = JsonEnvelope(
    requires=("events",), time=("timestamp",), host=("logStreamName",), file=(), entries=_events, rank=40
)
