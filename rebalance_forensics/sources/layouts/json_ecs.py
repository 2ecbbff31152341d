"""Elastic Common Schema: log4j2's EcsLayout with dotted keys, Spring Boot's nested ones."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.json_fields import JsonLayout

SAMPLE = (
    '{"@timestamp":"2026-11-20T10:15:30.123Z","ecs.version":"1.2.0","log.level":"INFO","message":"St'
    'abilized group g","process.thread.name":"main","log.logger":"kafka.coordinator.group.GroupCoordinator"}'
)
REJECT = '{"@timestamp":"2026-11-20T10:15:30.123Z","message":"(Re-)joining group","logger_name":"x.Y","level":"INFO"}'

LAYOUT = JsonLayout(
    requires=("log.level",),
    level=("log.level",),
    logger=("log.logger",),
    thread=("process.thread.name", "process.thread.id"),
    trace=("error.stack_trace",),
    rank=30,
)
