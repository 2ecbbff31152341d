"""Advice on what is set or done on the brokers: limits, permissions, the offsets topic, restarts."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import size_setting
from rebalance_forensics.diagnosis.episodes.coordinator.offsets_outages import OFFSETS
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import how_often, lasting, seconds
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.group_timeline import Timeline


def raise_group_size(timeline: Timeline, events: Sequence[Event]) -> tuple[Advice, ...]:
    """A full group. Members of a share group share partitions, so more of them than partitions have work."""
    idle = "" if timeline.protocol == "share" else "; members beyond the number of partitions are idle anyway"
    more = Advice(
        action=f"Raise {size_setting(timeline)} on the brokers, or do not start more members than it allows.",
        why=f"The coordinator rejected its join {how_often(events)}{idle}.",
        cost="Larger groups rebalance more slowly.",
    )
    return (more,)


def grant_access(denied: str, denials: str) -> tuple[Advice, ...]:
    """A client without the permissions that it needs; `denied` names what on, where lines do, `denials` how often."""
    grant = Advice(
        action=f"Grant its principal READ on {denied or 'the group and on the topics'}.",
        why=f"READ implies DESCRIBE. The broker denied it {denials}.",
        cost="The client can then read those topics: check that it should.",
    )
    return (grant,)


def renew_credentials(events: Sequence[Event]) -> tuple[Advice, ...]:
    """A client that the brokers do not let in."""
    renew = Advice(
        action="Compare the credentials it was started with (sasl.jaas.config, keystore) with those the brokers know.",
        why=f"The brokers refused its connection {how_often(events)}; poll() throws that error to the application.",
    )
    return (renew,)


def allow_migration(events: Sequence[Event]) -> tuple[Advice, ...]:
    """Members of both group protocols in one group."""
    allow = Advice(
        action=(
            "Allow the migration with group.consumer.migration.policy on the brokers, or start all members "
            "with the same group.protocol."
        ),
        why=f"The coordinator rejected it {how_often(events)}.",
        cost="A converted group cannot use custom client-side assignors.",
    )
    return (allow,)


def restart_brokers_cleanly(without_ms: int | None, *, fenced: bool, again: bool) -> tuple[Advice, ...]:
    """A coordinator that moved.

    `fenced` where the controller stopped hearing from the broker, `again` where the same one took the group over.
    """
    # A controller notices late that a broker fell silent, and members only when their own timeouts are over.
    lasted = lasting(without_ms or None, " for at least {}" if fenced else " for up to {}")
    without = f"The group could not commit or send heartbeats{lasted}"
    if again and not fenced:
        return (_replicate(f"{without} until the same broker was back"),)
    if not fenced:
        cleanly = Advice(
            action="Restart brokers by controlled shutdown, one at a time.",
            why=f"{without}{',' if lasted else ''} until a coordinator had loaded its metadata.",
            cost="A controlled shutdown takes longer: the broker hands over every partition first.",
        )
        return (cleanly,)
    find = Advice(
        action="Find out why this broker lost its session with the controller: a crash, a long pause or the network.",
        why=f"The controller fenced it after broker.session.timeout.ms (9 s by default). {without}.",
    )
    if_meant = Advice(
        action="If it was stopped on purpose, use a controlled shutdown (SIGTERM rather than SIGKILL).",
        why="The broker then hands over its groups before it stops, and nobody waits for its session to expire.",
        cost="It takes longer to stop.",
    )
    return find, _replicate("The group waited for the same broker") if again else if_meant


def bring_broker_back(number: int) -> tuple[Advice, ...]:
    """Members whose processes could not reach a broker when they stopped polling."""
    back = Advice(
        action=f"Find out why broker-{number} could not be reached, and give what it leads a second replica.",
        why="A loop that writes to a partition without a leader, or commits there, waits for it and does not poll.",
        cost="Replicas take disk and network; a write with acks=all waits for them.",
    )
    return (back,)


def repair_broker(fault: str) -> tuple[Advice, ...]:
    """A broker that shut itself down."""
    disks = fault == "log directories"
    repair = Advice(
        action="Free or replace the disk that the first IOException in this broker's log names, then start the broker."
        if disks
        else "Fix the error that this broker logged just before it shut down, then start it.",
        why="A broker halts when the last of its log directories fails; a full disk is enough."
        if disks
        else "A broker halts when it can no longer be sure of its own state; it does so again until that is fixed.",
    )
    return (repair,)


def _replicate(waited: str) -> Advice:
    return Advice(
        action=f"Check that {OFFSETS} has replicas on several brokers (kafka-topics.sh --describe); "
        "kafka-reassign-partitions.sh adds them.",
        why=f"{waited}; these logs show no other that took over.",
        cost="Each commit then waits for its replicas.",
    )


def replicate_offsets(refused: Sequence[Event]) -> tuple[Advice, ...]:
    """An offsets topic with too few replicas in sync."""
    return (
        Advice(
            action=f"Bring the missing replica back, or lower min.insync.replicas of {OFFSETS} until it is back.",
            why=(
                "A write needs at least min.insync.replicas in-sync replicas; "
                f"without them requests failed {how_often(refused)}."
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
    setting = timeline.settings.get("offsets.retention.minutes")
    if empty_for_ms is None:
        why = f"The group was empty for longer than offsets.retention.minutes{f' ({setting})' if setting else ''}."
    else:
        retention = f"is {setting}" if setting else "is not in the logs but must have been shorter"
        why = f"The group had been empty for {seconds(empty_for_ms)}; offsets.retention.minutes {retention}."
    longer = Advice(
        action="Raise offsets.retention.minutes above the longest time a group may be empty.",
        why=why,
        cost="Offsets of abandoned groups are kept longer as well.",
    )
    return (longer,)
