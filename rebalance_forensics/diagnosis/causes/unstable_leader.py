"""Leadership moves at every rebalance while the members stay the same.

What happened: at least three generations in a row have another leader and the same members. One hypothesis for each
such run; its sign is LEADER_MOVED, or LEADER_MOVED_AMONG_AS_MANY where the coordinator counts members without naming
them. Follow-up rebalances (cooperative, probing) do not count. The advice is to find out why the leader rejoins late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import STRONG, WEAK, Present, clue
from rebalance_forensics.diagnosis.wording.culprits import the_group
from rebalance_forensics.diagnosis.wording.durations import span
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import AssignmentComputed, AssignmentReceived
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import Generation

MOVES = 3
LEADER_MOVED = clue(
    "leader-moved-each-time", STRONG, "each of these generations was led by a different one of the same members"
)
LEADER_MOVED_AMONG_AS_MANY = clue(
    "leader-moved-among-as-many", WEAK, "each of these generations had another leader and as many members"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """One hypothesis for each run of leader changes whose assignments are logged."""
    for moves in leader_moves(timeline):
        lines = moves.lines
        if lines:
            yield Hypothesis(
                because=lines,
                culprits=(the_group(timeline),),
                clues={LEADER_MOVED_AMONG_AS_MANY if moves.counted else LEADER_MOVED: Present(lines)},
                severity="warning",
                explains=moves.rebalances,
                narrative=f"The leader changed in {moves.count} rebalances in a row although "
                f"{'there were as many members each time' if moves.counted else 'no member joined or left'}.",
                advice=keep_the_leader(
                    moves.count, lines, static=all(m.instance_ids for m in timeline.membership.members)
                ),
            )


CAUSE = Cause(
    summary="Leadership moves in every rebalance while the members stay the same.",
    mechanism=(
        "The coordinator keeps the leader as long as it rejoins. A leader that is always late loses the "
        "role, and an assignor that keeps state in the leader starts from nothing each time."
    ),
    shows="Another leader in every generation, the same members.",
    remedy="Find out why the leader rejoins late: slow poll loops, long rebalance listeners.",
    usual="fault",
    propose=propose,
    settings=("max.poll.interval.ms", "heartbeat.interval.ms"),
)


def leader_moves(timeline: Timeline) -> Iterator[LeaderMoves]:
    """Runs of at least MOVES changes of the leader among the same members."""
    run: list[tuple[Generation, Generation]] = []
    before: Generation | None = None
    for generation in timeline.generations:
        if generation.leader is None:
            continue
        if before is not None and _leader_changed(timeline, before, generation):
            run.append((before, generation))
        else:
            yield from _in_a_row(timeline, run)
            run = []
        before = generation
    yield from _in_a_row(timeline, run)


class LeaderMoves(Struct, frozen=True):
    """Changes of the leader in generations that follow one another.

    `lines` are the leaders' assignments, the first by the leader that was replaced first; `counted` if they only show
    how many members there were.
    """

    count: int
    rebalances: tuple[Rebalance, ...]
    lines: tuple[Event, ...]
    counted: bool = False


def _leader_changed(timeline: Timeline, before: Generation, generation: Generation) -> bool:
    """True if another member leads although the members are the same, or, where no line names them, as many."""
    leaders = [timeline.participants.of_member(g.leader) for g in (before, generation)]
    if leaders[0] is leaders[1] or not (_same_members(before, generation) or _as_many(timeline, before, generation)):
        return False
    return generation.generation not in timeline.cached(_follow_ups)


def _same_members(before: Generation, generation: Generation) -> bool:
    return bool(before.members) and _members(before) == _members(generation)


def _members(generation: Generation) -> frozenset[str | None]:
    return frozenset(m.instance_id or m.client_id or m.member_id for m in generation.members)


def _as_many(timeline: Timeline, before: Generation, generation: Generation) -> bool:
    """True if the coordinator counted as many members in two adjacent generations and named none of them."""
    if before.members or generation.members or generation.generation != before.generation + 1:
        return False
    counts = timeline.membership.sizes
    count = counts.get(generation.generation)
    return count is not None and count == counts.get(before.generation)


def _follow_ups(timeline: Timeline) -> set[int | None]:
    return {r.generation for r in timeline.rebalances if r.followup}


def _in_a_row(timeline: Timeline, run: list[tuple[Generation, Generation]]) -> Iterator[LeaderMoves]:
    if len(run) >= MOVES:
        numbers, first = {g.generation for _, g in run}, run[0][0].generation
        assignments = timeline.of(AssignmentReceived, AssignmentComputed)
        yield LeaderMoves(
            len(run),
            tuple(r for r in timeline.rebalances if r.generation in numbers),
            tuple(e for e in assignments if getattr(e, "generation", None) in numbers | {first}),
            counted=not all(_same_members(*move) for move in run),
        )


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
