"""Members were added."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, only_listed, runs, touched
from rebalance_forensics.diagnosis.cause import DECISIVE, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.departures_and_restarts import born_with_the_group, successors
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import NO_SWAP_MS, ONE_PROCESS_MS, ONE_SCALING_MS

_LISTED = "; only the leader's list names them, so they may as well be back from a restart"
NEWCOMERS = stated("new-members-joined", present="members never seen before joined while others were in")
ONLY_LISTED = stated(
    "new-in-a-list", present="only the leader's list names them, so they may as well be back from a restart"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members never seen before that came while others were in."""
    born = born_with_the_group(timeline) | {a.id for came in successors(timeline).values() for a in came}
    new = [a for a in timeline.arrivals if a.id not in born and (a.first or _is_added_thread(timeline, a))]
    for group in runs(new, lambda a: a.at, ONE_SCALING_MS):
        actors = [a.actor for a in group]
        listed = all(only_listed(a) for a in group)
        yield Hypothesis(
            because=distinct_events(
                e for a in group for e in (*a.events[:2], *(a.start.events[:1] if a.start else ()))
            ),
            culprits=culprits_of(timeline, actors),
            answers={ONLY_LISTED if listed else NEWCOMERS: Present(tuple(e for a in group for e in a.events[:1]))},
            severity="info",
            brings=(*group, *touched(timeline, group)),
            explains=tuple(group),
            actors=tuple(dict.fromkeys(actors)),
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


CAUSE = Cause(
    summary="Members were added.",
    mechanism="Each newcomer makes the coordinator rebalance, under eager protocols with a stop of the whole group.",
    shows="Joins without leaves, under names never seen before.",
    remedy=(
        "Nothing to do. Add members together rather than one by one; cooperative rebalancing keeps the others reading."
    ),
    usual="planned",
    propose=propose,
    signs=(speaks_for(NEWCOMERS, DECISIVE), speaks_for(ONLY_LISTED, 0)),
    lookalikes=("rolling-restart", "startup", "shared-group-id"),
    settings=("group.initial.rebalance.delay.ms", "partition.assignment.strategy", "group.protocol"),
    kips=("KIP-429", "KIP-848"),
)
