"""Any other JSON object with a message, whatever its keys are called and however deep (`{"applicationLog":{…}}`)."""

from __future__ import annotations

from msgspec import Struct

from rebalance_forensics.sources.layouts.base import Parsed, level_of
from rebalance_forensics.sources.layouts.json_field_names import (
    OWN_HOSTS,
    THREADS,
    leaves_of,
    level_in,
    logger_in,
    stamp_in,
    text_in,
    told,
    trace_in,
)
from rebalance_forensics.sources.layouts.json_fields import Fields, object_of, with_facts

SAMPLE = (
    '{"applicationLog":{"timestamp":"2026-11-20T10:15:30.123Z","severity":"INFO","message":"[Consume'
    'r clientId=c, groupId=g] (Re-)joining group","class":"ConsumerCoordinator"}}'
)
REJECT = '{"amount": 4, "currency": "EUR"}'


class _AnyObject(Struct, frozen=True):
    """The last JSON layout: it takes what has a text and a level, a logger or a time."""

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
        """Take a record apart that an envelope has already read as JSON."""
        leaves = leaves_of(fields)
        message = text_in(leaves, lambda text: False)  # noqa: ARG005 - by its name only
        level, logger, stamp = level_in(leaves), logger_in(leaves), stamp_in(leaves)
        if not message or not (level or logger or stamp):
            return None
        message = with_facts(message, fields, ())
        trace = trace_in(fields)
        return Parsed(
            stamp=stamp,
            level=level_of(level),
            logger=logger,
            thread=told(leaves, THREADS),
            message=f"{message}\n{trace}" if trace and trace not in message else message,
            host=told(leaves, OWN_HOSTS),
        )


LAYOUT = _AnyObject()
