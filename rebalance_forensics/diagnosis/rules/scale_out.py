"""Members were added."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.comings import startup_arrivals, successors
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.episodes import distinct_events, runs, touched
from rebalance_forensics.diagnosis.finding import LIKELY, Finding, Rule
from rebalance_forensics.diagnosis.model import RuledOut
from rebalance_forensics.timeline.build import Timeline

ONE_SCALING_MS = 120_000


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Members never seen before that came while others were in."""
    born = {id(a) for run in startup_arrivals(timeline) for a in run}
    born |= {id(a) for arrivals in successors(timeline).values() for a in arrivals}
    new = [a for a in timeline.arrivals if a.first and id(a) not in born]
    for group in runs(new, lambda a: a.at, ONE_SCALING_MS):
        actors = [a.actor for a in group]
        yield Finding(
            because=distinct_events(
                e for a in group for e in (*a.events[:2], *(a.start.events[:1] if a.start else ()))
            ),
            culprits=culprits_of(timeline, actors),
            confidence=LIKELY,
            severity="info",
            claims=(*group, *touched(timeline, group)),
            core=tuple(group),
            narrative=f"{len(set(actors))} new members joined a group that already had some.",
            ruled_out=(RuledOut(cause="rolling-restart", why="nobody left for them"),),
        )


RULE = Rule(
    summary="Members were added.",
    mechanism="Each newcomer makes the coordinator rebalance, under eager protocols with a stop of the whole group.",
    signs="Joins without leaves, under names never seen before.",
    remedy=(
        "Nothing to do. Add members together rather than one by one; cooperative rebalancing keeps the others reading."
    ),
    usual="planned",
    rank=37,
    diagnose=diagnose,
    settings=("group.initial.rebalance.delay.ms", "partition.assignment.strategy", "group.protocol"),
    kips=("KIP-429", "KIP-848"),
)
