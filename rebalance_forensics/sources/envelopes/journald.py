"""journalctl -o json: the message is a text or a list of bytes, the time microseconds."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.sources.envelopes.base import JsonEnvelope
from rebalance_forensics.sources.layouts.json_fields import Fields

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"__REALTIME_TIMESTAMP":"1795169730123456","_SYSTEMD_UNIT":"kafka.service","PRIORITY":"6","_HOSTNAME":"b1",'
    '"MESSAGE":"[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g '
    '(kafka.coordinator.group.GroupCoordinator)"}'
)
REJECT = '{"MESSAGE":"joined","TIME":"2026-11-20T10:15:30.123Z"}'


def _readable(fields: Fields) -> Sequence[Fields]:
    """A message with odd bytes comes as a list of numbers; several values of one field as a list of texts."""
    message = fields.get("MESSAGE")
    if isinstance(message, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in message):
        message = bytes(message).decode("utf-8", "replace")
    elif isinstance(message, list):
        message = "\n".join(str(part) for part in message)
    return ({**fields, "MESSAGE": "" if message is None else message},)


def _goes_on(fields: Fields) -> bool:
    return fields.get("CONTAINER_PARTIAL_MESSAGE") == "true"


ENVELOPE = JsonEnvelope(
    requires=("__REALTIME_TIMESTAMP",),
    text=("MESSAGE",),
    time=("__REALTIME_TIMESTAMP",),
    host=("CONTAINER_NAME", "_HOSTNAME"),
    file=(),
    stream=("_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER"),
    entries=_readable,
    partial=_goes_on,
    rank=14,
)
