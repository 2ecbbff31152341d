"""Members were added."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, only_listed, runs, touched
from rebalance_forensics.diagnosis.comings import born_with_the_group, successors
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.finding import GUESS, LIKELY, Finding, Rule
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Arrival

ONE_SCALING_MS = 120_000
NO_SWAP_MS = 15_000
_LISTED = "; only the leader's list names them, so they may as well be back from a restart"
ONE_PROCESS_MS = 10_000
"""The threads of a process that starts ask to join within this time of each other."""


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Members never seen before that came while others were in."""
    born = born_with_the_group(timeline) | {id(a) for came in successors(timeline).values() for a in came}
    new = [a for a in timeline.arrivals if id(a) not in born and (a.first or _is_added_thread(timeline, a))]
    for group in runs(new, lambda a: a.at, ONE_SCALING_MS):
        actors = [a.actor for a in group]
        listed = all(only_listed(a) for a in group)
        yield Finding(
            because=distinct_events(
                e for a in group for e in (*a.events[:2], *(a.start.events[:1] if a.start else ()))
            ),
            culprits=culprits_of(timeline, actors),
            confidence=GUESS if listed else LIKELY,
            severity="info",
            claims=(*group, *touched(timeline, group)),
            core=tuple(group),
            narrative=f"{_counted(len(set(actors)))} joined a group that already had some{_LISTED if listed else ''}.",
        )


def _is_added_thread(timeline: Timeline, arrival: Arrival) -> bool:
    """One more member of an instance that has been in for a while and of which none has ever gone (KIP-663)."""
    if arrival.actor.kind != "instance" or arrival.after is not None:
        return False
    if not timeline.arrivals.of(arrival.actor).any_between(0, arrival.at - ONE_PROCESS_MS):
        return False
    return timeline.departures.of(arrival.actor).last(arrival.at + NO_SWAP_MS) is None


def _counted(number: int) -> str:
    return "A new member" if number == 1 else f"{number} new members"


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
