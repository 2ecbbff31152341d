"""Leadership moves at every rebalance without members changing."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.culprits import the_group
from rebalance_forensics.diagnosis.finding import PROBABLE, Finding, Rule
from rebalance_forensics.events.rebalancing import AssignmentReceived
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Rebalance

MOVES = 3


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """At least three moves in a row of the leadership between the same members."""
    run: list[AssignmentReceived] = []
    members: frozenset[str | None] | None = None
    leader: str | None = None
    for generation in timeline.generations:
        now = frozenset(m.member_id for m in generation.members)
        if generation.leader is None:
            continue
        moved = now == members and generation.leader != leader and not _is_followup(timeline, generation.generation)
        run = [*run, *_received(timeline, generation.generation)] if moved else []
        members, leader = now, generation.leader
        if len(run) == MOVES:
            claims: tuple[Rebalance, ...] = tuple(r for r in timeline.rebalances if any(e in run for e in r.events))
            yield Finding(
                because=tuple(run),
                culprits=(the_group(timeline),),
                confidence=PROBABLE,
                severity="warning",
                claims=claims,
                narrative="The leader changed at every rebalance though no member came or went.",
            )


def _is_followup(timeline: Timeline, generation: int) -> bool:
    return any(r.followup for r in timeline.rebalances if r.generation == generation)


def _received(timeline: Timeline, generation: int) -> list[AssignmentReceived]:
    return [
        e for e in timeline.of(AssignmentReceived) if isinstance(e, AssignmentReceived) and e.generation == generation
    ]


RULE = Rule(
    summary="Leadership moves at every rebalance without members changing.",
    mechanism=(
        "The coordinator keeps the leader as long as it rejoins. A leader that is always late loses the "
        "role, and an assignor with state in the leader starts anew each time."
    ),
    signs="Another leader in every generation, the same members.",
    remedy="Find why the leader rejoins late: slow poll loops, long rebalance listeners.",
    usual="fault",
    rank=50,
    diagnose=diagnose,
)
