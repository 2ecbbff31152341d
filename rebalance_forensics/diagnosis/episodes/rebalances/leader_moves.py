"""The leadership of a group, where it moves between the same members again and again."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import AssignmentComputed, AssignmentReceived
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import Generation

MOVES = 3


class LeaderMoves(Struct, frozen=True):
    """How often in a row the leader changed, and the rebalances in which it did."""

    count: int
    rebalances: tuple[Rebalance, ...]

    @property
    def lines(self) -> tuple[Event, ...]:
        """The assignments that each leader made."""
        assigned = AssignmentReceived | AssignmentComputed
        return tuple(e for r in self.rebalances for e in r.events if isinstance(e, assigned))


def leader_moves(timeline: Timeline) -> Iterator[LeaderMoves]:
    """At least three moves in a row of the leadership between the same members."""
    run: list[Generation] = []
    before: Generation | None = None
    for generation in timeline.generations:
        if generation.leader is None:
            continue
        if before is not None and _moved(timeline, before, generation):
            run.append(generation)
        else:
            yield from _in_a_row(timeline, run)
            run = []
        before = generation
    yield from _in_a_row(timeline, run)


def _in_a_row(timeline: Timeline, run: list[Generation]) -> Iterator[LeaderMoves]:
    if len(run) >= MOVES:
        numbers = {g.generation for g in run}
        yield LeaderMoves(len(run), tuple(r for r in timeline.rebalances if r.generation in numbers))


def _moved(timeline: Timeline, before: Generation, generation: Generation) -> bool:
    """Another member leads though the members, by whatever id, are the same."""
    leaders = [timeline.participants.of_member(g.leader) for g in (before, generation)]
    if leaders[0] is leaders[1] or _members(before) != _members(generation):
        return False
    return generation.generation not in timeline.remembered(_follow_ups)


def _members(generation: Generation) -> frozenset[str | None]:
    return frozenset(m.instance_id or m.client_id or m.member_id for m in generation.members)


def _follow_ups(timeline: Timeline) -> set[int | None]:
    return {r.generation for r in timeline.rebalances if r.followup}
