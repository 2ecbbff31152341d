"""Graylog's GELF, as Spring Boot and logback appenders write it."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.json_fields import JsonLayout

SAMPLE = (
    '{"version":"1.1","short_message":"[Consumer clientId=c, groupId=g] (Re-)joining '
    'group","timestamp":1795169730.123,"level":6,"_level_name":"INFO","_process_thread_name":"main",'
    '"_log_logger":"org.apache.kafka.clients.consumer.internals.ConsumerCoordinator","host":"n1"}'
)
REJECT = '{"timestamp":"2026-11-20T10:15:30.123Z","level":"INFO","message":"short_message is missing"}'

LAYOUT = JsonLayout(
    requires=("short_message",),
    message=("full_message", "short_message"),
    level=("_level_name", "_level"),
    logger=("_log_logger", "_logger_name", "_logger"),
    thread=("_process_thread_name", "_thread_name", "_thread"),
    trace=("_error_stack_trace",),
    host=("host",),
    rank=30,
)
