"""log4j2's JsonLayout: `loggerName`, and the time as milliseconds or as an instant."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.json_fields import JsonLayout

SAMPLE = (
    '{"instant":{"epochSecond":1795169730,"nanoOfSecond":123000000},"thread":"main","level":"INFO","'
    'loggerName":"kafka.coordinator.group.GroupCoordinator","message":"Stabilized group '
    'g","endOfBatch":false}'
)
REJECT = '{"@timestamp":"2026-11-20T10:15:30.123Z","message":"(Re-)joining group","logger_name":"x.Y","level":"INFO"}'

LAYOUT = JsonLayout(
    requires=("loggerName",),
    time=("timeMillis", "timestamp", "@timestamp", "time"),
    logger=("loggerName",),
    thread=("thread", "threadName"),
    trace=("thrown.extendedStackTrace", "thrown.message"),
    rank=30,
)
