"""Advice on assignors: the code that the leader runs between JoinGroup and SyncGroup, and what members agree on."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import how_often, lasting, span
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.group_timeline import Timeline


def fix_assignor(timeline: Timeline, why: str) -> tuple[Advice, ...]:
    """An assignor that throws; named where a member logged its configuration."""
    classes = timeline.settings.get("partition.assignment.strategy", "")
    named = f" ({classes.strip('[]')})" if classes else ""
    fix = Advice(
        action=f"Fix the assignor that throws{named}, or remove it from partition.assignment.strategy.",
        why=why,
        cost="Removing it takes a rolling restart, and all members need another assignor in common.",
    )
    return (fix,)


def speed_up_assignor(took_ms: int | None) -> tuple[Advice, ...]:
    """An assignor that takes longer than a session lasts; None where its lines have no times."""
    faster = Advice(
        action="Make the assignor faster: no calls to other systems, no waiting inside assign().",
        why=f"The leader's session expired during an assignment{lasting(took_ms, ' that took {}')}.",
        cost="A simpler assignor may distribute partitions less evenly.",
    )
    return (faster,)


def share_an_assignor(events: Sequence[Event]) -> tuple[Advice, ...]:
    """A member that has no assignor in common with the others."""
    agree = Advice(
        action=(
            "Give all members one common partition.assignment.strategy and migrate in two rolling restarts; mix "
            "classic and consumer protocol members only as group.consumer.migration.policy allows."
        ),
        why=(
            "The coordinator accepts only members that support an assignor all others support; it rejected this one "
            f"{how_often(events)}."
        ),
        cost="Each rolling restart costs at least a rebalance for every member.",
    )
    return (agree,)


def keep_the_leader(moves: int, lines: Sequence[Event], *, static: bool) -> tuple[Advice, ...]:
    """A group that is led by another member each time; `static` members keep the leadership when they are restarted."""
    find = Advice(
        action="Find out why the leader rejoins late: slow poll loops, long rebalance listeners, restarts.",
        why=f"Leadership moved in {moves} rebalances in a row{span(lines)}; a leader that rejoins in time keeps it.",
    )
    if static:
        return (find,)
    name = Advice(
        action="Give each member a group.instance.id (static membership).",
        why="A static leader stays the leader when it is restarted.",
        cost="A static member that is really gone is noticed only after session.timeout.ms.",
    )
    return find, name
