"""Advice on how members are started, stopped, named and scaled."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.fences import Fence
from rebalance_forensics.diagnosis.episodes.members.flaps import Flapping
from rebalance_forensics.diagnosis.episodes.members.restart_walks import RestartWalk
from rebalance_forensics.diagnosis.episodes.rebalances.connector_changes import ConnectorChanges
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import counted, how_often, rounded_up, seconds, span, times
from rebalance_forensics.diagnosis.wording.timeouts import session_in_words
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import session_timeout_ms


def static_membership(timeline: Timeline, walk: RestartWalk) -> tuple[Advice, ...]:
    """Restarts one after another: a static member that is back in time costs no rebalance."""
    session = session_in_words(timeline)
    cost = f"A member that is really gone is noticed only after session.timeout.ms ({session})."
    if walk.new_names:
        stable = Advice(
            action=(
                "Let each new process take over the group.instance.id of an old one (a StatefulSet's pod name), "
                "and start it only when the old one is gone."
            ),
            why=f"Under a new name every restart is a join and a leave: {len(walk.restarts)} of each here.",
            cost=cost,
        )
        return (stable,)
    why = _enough(timeline, walk.longest_down_ms)
    return (Advice(action="Give each member a group.instance.id (static membership).", why=why, cost=cost),)


def _enough(timeline: Timeline, down: int) -> str:
    session = session_in_words(timeline)
    if timeline.measured(down) is None:
        return f"A static member that is back within session.timeout.ms ({session}) causes no rebalance."
    if down <= session_timeout_ms(timeline):
        return (
            f"The longest restart took {seconds(down)}; a static member that is back within session.timeout.ms "
            f"({session}) "
            "causes no rebalance."
        )
    return (
        f"A static member that is back within session.timeout.ms ({session}) causes no rebalance; the longest "
        f"restart took {seconds(down)}, so raise it to about {rounded_up(down)}."
    )


def calm_the_autoscaler(flapping: Flapping) -> tuple[Advice, ...]:
    """Members that are added and removed again and again."""
    lines = (e for away in flapping.absences for e in away.events)
    calm = Advice(
        action="Widen the autoscaler's thresholds or its stabilization window.",
        why=f"{counted(len(flapping.absences), 'removal')}{span(lines)}: each leave and each return is a rebalance.",
        cost="Scaling then reacts more slowly.",
    )
    return (calm,)


def remove_only_absent_members(absences: Sequence[Absence]) -> tuple[Advice, ...]:
    """Advice after an administrator removed running members."""
    find = Advice(
        action=(
            "Find who calls Admin.removeMembersFromConsumerGroup (a cleanup job, an operator, a script), and let "
            "it remove only static members that will not come back."
        ),
        why=(
            f"{counted(len(absences), 'member')} joined again: each was running, and lost its partitions until the "
            "group had rebalanced."
        ),
    )
    return (find,)


def unique_instance_ids(fence: Fence) -> tuple[Advice, ...]:
    """Two processes with one group.instance.id."""
    why = (
        "Under KIP-848 a second member with the same id is rejected (UNRELEASED_INSTANCE_ID)"
        if fence.refused
        else "A second member with the same id takes the first one's place and fences it"
    )
    often = how_often(fence.events)
    unique = Advice(
        action=f"Give every process its own group.instance.id; {fence.instance or f'that of {fence.name}'} is "
        f"configured twice.",
        why=f"{why}{'' if often == times(1) else f'; this happened {often}'}.",
        cost="Joining under a new id costs one rebalance.",
    )
    return (unique,)


def separate_group_ids(intruders: int, moves: int) -> tuple[Advice, ...]:
    """Two applications in one group."""
    count = f" Here {counted(intruders, 'member')} of one of them joined or rejoined {times(moves)}." if moves else ""
    separate = Advice(
        action="Give each application its own group.id.",
        why=(f"Every start, stop or slow poll loop of one application rebalances the other as well.{count}"),
        cost="Under a new group.id an application starts at auto.offset.reset unless committed offsets are copied.",
    )
    return (separate,)


def submit_together(changes: ConnectorChanges) -> tuple[Advice, ...]:
    """Connector configurations that change one by one."""
    together = Advice(
        action="Submit changes together, or stop the loop that rewrites configurations.",
        why=f"Changes to {counted(len(changes.connectors), 'connector')} caused "
        f"{counted(len(changes.rebalances), 'rebalance')}"
        f"{span(changes.lines)}.",
        cost="Connect's REST interface takes one connector per request: send the requests back to back.",
    )
    return (together,)
