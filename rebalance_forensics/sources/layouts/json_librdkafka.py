"""librdkafka's log event as node-rdkafka and other wrappers print it as JSON: severity, facility, message."""

from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.json_fields import Fields, JsonLayout, first_text
from rebalance_forensics.sources.layouts.librdkafka import SEVERITY, canonical

SAMPLE = (
    '{"severity":4,"fac":"SESSTMOUT","name":"orders#consumer-1","message":"[thrd:main]: Consumer group session timed '
    'out","time":"2026-11-20T10:15:30.123Z"}'
)
REJECT = '{"severity":"INFO","message":"joined","time":"2026-11-20T10:15:30.123Z"}'


class _JsonLibrdkafka(JsonLayout, frozen=True, kw_only=True):
    """The same words as the raw form's."""

    def parse_fields(self, fields: Fields) -> Parsed | None:
        """Take a record apart that an envelope has already read as JSON."""
        parsed = JsonLayout.parse_fields(self, fields)
        if parsed is None:
            return None
        severity = first_text(fields, ("severity",)) or ""
        level = SEVERITY[int(severity)] if severity in [*"01234567"] else parsed.level
        name = first_text(fields, ("name", "client")) or "rdkafka"
        message = canonical(str(fields["fac"]), name, parsed.message)
        return replace(parsed, level=level, logger="rdkafka", message=message)


LAYOUT = _JsonLibrdkafka(requires=("fac", "message"), level=("level",), rank=24)
