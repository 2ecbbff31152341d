"""Advice on assignors: the code that the leader runs between JoinGroup and SyncGroup, and what members agree on."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import seconds, span, times
from rebalance_forensics.events.base import Event


def fix_assignor(why: str) -> tuple[Advice, ...]:
    """An assignor that throws."""
    fix = Advice(
        action="Fix the assignor that throws, or take it out of partition.assignment.strategy.",
        why=why,
        cost="Taking it out needs a rolling restart, and another assignor that all members have in common.",
    )
    return (fix,)


def speed_up_assignor(took_ms: int) -> tuple[Advice, ...]:
    """An assignor that takes longer than a session lasts."""
    faster = Advice(
        action="Make the assignor faster: no calls to other systems, no waiting inside assign().",
        why=f"One assignment took {seconds(took_ms)}; session.timeout.ms is all that the group waits.",
        cost="An assignor that knows less distributes less evenly.",
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
            "The coordinator only takes members that support an assignor all others support. "
            f"It was turned away {times(len(events))}{span(events)}."
        ),
        cost="Two rolling restarts: each costs a rebalance for every member that goes and comes.",
    )
    return (agree,)


def keep_the_leader(moves: int, told: Sequence[Event]) -> tuple[Advice, ...]:
    """A group that is led by another member each time."""
    keep = Advice(
        action="Find what takes the leader out of the group each time, or give members a group.instance.id.",
        why=f"Leadership moved at {moves} rebalances in a row{span(told)}; a static member keeps it.",
        cost="A static member that is really gone is noticed only after session.timeout.ms.",
    )
    return (keep,)
