"""The leader changes at every rebalance while the members stay the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import STRONG, WEAK, Present, clue
from rebalance_forensics.diagnosis.wording.culprits import the_group
from rebalance_forensics.diagnosis.wording.durations import span
from rebalance_forensics.events.rebalances import AssignmentComputed, AssignmentReceived
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import Generation, Member

# Minimum number of consecutive changes of the leader.
MOVES = 3
LEADER_MOVED = clue(
    "leader-moved-each-time", STRONG, "each of these generations was led by a different one of the same members"
)
LEADER_MOVED_AMONG_AS_MANY = clue(
    "leader-moved-among-as-many", WEAK, "each of these generations had another leader and as many members"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """A hypothesis for each run of at least MOVES changes of the leader among the same members."""
    led = [generation for generation in timeline.generations if generation.leader is not None]
    follow_ups = {r.generation for r in timeline.rebalances if r.followup}
    moves: list[tuple[Generation, Generation]] = []
    for before, now in pairwise(led):
        if now.generation not in follow_ups and _leader_changed(timeline, before, now):
            moves.append((before, now))
        else:
            yield from about_moves(timeline, moves)
            moves = []
    yield from about_moves(timeline, moves)


CAUSE = Cause(
    propose=propose,
)


def about_moves(timeline: Timeline, moves: Sequence[tuple[Generation, Generation]]) -> Iterator[Hypothesis]:
    """Changes of the leader in consecutive generations; none if they are too few or no assignment was logged."""
    if len(moves) < MOVES:
        return
    numbers, first, count = {g.generation for _, g in moves}, moves[0][0].generation, len(moves)
    assignments = timeline.of(AssignmentReceived, AssignmentComputed)
    # Including the assignment of the first leader.
    lines = tuple(e for e in assignments if getattr(e, "generation", None) in numbers | {first})
    named = all(_same_members(*move) for move in moves)
    find = Advice(
        action="Find out why the leader rejoins late: slow poll loops, long rebalance listeners, restarts.",
        why=f"Leadership moved in {count} rebalances in a row{span(lines)}; a leader that rejoins in time keeps it.",
    )
    name = Advice(
        action="Give each member a group.instance.id (static membership).",
        why="A static leader stays the leader when it is restarted.",
        cost="A static member that is really gone is noticed only after session.timeout.ms.",
    )
    if lines:
        yield Hypothesis(
            because=lines,
            culprits=(the_group(timeline),),
            clues={LEADER_MOVED if named else LEADER_MOVED_AMONG_AS_MANY: Present(lines)},
            severity="warning",
            explains=tuple(r for r in timeline.rebalances if r.generation in numbers),
            narrative=f"The leader changed in {count} rebalances in a row although "
            f"{'no member joined or left' if named else 'there were as many members each time'}.",
            advice=(find,) if all(m.instance_ids for m in timeline.membership.members) else (find, name),
        )


def _leader_changed(timeline: Timeline, before: Generation, now: Generation) -> bool:
    """True if another member leads although the members, or at least their number if unnamed, are the same."""
    leader = timeline.participants.of_member(before.leader)
    if leader is timeline.participants.of_member(now.leader):
        return False
    # The coordinator elects another leader once the former one is evicted or leaves, even if it joins again at once.
    since, until = before.completed_at or before.started_at, now.completed_at or now.started_at
    if leader is not None and since and until and timeline.departures.of(leader).any_between(since, until):
        return False
    # If no line names the members: the coordinator counted equally many in two consecutive generations.
    counts, unnamed = timeline.membership.sizes, not before.members and not now.members
    count = counts.get(now.generation) if unnamed and now.generation == before.generation + 1 else None
    return _same_members(before, now) or (count is not None and count == counts.get(before.generation))


def _same_members(before: Generation, generation: Generation) -> bool:
    names = [_names(each.members) for each in (before, generation)]
    return bool(before.members) and names[0] == names[1]


def _names(members: Sequence[Member]) -> frozenset[str | None]:
    # If several members have one client id, only their member ids show that one of them was replaced.
    names = [m.instance_id or m.client_id or m.member_id for m in members]
    unique = frozenset(names)
    return unique if len(unique) == len(names) else frozenset(m.member_id for m in members)
