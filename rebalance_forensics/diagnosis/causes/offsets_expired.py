"""Committed offsets of an empty group were removed."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.brokers import keep_offsets_longer
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.coordinator.expired_offsets import expired_offsets
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import the_group
from rebalance_forensics.events.coordinator import OffsetsExpired
from rebalance_forensics.timeline.group_timeline import Timeline

EXPIRED = stated("offsets-expired", present="a broker removed expired offsets while the group was empty")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Expirations that concern this group: named, or counted while it was empty."""
    found = expired_offsets(timeline)
    if found is not None:
        yield Hypothesis(
            because=(*found.expired, *found.emptied[-2:]),
            culprits=(the_group(timeline, timeline.members()),),
            answers={EXPIRED: Present(found.expired)},
            severity="warning",
            onset=found.expired[0].at,
            narrative=(
                "Committed offsets of the empty group expired: when its members come back they start at "
                "auto.offset.reset."
            ),
            advice=keep_offsets_longer(timeline, found.empty_for_ms),
        )


CAUSE = Cause(
    summary="Committed offsets of an empty group were removed.",
    mechanism=(
        "offsets.retention.minutes after a group became empty (or a topic lost its last subscriber) the "
        "coordinator removes its offsets; the next start reads from auto.offset.reset."
    ),
    shows="'Removed … expired offsets', 'transitioned to Dead' of an empty group.",
    remedy="Raise offsets.retention.minutes; reset the offsets by hand before the group starts again.",
    usual="fault",
    propose=propose,
    told_by=(OffsetsExpired,),
    signs=(speaks_for(EXPIRED, DECISIVE + WEAK),),
    settings=("offsets.retention.minutes", "auto.offset.reset"),
    kips=("KIP-186", "KIP-211"),
)
