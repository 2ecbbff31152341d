"""Members were added."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members.counted_growth import counted_growths
from rebalance_forensics.diagnosis.episodes.members.scaling_steps import additions
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.scaling import about_additions, about_growth
from rebalance_forensics.diagnosis.signs import newcomers
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members never seen before that came while others were in, or that only the coordinator's counts tell of."""
    yield from (about_additions(timeline, arrivals) for arrivals in additions(timeline))
    yield from (about_growth(timeline, growth) for growth in counted_growths(timeline))


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
    signs=(
        speaks_for(newcomers.NEWCOMERS, DECISIVE),
        speaks_for(newcomers.PICKED, 0),
        speaks_for(newcomers.PICKED_AND_COUNTED, STRONG),
        speaks_for(newcomers.JUST_BEGUN, WEAK),
        speaks_for(newcomers.JUST_ENDED, WEAK),
        speaks_for(newcomers.STILL_FORMING, 0),
        speaks_for(newcomers.IN_PLACE_OF_OTHERS, WEAK),
        speaks_for(newcomers.COUNTED, STRONG),
        speaks_for(newcomers.PICKED_COUNTS, WEAK),
        speaks_for(newcomers.ONLY_LISTED, 0),
        speaks_for(newcomers.ALONE, 0),
    ),
    lookalikes=("rolling-restart", "startup", "shared-group-id"),
    settings=("group.initial.rebalance.delay.ms", "partition.assignment.strategy", "group.protocol"),
    kips=("KIP-429", "KIP-848"),
)
