"""A row of a CSV export with a header line: Splunk's `_raw`, CloudWatch Insights' `@message`, Datadog, Kibana."""

from __future__ import annotations

from rebalance_forensics.sources.envelopes.base import JsonEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"_row":"csv","_time":"2026-11-20T10:15:30.123+00:00","host":"b1","_raw":"[2026-11-20 10:15:30'
    ",123] INFO [GroupCoordinator 1]: "
    'Stabilized group g (kafka.coordinator.group.GroupCoordinator)"}'
)
REJECT = '{"host":"b1","message":"joined"}'

MESSAGE_COLUMNS = (
    "_raw",
    "@message",
    "message",
    "_source.message",
    "log",
    "line",
    "msg",
    "content",
    "body",
    "text",
    "event",
    "textPayload",
)
TIME_COLUMNS = ("_time", "@timestamp", "timestamp", "time", "date", "_source.@timestamp", "ingestiontime", "ts")
HOST_COLUMNS = (
    "pod_name",
    "pod",
    "kubernetes.pod_name",
    "host.name",
    "host",
    "hostname",
    "@logstream",
    "logstream",
    "logstreamname",
    "instance",
    "container_name",
)

# The reader of CSV documents hands each row over as an object marked `_row`.
ENVELOPE = JsonEnvelope(
    requires=("_row",),
    text=MESSAGE_COLUMNS,
    time=TIME_COLUMNS,
    host=HOST_COLUMNS,
    file=("source", "log.file.path", "filename"),
    stream=(),
    rank=5,
)
