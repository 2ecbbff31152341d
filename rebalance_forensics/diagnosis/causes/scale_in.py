"""Members were removed for good."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, runs, touched
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.departures_and_restarts import closings, shutdowns
from rebalance_forensics.diagnosis.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.signs import closings as closes
from rebalance_forensics.diagnosis.signs import returns
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import ONE_SCALING_MS


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that closed in good order and did not come back, while others stayed."""
    last = {d.id for group in shutdowns(timeline) for a in group for d in a.departures}
    gone = [
        a
        for a in closings(timeline)
        if a.back_at is None and a.departures[0].id not in last and not exception_before(timeline, a)
    ]
    for group in runs(gone, lambda a: a.at, ONE_SCALING_MS):
        actors = [a.actor for a in group]
        facts = tuple(f for a in group for f in a.facts())
        yield Hypothesis(
            because=distinct_events(e for a in group for e in a.events()),
            culprits=culprits_of(timeline, actors),
            severity="info",
            brings=(*facts, *touched(timeline, facts)),
            explains=tuple(d for a in group for d in a.departures),
            actors=tuple(dict.fromkeys(actors)),
            absences=tuple(group),
            narrative=f"{len(set(actors))} of {len(timeline.actors())} members shut down cleanly and stayed away.",
        )


CAUSE = Cause(
    summary="Members were removed for good.",
    mechanism=(
        "Each close sends LeaveGroup and causes a rebalance among the rest. A Streams instance sends "
        "none: its members are evicted when their session expires."
    ),
    shows="Leaves without joins; the log of the member shows a clean close without an exception before it.",
    remedy="Nothing to do. Static membership does not help here; fewer, larger steps cause fewer rebalances.",
    usual="planned",
    propose=propose,
    signs=(
        speaks_for(closes.closed, STRONG, absent=DECISIVE),
        speaks_for(closes.shutdown_logged, STRONG),
        speaks_against(closes.error_before_close, DECISIVE),
        speaks_against(returns.came_back, DECISIVE),
        speaks_for(returns.logs_go_on_long_enough, 0, absent=STRONG),
    ),
    lookalikes=("member-left", "process-crash", "rolling-restart"),
    settings=("session.timeout.ms", "num.standby.replicas"),
)
