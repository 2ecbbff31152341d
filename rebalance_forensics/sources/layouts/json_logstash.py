"""logstash-logback-encoder's JSON, Spring Boot's `logstash` format too."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.json_fields import JsonLayout

SAMPLE = (
    '{"@timestamp":"2026-11-20T10:15:30.123Z","@version":"1","message":"[Consumer clientId=c, groupId=g] '
    "(Re-)joining "
    'group","logger_name":"org.apache.kafka.clients.consumer.internals.ConsumerCoordinator","thread_'
    'name":"main","level":"INFO","level_value":20000}'
)
REJECT = (
    '{"@timestamp":"2026-11-20T10:15:30.123Z","message":"(Re-)joining group","log.level":"INFO","log.logger":"x.Y"}'
)

LAYOUT = JsonLayout(requires=("logger_name",), logger=("logger_name",), thread=("thread_name",), rank=30)
