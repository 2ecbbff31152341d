"""The three things to look at in a rebalancing group: who leads, when, and who takes part."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_forensics.diagnosis.close_together import Burst, close_together_of
from rebalance_forensics.diagnosis.participants import Leadership, Participation, leadership_of, participants_of
from rebalance_forensics.diagnosis.rounds import rounds_of
from rebalance_forensics.diagnosis.spacing import Spacing, spacings_of
from rebalance_forensics.timeline.build import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Tips:
    """Leadership, timing and membership of one group's rebalances; every field is plain data."""

    leadership: Leadership
    close_together: tuple[Burst, ...]
    spacings: tuple[Spacing, ...]
    participants: tuple[Participation, ...]


def tips(timeline: Timeline) -> Tips:
    """All three, from one walk over the rebalances."""
    rounds = rounds_of(timeline)
    return Tips(
        leadership=leadership_of(rounds),
        close_together=close_together_of(timeline, rounds),
        spacings=spacings_of(timeline, rounds),
        participants=participants_of(rounds),
    )
