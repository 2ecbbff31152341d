"""A member unsubscribed."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import absences, distinct_events, touched
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.departures_and_restarts import ended_with_its_process
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.signs import departures
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members whose leave reason is that they unsubscribed."""
    for away in absences(timeline, ("unsubscribed",)):
        if ended_with_its_process(away):
            continue
        facts = away.facts()
        name = culprits_of(timeline, [away.actor])[0].name
        yield Hypothesis(
            because=distinct_events(away.events()),
            culprits=culprits_of(timeline, [away.actor]),
            severity="info",
            brings=(*facts, *touched(timeline, facts)),
            explains=tuple(away.departures),
            actors=(away.actor,),
            absences=(away,),
            narrative=f"{name} unsubscribed from all topics and left the group"
            + (", and subscribed again later." if away.back_at is not None else "."),
        )


CAUSE = Cause(
    summary="A member unsubscribed from all topics and thereby left the group.",
    mechanism="unsubscribe() sends LeaveGroup; the consumer object stays open and may subscribe again as a new member.",
    shows="Leave reason 'the consumer unsubscribed from all topics'.",
    remedy="Use pause() instead of unsubscribe() to stop reading for a while.",
    usual="planned",
    propose=propose,
    signs=(speaks_for(departures.unsubscribe_logged, DECISIVE + WEAK),),
    brings=("member-left", "scaling-flap"),
    lookalikes=("member-left", "scale-in"),
    kips=("KIP-800",),
)
