"""KafkaJS: one JSON object a line, the facts as keys beside the message."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.json_fields import JsonLayout

SAMPLE = (
    '{"level":"INFO","timestamp":"2026-11-20T10:15:30.123Z","logger":"kafkajs","message":"[ConsumerG'
    "roup] Consumer has joined the "
    'group","groupId":"payments","memberId":"c-1","leaderId":"c-1","isLeader":true}'
)
REJECT = '{"level":"INFO","timestamp":"2026-11-20T10:15:30.123Z","logger":"app","message":"joined"}'

LAYOUT = JsonLayout(
    requires=("logger", "groupId"),
    extra=("groupId", "memberId", "leaderId", "isLeader", "groupProtocol", "duration", "error"),
    rank=25,
)
