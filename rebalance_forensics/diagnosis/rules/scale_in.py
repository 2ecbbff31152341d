"""Members were removed for good."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, runs, sure_it_stays_away, touched
from rebalance_forensics.diagnosis.comings import closings, shutdowns
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.finding import PROBABLE, Finding, Rule
from rebalance_forensics.diagnosis.last_words import exception_before
from rebalance_forensics.timeline.build import Timeline

ONE_SCALING_MS = 120_000


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Members that closed in good order and did not come back, while others stayed."""
    last = {id(d) for group in shutdowns(timeline) for a in group for d in a.departures}
    gone = [
        a
        for a in closings(timeline)
        if a.back_at is None and id(a.departures[0]) not in last and not exception_before(timeline, a)
    ]
    for group in runs(gone, lambda a: a.at, ONE_SCALING_MS):
        actors = [a.actor for a in group]
        facts = tuple(f for a in group for f in a.facts())
        told = all(a.actor.has_log for a in group)
        yield Finding(
            because=distinct_events(e for a in group for e in a.events()),
            culprits=culprits_of(timeline, actors),
            confidence=min(sure_it_stays_away(timeline, a) if told else PROBABLE for a in group),
            severity="info",
            claims=(*facts, *touched(timeline, facts)),
            core=tuple(d for a in group for d in a.departures),
            narrative=f"{len(set(actors))} of {len(timeline.actors())} members closed in good order and stayed away.",
        )


RULE = Rule(
    summary="Members were removed for good.",
    mechanism=(
        "Each close sends LeaveGroup and causes a rebalance among the rest. A Streams instance sends "
        "none: its members are evicted when their session expires."
    ),
    signs="Leaves without joins; the log of the member shows a clean close without an exception before it.",
    remedy="Nothing to do. Static membership does not help here; fewer, larger steps cause fewer rebalances.",
    usual="planned",
    rank=36,
    diagnose=diagnose,
    settings=("session.timeout.ms", "num.standby.replicas"),
)
