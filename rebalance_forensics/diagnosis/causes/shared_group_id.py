"""Two applications use one group.id."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.deployments import separate_group_ids
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, with_rebalances
from rebalance_forensics.diagnosis.episodes.topics.disjoint_subscriptions import intruders
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.diagnosis.wording.narratives import share_a_group_id
from rebalance_forensics.timeline.group_timeline import Timeline

NO_TOPIC_IN_COMMON = stated("no-topic-in-common", present="its members read different topics, none of them in common")
UNLIKE_NAMES = stated("unlike-client-ids", present="its newcomers have client ids of a different form than all others")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members whose subscriptions have no topic in common, blaming those that came later or are fewer."""
    found = intruders(timeline)
    if found is None:
        return
    moves = found.moves(timeline)
    yield Hypothesis(
        because=found.lines,
        culprits=culprits_of(timeline, found.members),
        answers={UNLIKE_NAMES if found.by_names_alone else NO_TOPIC_IN_COMMON: Present(distinct_events(found.lines))},
        participants=found.members,
        severity="info" if found.by_names_alone else "warning",
        onset=min((move.at for move in moves), default=None),
        brings=with_rebalances(timeline, moves),
        narrative=share_a_group_id([a.name for a in found.members], by_names_alone=found.by_names_alone),
        advice=separate_group_ids(len(found.members), len(moves)),
    )


CAUSE = Cause(
    summary="Two applications use one group.id.",
    mechanism=(
        "The coordinator knows only the group. Members with other topics take part in every rebalance, "
        "get no partitions of the others' topics, and disturb them with every start and stop."
    ),
    shows="Disjoint subscriptions, or client ids of different forms, within one group.",
    remedy="Use one group.id per application; ACLs on group names enforce it.",
    usual="fault",
    propose=propose,
    signs=(speaks_for(NO_TOPIC_IN_COMMON, DECISIVE), speaks_for(UNLIKE_NAMES, WEAK)),
    brings=("scale-out", "startup", "scaling-flap", "subscription-change"),
    lookalikes=("subscription-change", "scale-out"),
    settings=("group.id", "partition.assignment.strategy"),
)
