"""An instance came back with another host info (application.server)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, touched
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.departures_and_restarts import born_with_the_group
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.events.streams import FollowUpScheduled
from rebalance_forensics.timeline.facts import Fact, fact_at
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import AROUND_MS, SOON_AFTER_MS, STOPPING_MS, TAKING_OVER_MS

NEW_ENDPOINT = stated(
    "new-endpoint", present="its log asks for one more rebalance because its host endpoint (application.server) is new"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that were told to rebalance again because their host endpoint is new."""
    for event in timeline.of(FollowUpScheduled):
        actor = timeline.cast.of_speaker(event)
        if event.kind != "endpoint" or actor is None or event.at is None:
            continue
        start = timeline.starts.of(actor).last(event.at)
        begin = start.at - STOPPING_MS if start is not None else event.at - AROUND_MS
        born = born_with_the_group(timeline)
        facts: list[Fact] = [m for m in timeline.moves(begin, event.at + SOON_AFTER_MS, actor) if m.id not in born]
        facts += timeline.returns.of(actor).between(begin, event.at + SOON_AFTER_MS)
        facts += timeline.requests.between(event.at - AROUND_MS, event.at + TAKING_OVER_MS)
        name = culprits_of(timeline, [actor])[0].name
        yield Hypothesis(
            because=distinct_events([event, *(e for f in facts for e in getattr(f, "events", [])[:2])]),
            culprits=culprits_of(timeline, [actor]),
            severity="info",
            onset=min([event.at, *(fact_at(f) for f in facts)]),
            explains=(*facts, *touched(timeline, facts)),
            actors=(actor,),
            answers={NEW_ENDPOINT: Present((event,))},
            followups=("endpoint",),
            narrative=(
                f"{name} came back with another application.server ({event.endpoint or 'unknown'}): "
                "one more rebalance told the others."
            ),
        )


CAUSE = Cause(
    summary="An instance came back with another host info (application.server).",
    mechanism=(
        "Instances tell each other where to query state. A static member that returns with another "
        "endpoint makes the group rebalance once more, so that everybody learns it."
    ),
    shows="'Requested to schedule immediate rebalance to update group with new host endpoint'.",
    remedy="Nothing to do; a stable host name (StatefulSet) avoids it.",
    usual="planned",
    propose=propose,
    signs=(speaks_for(NEW_ENDPOINT, DECISIVE + WEAK),),
    brings=(
        *("static-member-restart", "static-member-expired", "rolling-restart", "member-left"),
        *("scale-out", "process-crash"),
    ),
    lookalikes=("rolling-restart", "probing-loop"),
    settings=("application.server",),
    kips=("KIP-441",),
)
