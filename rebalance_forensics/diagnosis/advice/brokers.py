"""Advice on what is set or done on the brokers: limits, permissions, the offsets topic, restarts."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.episodes.coordinator.offsets_outages import OFFSETS
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import seconds, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.group_timeline import Timeline


def raise_group_size(timeline: Timeline, events: Sequence[Event]) -> tuple[Advice, ...]:
    """A full group. Members of a share group share partitions, so more of them than partitions have work."""
    idle = "" if timeline.protocol == "share" else "; a member beyond the partition count would idle anyway"
    more = Advice(
        action="Raise group.max.size on the brokers, or do not start more members than it allows.",
        why=f"The coordinator refuses the join{idle}. It was turned away {times(len(events))}{span(events)}.",
        cost="Larger groups rebalance more slowly.",
    )
    return (more,)


def grant_access(events: Sequence[Event]) -> tuple[Advice, ...]:
    """A client without the permissions that it needs."""
    grant = Advice(
        action="Grant its principal DESCRIBE and READ on the group, and READ on the topics.",
        why=f"The broker denied it {times(len(events))}{span(events)}.",
        cost="It then reads what it was kept from: check that it should.",
    )
    return (grant,)


def allow_migration(events: Sequence[Event]) -> tuple[Advice, ...]:
    """Members of both group protocols in one group."""
    allow = Advice(
        action=(
            "Allow the migration with group.consumer.migration.policy on the brokers, or start all members "
            "with the same group.protocol."
        ),
        why=f"The coordinator refused it {times(len(events))}{span(events)}.",
        cost="A group that is converted takes no custom client-side assignors.",
    )
    return (allow,)


def restart_brokers_cleanly(without_ms: int) -> tuple[Advice, ...]:
    """A coordinator that moved."""
    cleanly = Advice(
        action="Restart brokers by controlled shutdown, one at a time; find out why this one stopped.",
        why=(
            f"The group could not commit or heartbeat for up to {seconds(without_ms)}, until another "
            "broker had loaded its metadata."
        ),
        cost="A controlled shutdown takes longer: it hands every partition over first.",
    )
    return (cleanly,)


def replicate_offsets(refused: Sequence[Event]) -> tuple[Advice, ...]:
    """An offsets topic with too few replicas in sync."""
    return (
        Advice(
            action=f"Bring the missing replica back, or lower min.insync.replicas of {OFFSETS} until it is.",
            why=(
                "The write needs min.insync.replicas replicas in sync; "
                f"it was refused {times(len(refused))}{span(refused)}."
            ),
            cost="Fewer replicas mean that one more failure may lose committed offsets.",
        ),
        Advice(
            action=f"Give {OFFSETS} three replicas (kafka-reassign-partitions.sh) and min.insync.replicas=2.",
            why="One broker may then be away; offsets.topic.replication.factor does not change a topic that exists.",
            cost="Each commit then waits for a second broker.",
        ),
    )


def keep_offsets_longer(timeline: Timeline, empty_for_ms: int | None) -> tuple[Advice, ...]:
    """A group that was empty for longer than its offsets are kept; None where no line shows since when."""
    told = timeline.settings.get("offsets.retention.minutes")
    if empty_for_ms is None:
        why = f"The group was empty for longer than offsets.retention.minutes{f' ({told})' if told else ''}."
    else:
        retention = f"is {told}" if told else "is in no log and was shorter than that"
        why = f"The group was empty for {seconds(empty_for_ms)} by then; offsets.retention.minutes {retention}."
    longer = Advice(
        action="Raise offsets.retention.minutes above the longest time a group may be empty.",
        why=why,
        cost="Offsets of dead groups are kept longer.",
    )
    return (longer,)
