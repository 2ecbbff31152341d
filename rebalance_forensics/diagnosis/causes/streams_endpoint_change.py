"""An instance came back with another host info (application.server)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import with_rebalances
from rebalance_forensics.diagnosis.episodes.rebalances.endpoint_changes import endpoint_changes
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import fact_at
from rebalance_forensics.timeline.group_timeline import Timeline

NEW_ENDPOINT = stated(
    "new-endpoint", present="its log asks for one more rebalance because its host endpoint (application.server) is new"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that were told to rebalance again because their host endpoint is new."""
    for change in endpoint_changes(timeline):
        culprits = culprits_of(timeline, [change.participant])
        yield Hypothesis(
            because=[change.told, *(e for f in change.facts for e in getattr(f, "events", [])[:2])],
            culprits=culprits,
            severity="info",
            onset=min([time_of(change.told), *map(fact_at, change.facts)]),
            explains=with_rebalances(timeline, change.facts),
            participants=(change.participant,),
            answers={NEW_ENDPOINT: Present((change.told,))},
            followups=("endpoint",),
            narrative=(
                f"{culprits[0].name} came back with another application.server "
                f"({change.told.endpoint or 'unknown'}): one more rebalance told the others."
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
