"""Advice on what is set or done on the brokers: limits, permissions, the offsets topic, restarts."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.episodes.coordinator.offsets_outages import OFFSETS
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import lasting, seconds, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import AuthorizationFailed
from rebalance_forensics.timeline.group_timeline import Timeline


def raise_group_size(timeline: Timeline, events: Sequence[Event]) -> tuple[Advice, ...]:
    """A full group. Members of a share group share partitions, so more of them than partitions have work."""
    idle = "" if timeline.protocol == "share" else "; members beyond the number of partitions are idle anyway"
    more = Advice(
        action="Raise group.max.size on the brokers, or do not start more members than it allows.",
        why=f"The coordinator rejected its join {times(len(events))}{span(events)}{idle}.",
        cost="Larger groups rebalance more slowly.",
    )
    return (more,)


def grant_access(events: Sequence[Event]) -> tuple[Advice, ...]:
    """A client without the permissions that it needs."""
    topics = _only_topics(events)
    grant = Advice(
        action=(
            f"Grant its principal READ on {', '.join(topics)}."
            if topics
            else "Grant its principal DESCRIBE and READ on the group, and READ on the topics."
        ),
        why=f"The broker denied it {times(len(events))}{span(events)}.",
        cost="The client can then read those topics: check that it should.",
    )
    return (grant,)


def _only_topics(events: Sequence[Event]) -> list[str]:
    """The topics that were denied; none where the group was denied, or no line names the topics."""
    about_group = any(
        "group" in (getattr(e, "resource", None), (getattr(e, "error", None) or "").partition("_")[0].lower())
        or (getattr(e, "exception", None) or "").endswith("GroupAuthorizationException")
        for e in events
    )
    told = (e.names for e in events if isinstance(e, AuthorizationFailed) and e.resource == "topic")
    return [] if about_group else sorted({name for names in told for name in names})


def allow_migration(events: Sequence[Event]) -> tuple[Advice, ...]:
    """Members of both group protocols in one group."""
    allow = Advice(
        action=(
            "Allow the migration with group.consumer.migration.policy on the brokers, or start all members "
            "with the same group.protocol."
        ),
        why=f"The coordinator rejected it {times(len(events))}{span(events)}.",
        cost="A converted group cannot use custom client-side assignors.",
    )
    return (allow,)


def restart_brokers_cleanly(without_ms: int | None, *, fenced: bool) -> tuple[Advice, ...]:
    """A coordinator that moved; `fenced` where the controller stopped hearing from the broker."""
    without = f"The group could not commit or send heartbeats{lasting(without_ms, ' for up to {}')}"
    cleanly = Advice(
        action="Restart brokers by controlled shutdown, one at a time.",
        why="" if fenced else f"{without}, until another broker had loaded its metadata.",
        cost="A controlled shutdown takes longer: the broker hands over every partition first.",
    )
    if not fenced:
        return (cleanly,)
    find = Advice(
        action="Find out why this broker lost its session with the controller: a crash, a long pause or the network.",
        why=f"The controller fenced it after broker.session.timeout.ms (9 s by default). {without}.",
    )
    return find, cleanly


def replicate_offsets(refused: Sequence[Event]) -> tuple[Advice, ...]:
    """An offsets topic with too few replicas in sync."""
    return (
        Advice(
            action=f"Bring the missing replica back, or lower min.insync.replicas of {OFFSETS} until it is back.",
            why=(
                "A write needs at least min.insync.replicas in-sync replicas; "
                f"it was rejected {times(len(refused))}{span(refused)}."
            ),
            cost="With fewer replicas one more failure may lose committed offsets.",
        ),
        Advice(
            action=f"Give {OFFSETS} three replicas (kafka-reassign-partitions.sh) and min.insync.replicas=2.",
            why="The topic then survives the loss of one broker; offsets.topic.replication.factor does not "
            "change an existing topic.",
            cost="Each commit then waits for a second replica.",
        ),
    )


def keep_offsets_longer(timeline: Timeline, empty_for_ms: int | None) -> tuple[Advice, ...]:
    """A group that was empty for longer than its offsets are kept; None where no line shows since when."""
    told = timeline.settings.get("offsets.retention.minutes")
    if empty_for_ms is None:
        why = f"The group was empty for longer than offsets.retention.minutes{f' ({told})' if told else ''}."
    else:
        retention = f"is {told}" if told else "is not in the logs but must have been shorter"
        why = f"The group had been empty for {seconds(empty_for_ms)}; offsets.retention.minutes {retention}."
    longer = Advice(
        action="Raise offsets.retention.minutes above the longest time a group may be empty.",
        why=why,
        cost="Offsets of abandoned groups are kept longer as well.",
    )
    return (longer,)
