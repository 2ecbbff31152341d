"""Leadership moves at every rebalance without members changing."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.assignors import keep_the_leader
from rebalance_forensics.diagnosis.cause import STRONG, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.rebalances.leader_moves import leader_moves
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import the_group
from rebalance_forensics.timeline.group_timeline import Timeline

LEADER_MOVED = stated(
    "leader-moved-each-time", present="each of these generations was led by a different one of the same members"
)

LEADER_MOVED_AMONG_AS_MANY = stated(
    "leader-moved-among-as-many", present="each of these generations had another leader and as many members"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """At least three moves in a row of the leadership between the same members."""
    for moves in leader_moves(timeline):
        told = moves.lines
        if told:
            yield Hypothesis(
                because=told,
                culprits=(the_group(timeline),),
                answers={LEADER_MOVED_AMONG_AS_MANY if moves.counted else LEADER_MOVED: Present(told)},
                severity="warning",
                explains=moves.rebalances,
                narrative=f"The leader changed in {moves.count} rebalances in a row although "
                f"{'there were as many members each time' if moves.counted else 'no member joined or left'}.",
                advice=keep_the_leader(moves.count, told, static=all(m.instance_ids for m in timeline.members())),
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
    signs=(speaks_for(LEADER_MOVED, STRONG), speaks_for(LEADER_MOVED_AMONG_AS_MANY, WEAK)),
    settings=("max.poll.interval.ms", "heartbeat.interval.ms"),
)
