"""Members were added."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import only_listed, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.circumstances import others_in
from rebalance_forensics.diagnosis.episodes.members.scaling_steps import additions
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.timeline.group_timeline import Timeline

NEWCOMERS = stated("new-members-joined", present="members never seen before joined a running group")
ONLY_LISTED = stated("new-in-a-list", present="only the leader's list names them, so they may also have been restarted")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members never seen before that came while others were in."""
    for group in additions(timeline):
        participants = tuple(dict.fromkeys(a.participant for a in group))
        listed = all(only_listed(a) for a in group)
        new = "A new member" if len(participants) == 1 else f"{len(participants)} new members"
        doubt = "; only the leader's list names them, so they may also have been restarted" if listed else ""
        yield Hypothesis(
            because=[e for a in group for e in (*a.events[:2], *(a.start.events[:1] if a.start else ()))],
            circumstances=others_in(timeline, [a.at for a in group]),
            culprits=culprits_of(timeline, participants),
            answers={ONLY_LISTED if listed else NEWCOMERS: Present(tuple(e for a in group for e in a.events[:1]))},
            severity="info",
            brings=with_rebalances(timeline, group),
            explains=tuple(group),
            participants=participants,
            narrative=f"{new} joined the running group{doubt}.",
        )


CAUSE = Cause(
    summary="Members were added.",
    mechanism="Each new member makes the coordinator rebalance; under eager protocols the whole group stops.",
    shows="Joins without leaves, under new names.",
    remedy=(
        "Nothing to do. Add members together rather than one by one; with cooperative rebalancing the others "
        "keep reading."
    ),
    usual="planned",
    propose=propose,
    signs=(speaks_for(NEWCOMERS, DECISIVE), speaks_for(ONLY_LISTED, 0)),
    lookalikes=("rolling-restart", "startup", "shared-group-id"),
    settings=("group.initial.rebalance.delay.ms", "partition.assignment.strategy", "group.protocol"),
    kips=("KIP-429", "KIP-848"),
)
