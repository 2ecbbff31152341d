"""Advice on Kafka Connect workers and the topics that they keep their configuration in."""

from __future__ import annotations

from rebalance_forensics.diagnosis.model import Advice


def one_config_topic() -> tuple[Advice, ...]:
    """A worker that never reads as far as the assignment demands: it reads another topic, or records are gone."""
    same = Advice(
        action=(
            "Compare config.storage.topic and bootstrap.servers of all workers with this group.id: each logs them at "
            "start, under 'DistributedConfig values'."
        ),
        why=(
            "An assignment demands the furthest offset that a worker has read; a worker that reads another config "
            "topic, or another Kafka cluster, never reaches it. A Connect cluster of its own needs its own group.id."
        ),
        cost="A worker must be restarted to change either: one rebalance for each.",
    )
    kept = Advice(
        action="Check that the config topic is compacted, has one partition and was not recreated or truncated.",
        why=(
            "Workers that read it earlier keep the offset of records that retention, a new topic of the same name or "
            "an unclean leader election has removed since."
        ),
        cost="After a restart workers read what is left: connectors whose records are gone must be created again.",
    )
    return same, kept


def reachable_config_topic() -> tuple[Advice, ...]:
    """A worker that does not come to the end of the config topic in time."""
    reach = Advice(
        action="Find out why the worker reads the config topic so slowly: the partition's leader, or the way to it.",
        why="It gives up after worker.sync.timeout.ms (3 s by default) and takes up no work until it succeeds.",
        cost="A longer worker.sync.timeout.ms only helps where reading is slow, not where it fails.",
    )
    return (reach,)
