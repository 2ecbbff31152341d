"""zerolog with its caller: `message` in place of `msg`, franz-go's keys beside it."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.json_fields import GO_FACTS, JsonLayout

SAMPLE = (
    '{"time":"2026-11-20T10:15:30.123Z","level":"info","caller":"/go/pkg/mod/github.com/twmb/franz-go/pkg/kgo/'
    'consumer_group.go:1301","message":"joined","group":"payments","member_id":"c-1","generation":4}'
)
REJECT = '{"level":"INFO","timestamp":"2026-11-20T10:15:30.123Z","logger":"app","message":"joined","group":"payments"}'

LAYOUT = JsonLayout(
    requires=("message", "group", "caller"),
    time=("time", "ts", "timestamp"),
    extra=GO_FACTS,
    rank=36,
)
