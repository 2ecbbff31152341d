"""All members leave."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, touched
from rebalance_forensics.diagnosis.comings import shutdowns
from rebalance_forensics.diagnosis.culprits import the_group
from rebalance_forensics.diagnosis.finding import LIKELY, Finding, Rule
from rebalance_forensics.timeline.build import Timeline


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Every time the last member goes in good order, with those that went shortly before."""
    for group in shutdowns(timeline):
        facts = tuple(f for a in group for f in a.departures)
        stops = tuple(a.stop for a in group if a.stop)
        yield Finding(
            because=distinct_events(e for a in group for e in a.events()),
            culprits=(the_group(timeline, [a.actor for a in group]),),
            confidence=LIKELY,
            severity="info",
            claims=(*facts, *stops, *touched(timeline, facts)),
            core=facts,
            narrative=_told(len({a.actor for a in group})),
        )


def _told(members: int) -> str:
    if members == 1:
        return "The last member closed in good order; the group is empty."
    return f"The last {members} members closed in good order; the group is empty."


RULE = Rule(
    summary="All members left the group in good order.",
    mechanism=(
        "Each close sends LeaveGroup; the coordinator rebalances among those that are left until the group is Empty."
    ),
    signs="Leave reason 'the consumer is being closed' of every member, then 'Group … is now empty'.",
    remedy="Nothing to do. Offsets of an empty group expire after offsets.retention.minutes.",
    usual="benign",
    rank=29,
    diagnose=diagnose,
    settings=("offsets.retention.minutes",),
)
