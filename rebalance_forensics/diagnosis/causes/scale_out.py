"""Members were added."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import with_rebalances
from rebalance_forensics.diagnosis.episodes.members.circumstances import others_in
from rebalance_forensics.diagnosis.episodes.members.scaling_steps import additions
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present
from rebalance_forensics.diagnosis.signs.newcomers import NEWCOMERS, ONLY_LISTED, PICKED, shown_to_be_new
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.diagnosis.wording.participants import member
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members never seen before that came while others were in."""
    for group in additions(timeline):
        participants = tuple(dict.fromkeys(a.participant for a in group))
        shown = shown_to_be_new(timeline, group)
        number, what = len(participants), member(timeline, participants)
        new = f"A new {what}" if number == 1 else f"{number} new {what}s"
        yield Hypothesis(
            because=[e for a in group for e in (*a.events[:2], *(a.start.events[:1] if a.start else ()))],
            circumstances=others_in(timeline, [a.at for a in group]),
            culprits=culprits_of(timeline, participants),
            answers={shown: Present(tuple(e for a in group for e in a.events[:1]))},
            severity="info",
            brings=with_rebalances(timeline, group),
            explains=tuple(group),
            participants=participants,
            narrative=f"{new} joined the running group{'' if shown is NEWCOMERS else f'; {shown.present}'}.",
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
    signs=(speaks_for(NEWCOMERS, DECISIVE), speaks_for(PICKED, STRONG), speaks_for(ONLY_LISTED, 0)),
    lookalikes=("rolling-restart", "startup", "shared-group-id"),
    settings=("group.initial.rebalance.delay.ms", "partition.assignment.strategy", "group.protocol"),
    kips=("KIP-429", "KIP-848"),
)
