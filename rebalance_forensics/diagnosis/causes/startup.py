"""The group forms from empty."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, touched
from rebalance_forensics.diagnosis.cause import DECISIVE, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import the_group
from rebalance_forensics.diagnosis.departures_and_restarts import startup_arrivals
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import LAST_JOINED_MS

FROM_EMPTY = stated("joined-an-empty-group", present="the group was empty, and these members joined it together")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every time members arrive at an empty group, one soon after another."""
    for run in startup_arrivals(timeline):
        actors = [a.actor for a in run]
        yield Hypothesis(
            because=distinct_events(e for a in run for e in a.events[:2]),
            culprits=(the_group(timeline, actors),),
            severity="info",
            brings=(*run, *(r for r in touched(timeline, run) if r.started_at <= run[-1].at + LAST_JOINED_MS)),
            explains=tuple(run),
            actors=tuple(dict.fromkeys(actors)),
            answers={FROM_EMPTY: Present(tuple(e for a in run for e in a.events[:1]))},
            narrative=f"Group started: {_counted(len(set(actors)))} joined.",
        )


def _counted(number: int) -> str:
    return "one member" if number == 1 else f"{number} members"


CAUSE = Cause(
    summary="The group started from empty; its first rebalances are expected.",
    mechanism=(
        "Members arrive at an Empty group. The coordinator waits group.initial.rebalance.delay.ms for "
        "more of them, then creates the first generation; whoever comes later makes another one."
    ),
    shows="Arrivals in state Empty, old generation 0, or process starts of all members.",
    remedy="Nothing to do. Many small generations at start: raise group.initial.rebalance.delay.ms.",
    usual="benign",
    propose=propose,
    signs=(speaks_for(FROM_EMPTY, DECISIVE),),
    brings=("scale-out",),
    settings=("group.initial.rebalance.delay.ms",),
    kips=("KIP-134", "KIP-394"),
)
