"""The three things to look at in a rebalancing group: who leads, when, and who takes part."""

from __future__ import annotations

from rebalance_forensics.diagnosis.patterns.participation import leadership_of, participants_of
from rebalance_forensics.diagnosis.patterns.rebalance_bursts import close_together_of
from rebalance_forensics.diagnosis.patterns.rebalance_intervals import spacings_of
from rebalance_forensics.diagnosis.patterns.rebalance_rounds import rounds_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import Reading


def tips(timeline: Timeline) -> Reading:
    """All three, from one walk over the rebalances."""
    rounds = rounds_of(timeline)
    return Reading(
        leadership=leadership_of(rounds),
        close_together=close_together_of(timeline, rounds),
        spacings=tuple(s for s in spacings_of(timeline, rounds) if s.evenly or s.setting is not None),
        participants=participants_of(rounds),
    )
