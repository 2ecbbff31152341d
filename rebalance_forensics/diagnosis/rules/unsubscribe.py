"""A member unsubscribed."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import absences, distinct_events, touched
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.finding import CERTAIN, Finding, Rule
from rebalance_forensics.timeline.build import Timeline


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Members whose leave reason is that they unsubscribed."""
    for away in absences(timeline, ("unsubscribed",)):
        facts = away.facts()
        name = culprits_of(timeline, [away.actor])[0].name
        yield Finding(
            because=distinct_events(away.events()),
            culprits=culprits_of(timeline, [away.actor]),
            confidence=CERTAIN,
            severity="info",
            claims=(*facts, *touched(timeline, facts)),
            core=tuple(away.departures),
            narrative=f"{name} unsubscribed from all topics and left the group"
            + (", and subscribed again later." if away.back_at is not None else "."),
        )


RULE = Rule(
    summary="A member unsubscribed from all topics and thereby left the group.",
    mechanism="unsubscribe() sends LeaveGroup; the consumer object stays open and may subscribe again as a new member.",
    signs="Leave reason 'the consumer unsubscribed from all topics'.",
    remedy="Use pause() instead of unsubscribe() to stop reading for a while.",
    usual="planned",
    rank=20,
    diagnose=diagnose,
    kips=("KIP-800",),
)
