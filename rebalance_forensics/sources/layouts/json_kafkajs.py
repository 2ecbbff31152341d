"""KafkaJS: one JSON object a line, the facts as keys beside the message."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.json_fields import Fields, JsonLayout, object_of

SAMPLE = (
    '{"level":"INFO","timestamp":"2026-11-20T10:15:30.123Z","logger":"kafkajs","message":"[ConsumerG'
    "roup] Consumer has joined the "
    'group","groupId":"payments","memberId":"c-1","leaderId":"c-1","isLeader":true}'
)
REJECT = '{"level":"INFO","timestamp":"2026-11-20T10:15:30.123Z","logger":"app","message":"joined"}'

_FIELDS = JsonLayout(
    requires=("logger",),
    extra=("groupId", "memberId", "leaderId", "isLeader", "groupProtocol", "duration", "error", "clientId"),
)


class _JsonKafkaJs:
    """A consumer's lines name its group, those of its connections only its client id."""

    rank = 25
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
        mine = fields.get("logger") == "kafkajs" or "groupId" in fields
        return _FIELDS.parse_fields(fields) if mine else None


LAYOUT = _JsonKafkaJs()
