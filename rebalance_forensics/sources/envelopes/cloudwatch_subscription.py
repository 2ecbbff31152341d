"""CloudWatch's subscription objects (Firehose, Lambda): many events each, one after another without a newline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rebalance_forensics.sources.envelopes.base import JsonEnvelope
from rebalance_forensics.sources.layouts.json_fields import Fields

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"messageType":"DATA_MESSAGE","owner":"1","logGroup":"/msk/c","logStream":"Broker-1","subscriptionFilters":["f"],'
    '"logEvents":[{"id":"3","timestamp":1795169730123,"message":"[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: '
    'Stabilized group g (kafka.coordinator.group.GroupCoordinator)"}]}'
)
REJECT = '{"events":[{"timestamp":1795169730123,"message":"x"}]}'


def _events(fields: Fields) -> Sequence[Fields]:
    """The events of a data message; a control message (Firehose's reachability check) holds none."""
    events = fields.get("logEvents")
    if fields.get("messageType") == "CONTROL_MESSAGE" or not isinstance(events, list):
        return ()
    return tuple({"logStream": fields.get("logStream"), **event} for event in events if isinstance(event, Mapping))


ENVELOPE = JsonEnvelope(
    requires=("messageType", "logEvents"), time=("timestamp",), host=("logStream",), file=(), entries=_events, rank=10
)
