"""The group forms from empty."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, touched
from rebalance_forensics.diagnosis.comings import startup_arrivals
from rebalance_forensics.diagnosis.culprits import the_group
from rebalance_forensics.diagnosis.finding import LIKELY, Finding, Rule
from rebalance_forensics.timeline.build import Timeline


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Every time members arrive at an empty group, one soon after another."""
    for run in startup_arrivals(timeline):
        actors = [a.actor for a in run]
        yield Finding(
            because=distinct_events(e for a in run for e in a.events[:2]),
            culprits=(the_group(timeline, actors),),
            confidence=LIKELY,
            severity="info",
            claims=(*run, *(r for r in touched(timeline, run) if r.started_at <= run[-1].at + 5_000)),
            core=tuple(run),
            narrative=f"The group formed from empty: {_counted(len(set(actors)))} arrived.",
        )


def _counted(number: int) -> str:
    return "one member" if number == 1 else f"{number} members"


RULE = Rule(
    summary="The group formed from empty; its first rebalances are its birth.",
    mechanism=(
        "Members arrive at an Empty group. The coordinator waits group.initial.rebalance.delay.ms for "
        "more of them, then creates the first generation; whoever comes later makes another one."
    ),
    signs="Arrivals in state Empty, old generation 0, or process starts of all members.",
    remedy="Nothing to do. Many small generations at start: raise group.initial.rebalance.delay.ms.",
    usual="benign",
    rank=31,
    diagnose=diagnose,
    settings=("group.initial.rebalance.delay.ms",),
    kips=("KIP-134", "KIP-394"),
)
