"""Leadership moves at every rebalance without members changing."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import span
from rebalance_forensics.diagnosis.cause import STRONG, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import the_group
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.events.rebalancing import AssignmentComputed, AssignmentReceived
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import Generation

MOVES = 3
LEADER_MOVED = stated("leader-moved-each-time", present="another of the same members led each generation in a row")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """At least three moves in a row of the leadership between the same members."""
    run: list[Generation] = []
    before: Generation | None = None
    for generation in timeline.generations:
        if generation.leader is None:
            continue
        if before is not None and _moved(timeline, before, generation):
            run.append(generation)
        else:
            yield from _hypotheses(timeline, run)
            run = []
        before = generation
    yield from _hypotheses(timeline, run)


def _moved(timeline: Timeline, before: Generation, generation: Generation) -> bool:
    """Another member leads though the members, by whatever id, are the same."""
    leaders = [timeline.cast.of_member(g.leader) for g in (before, generation)]
    if leaders[0] is leaders[1] or _members(before) != _members(generation):
        return False
    return generation.generation not in timeline.remembered(_follow_ups)


def _members(generation: Generation) -> frozenset[str | None]:
    return frozenset(m.instance_id or m.client_id or m.member_id for m in generation.members)


def _hypotheses(timeline: Timeline, run: list[Generation]) -> Iterator[Hypothesis]:
    if len(run) < MOVES:
        return
    numbers = {g.generation for g in run}
    moved = tuple(r for r in timeline.rebalances if r.generation in numbers)
    told = [e for r in moved for e in r.events if isinstance(e, AssignmentReceived | AssignmentComputed)]
    if not told:
        return
    yield Hypothesis(
        because=tuple(told),
        culprits=(the_group(timeline),),
        answers={LEADER_MOVED: Present(tuple(told))},
        severity="warning",
        explains=moved,
        narrative=f"The leader changed at {len(run)} rebalances in a row though no member came or went.",
        advice=(
            Advice(
                action="Find what takes the leader out of the group each time, or give members a group.instance.id.",
                why=f"Leadership moved at {len(run)} rebalances in a row{span(told)}; a static member keeps it.",
                cost="A static member that is really gone is noticed only after session.timeout.ms.",
            ),
        ),
    )


def _follow_ups(timeline: Timeline) -> set[int | None]:
    return {r.generation for r in timeline.rebalances if r.followup}


CAUSE = Cause(
    summary="Leadership moves at every rebalance without members changing.",
    mechanism=(
        "The coordinator keeps the leader as long as it rejoins. A leader that is always late loses the "
        "role, and an assignor that keeps state in the leader starts from nothing each time."
    ),
    shows="Another leader in every generation, the same members.",
    remedy="Find why the leader rejoins late: slow poll loops, long rebalance listeners.",
    usual="fault",
    propose=propose,
    signs=(speaks_for(LEADER_MOVED, STRONG),),
    settings=("max.poll.interval.ms", "heartbeat.interval.ms"),
)
