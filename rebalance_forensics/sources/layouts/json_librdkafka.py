"""librdkafka's log event as node-rdkafka and other wrappers print it as JSON: severity, facility, message."""

from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.json_fields import Fields, JsonLayout, first_text, object_of
from rebalance_forensics.sources.layouts.librdkafka import SEVERITY, canonical

SAMPLE = (
    '{"severity":4,"fac":"SESSTMOUT","name":"orders#consumer-1","message":"[thrd:main]: Consumer group session timed '
    'out","time":"2026-11-20T10:15:30.123Z"}'
)
REJECT = '{"severity":"INFO","message":"joined","time":"2026-11-20T10:15:30.123Z"}'

_FIELDS = JsonLayout(requires=("fac", "message"), level=("level",))


class _JsonLibrdkafka:
    """The same words as the raw form's."""

    rank = 24
    starts = (b"{",)

    def is_header(self, line: str) -> bool:
        """Whether a record starts with this line."""
        return self.parse(line) is not None

    def parse(self, text: str) -> Parsed | None:
        """Take a whole record apart."""
        fields = object_of(text)
        return self.parse_fields(fields) if fields is not None else None

    def parse_fields(self, fields: Fields) -> Parsed | None:
        """Take a record apart that an envelope has already read as JSON."""
        parsed = _FIELDS.parse_fields(fields)
        if parsed is None:
            return None
        severity = first_text(fields, ("severity",)) or ""
        level = SEVERITY[int(severity)] if severity in [*"01234567"] else parsed.level
        name = first_text(fields, ("name", "client")) or "rdkafka"
        message = canonical(str(fields["fac"]), name, parsed.message)
        return replace(parsed, level=level, logger="rdkafka", message=message)


LAYOUT = _JsonLibrdkafka()
