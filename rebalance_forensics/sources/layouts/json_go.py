"""zap, zerolog, logrus and slog: `msg` or `message`, `ts` or `time`, a lower-case level; franz-go's keys beside it."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.json_fields import GO_FACTS, JsonLayout

SAMPLE = (
    '{"level":"info","ts":1795169730.123,"logger":"kafka","caller":"consumer/group.go:88","msg":"joi'
    'ned","group":"payments","member_id":"c-1","generation":4,"leader":"false"}'
)
REJECT = '{"level":"INFO","timestamp":"2026-11-20T10:15:30.123Z","logger":"app","message":"joined"}'

LAYOUT = JsonLayout(
    requires=("msg",),
    message=("msg",),
    time=("ts", "time", "timestamp", "@timestamp", "date"),
    logger=("logger", "name", "component", "class"),
    extra=GO_FACTS,
    rank=35,
)
