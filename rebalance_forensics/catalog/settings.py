"""A `… values:` dump, and which of its settings matter to a group."""

from __future__ import annotations

import re

# Flattened logs put the whole dump on one line, so a setting ends where the next one begins.
_SETTING = re.compile(r"(?:^|\s)([a-z][\w.-]*) =(.*?)(?=\s+[a-z][\w.-]* =|\s*$)", re.DOTALL)

KEPT = frozenset(
    """
    application.id application.server broker.id node.id client.id client.rack connect.protocol
    bootstrap.servers connections.max.idle.ms default.api.timeout.ms enable.auto.commit acceptable.recovery.lag
    group.consumer.assignors group.consumer.heartbeat.interval.ms group.consumer.max.size
    group.consumer.migration.policy group.consumer.session.timeout.ms group.coordinator.rebalance.protocols
    group.coordinator.new.enable group.share.session.timeout.ms group.streams.session.timeout.ms group.id
    group.initial.rebalance.delay.ms group.instance.id
    group.max.session.timeout.ms group.max.size group.min.session.timeout.ms group.protocol group.remote.assignor
    heartbeat.interval.ms internal.leave.group.on.close leave.group.on.close max.poll.interval.ms max.poll.records
    max.warmup.replicas metadata.max.age.ms min.insync.replicas num.standby.replicas num.stream.threads
    offsets.retention.check.interval.ms offsets.retention.minutes offsets.topic.num.partitions
    offsets.topic.replication.factor partition.assignment.strategy probing.rebalance.interval.ms process.roles
    processing.guarantee rebalance.timeout.ms reconnect.backoff.max.ms request.timeout.ms retry.backoff.ms
    scheduled.rebalance.max.delay.ms session.timeout.ms state.dir task.assignor.class upgrade.from
    worker.sync.timeout.ms worker.unsync.backoff.ms rest.advertised.host.name rest.advertised.port listeners
    advertised.listeners config.storage.topic offset.storage.topic status.storage.topic schema.registry.group.id
    kafkastore.group.id leader.eligibility share.group.enable unclean.leader.election.enable
    """.split()  # noqa: SIM905 - words read best as words
)
"""Nothing secret is kept: no password, no SASL, no SSL setting is in this list."""


def read_settings(text: str) -> tuple[tuple[str, str], ...]:
    """The settings that matter to groups, sorted; each as Kafka prints it (`null` included)."""
    return tuple(sorted({name: value.strip() for name, value in _SETTING.findall(text) if name in KEPT}.items()))
