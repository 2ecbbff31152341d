"""Any other JSON object with a message and a level, also one nested in another (`{"applicationLog":{"message":…}}`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.json_fields import Fields, JsonLayout, object_of

SAMPLE = (
    '{"applicationLog":{"timestamp":"2026-11-20T10:15:30.123Z","severity":"INFO","message":"[Consume'
    'r clientId=c, groupId=g] (Re-)joining group","class":"ConsumerCoordinator"}}'
)
REJECT = '{"amount": 4, "currency": "EUR"}'

_MESSAGES = (
    "message",
    "msg",
    "Message",
    "formattedMessage",
    "text",
    "body",
    "log",
    "event",
    "RenderedMessage",
    "@m",
    "@mt",
    "MessageTemplate",
)
_LEVELS = (
    "level",
    "severity",
    "levelname",
    "log_level",
    "loglevel",
    "logLevel",
    "lvl",
    "Level",
    "@l",
    "priority",
    "status",
    "level_name",
    "severityText",
)
_FLAT = JsonLayout(
    requires=(),
    message=_MESSAGES,
    time=(
        "@timestamp",
        "timestamp",
        "time",
        "ts",
        "date",
        "datetime",
        "asctime",
        "eventTime",
        "Timestamp",
        "@t",
        "timeMillis",
        "epochMillis",
        "event_time",
    ),
    level=_LEVELS,
    logger=(
        "logger",
        "logger_name",
        "loggerName",
        "class",
        "name",
        "category",
        "source",
        "SourceContext",
        "log.logger",
    ),
    thread=("thread", "thread_name", "threadName"),
    trace=("stack_trace", "exception", "stacktrace", "exc_info", "stackTrace"),
)


@dataclass(frozen=True, slots=True)
class _AnyObject:
    """The last JSON layout: it takes what has a text and a level."""

    rank: int = 70
    starts: tuple[bytes, ...] = (b"{",)

    def is_header(self, line: str) -> bool:
        """Whether a record starts with this line."""
        return self.parse(line) is not None

    def parse(self, text: str) -> Parsed | None:
        """Take a whole record apart."""
        fields = object_of(text)
        return self.parse_fields(fields) if fields is not None else None

    def parse_fields(self, fields: Fields) -> Parsed | None:
        """Take a record apart that an envelope has already read as JSON, one level down if need be."""
        parsed = _FLAT.parse_fields(fields)
        if parsed is not None and (parsed.level or parsed.logger or parsed.stamp):
            return parsed
        inner = [value for value in fields.values() if isinstance(value, Mapping)]
        return next((found for value in inner if (found := _FLAT.parse_fields(value)) and found.level), None)


LAYOUT = _AnyObject()
