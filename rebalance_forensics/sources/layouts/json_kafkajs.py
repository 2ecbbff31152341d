"""KafkaJS: one JSON object a line, the facts as keys beside the message."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.json_fields import KAFKAJS_FACTS, Fields, JsonLayout, is_kafkajs

SAMPLE = (
    '{"level":"INFO","timestamp":"2026-11-20T10:15:30.123Z","logger":"kafkajs","message":"[ConsumerG'
    "roup] Consumer has joined the "
    'group","groupId":"payments","memberId":"c-1","leaderId":"c-1","isLeader":true}'
)
REJECT = '{"level":"INFO","timestamp":"2026-11-20T10:15:30.123Z","logger":"app","message":"joined"}'


class _JsonKafkaJs(JsonLayout, frozen=True, kw_only=True):
    """A consumer's lines name its group, those of its connections only its client id."""

    def parse_fields(self, fields: Fields) -> Parsed | None:
        """Take a record apart that an envelope has already read as JSON."""
        mine = is_kafkajs(fields) or "groupId" in fields
        return JsonLayout.parse_fields(self, fields) if mine else None


LAYOUT = _JsonKafkaJs(
    requires=("logger",),
    extra=KAFKAJS_FACTS,
    rank=25,
)
