"""Filebeat's and Logstash's events as such: a message with the file it was read from."""

from __future__ import annotations

from rebalance_forensics.sources.envelopes.base import JsonEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"@timestamp":"2026-11-20T10:15:30.123Z","message":"[2026-11-20 10:15:30,123] INFO '
    "[GroupCoordinator 1]: Stabilized group g "
    '(kafka.coordinator.group.GroupCoordinator)","agent":{"type":"filebeat"},"host":{"name":"b1"}'
    ',"log":{"file":{"path":"/var/log/server.log"},"offset":1}}'
)
REJECT = '{"@timestamp":"2026-11-20T10:15:30.123Z","message":"joined","log.level":"INFO"}'

ENVELOPE = JsonEnvelope(
    requires=("log.file.path", "message"),
    host=("kubernetes.pod.name", "container.name", "host.name", "host.hostname", "agent.hostname", "host"),
    rank=18,
)
