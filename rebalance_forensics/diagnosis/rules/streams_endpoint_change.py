"""An instance came back with another host info (application.server)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, touched
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.departures_and_restarts import born_with_the_group
from rebalance_forensics.diagnosis.finding import CERTAIN, Finding, Rule
from rebalance_forensics.events.streams import FollowUpScheduled
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Fact, fact_at

BEFORE_MS = 15_000
STOPPING_MS = 20_000


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Members that were told to rebalance again because their host endpoint is new."""
    for event in timeline.of(FollowUpScheduled):
        actor = timeline.cast.of_speaker(event)
        if event.kind != "endpoint" or actor is None or event.at is None:
            continue
        start = timeline.starts.of(actor).last(event.at)
        begin = start.at - STOPPING_MS if start is not None else event.at - BEFORE_MS
        born = born_with_the_group(timeline)
        facts: list[Fact] = [m for m in timeline.moves(begin, event.at + 5_000, actor) if m.id not in born]
        facts += timeline.returns.of(actor).between(begin, event.at + 5_000)
        facts += timeline.requests.between(event.at - 15_000, event.at + 30_000)
        name = culprits_of(timeline, [actor])[0].name
        yield Finding(
            because=distinct_events([event, *(e for f in facts for e in getattr(f, "events", [])[:2])]),
            culprits=culprits_of(timeline, [actor]),
            confidence=CERTAIN,
            severity="info",
            onset=min([event.at, *(fact_at(f) for f in facts)]),
            claims=(*facts, *touched(timeline, facts)),
            followups=("endpoint",),
            narrative=(
                f"{name} came back with another application.server ({event.endpoint or 'unknown'}): "
                "one more rebalance told the others."
            ),
        )


RULE = Rule(
    summary="An instance came back with another host info (application.server).",
    mechanism=(
        "Instances tell each other where to query state. A static member that returns with another "
        "endpoint makes the group rebalance once more, so that everybody learns it."
    ),
    signs="'Requested to schedule immediate rebalance to update group with new host endpoint'.",
    remedy="Nothing to do; a stable host name (StatefulSet) avoids it.",
    usual="planned",
    rank=15,
    diagnose=diagnose,
    settings=("application.server",),
    kips=("KIP-441",),
)
