"""Streams instances that live on: threads that are replaced, a host endpoint that is new."""

from __future__ import annotations

from rebalance_forensics.diagnosis.advice.applications import skip_poison_records
from rebalance_forensics.diagnosis.episodes.members.absences import with_rebalances
from rebalance_forensics.diagnosis.episodes.members.replaced_threads import (
    ReplacedThreads,
    killed_by,
    lines_of_threads,
    moves_of_threads,
    rebalances_of_threads,
)
from rebalance_forensics.diagnosis.episodes.rebalances.endpoint_changes import (
    EndpointChange,
    FollowedReturn,
    consumer_configured,
    endpoint_in,
    endpoints_configured,
)
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, Unobservable, stated
from rebalance_forensics.diagnosis.signs.needs import client_log
from rebalance_forensics.diagnosis.signs.replaced_threads import shown_by
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.diagnosis.wording.narratives import replaced_dying_threads
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import fact_at
from rebalance_forensics.timeline.group_timeline import Timeline

NEW_ENDPOINT = stated(
    "new-endpoint", present="its log asks for one more rebalance because its host endpoint (application.server) is new"
)
ASKED_ON_RETURN = stated(
    "rebalance-asked-on-return",
    present="a static member came back without a rebalance and asked for one at once, as with a new host endpoint",
)


def about_replaced_threads(timeline: Timeline, replaced: ReplacedThreads) -> Hypothesis:
    """Its handler replaced a thread that died."""
    culprits, facts = culprits_of(timeline, [replaced.participant]), moves_of_threads(timeline, replaced)
    return Hypothesis(
        because=lines_of_threads(timeline, replaced, facts),
        culprits=culprits,
        severity="critical" if replaced.count > 2 else "warning",
        explains=(*with_rebalances(timeline, facts), *rebalances_of_threads(timeline, replaced)),
        participants=(replaced.participant,),
        answers=shown_by(replaced),
        narrative=replaced_dying_threads(culprits[0].name, replaced.count, killed_by(timeline, replaced)),
        advice=skip_poison_records(replaced),
    )


def about_new_endpoint(timeline: Timeline, change: EndpointChange) -> Hypothesis:
    """It came back with another host endpoint, and the group rebalanced once more so that all instances learn it."""
    culprits = culprits_of(timeline, [change.participant])
    configured = endpoints_configured(timeline, change.participant, time_of(change.followup))
    after = change.followup.endpoint or (endpoint_in(configured[-1]) if configured else None)
    before = endpoint_in(configured[0]) if len(configured) > 1 else None
    was = f"; it was {before}" if before not in (None, after) else ""
    return Hypothesis(
        because=[change.followup, *(e for f in change.facts for e in getattr(f, "events", [])[:4])],
        circumstances=(*configured, *consumer_configured(timeline, change)),
        culprits=culprits,
        severity="info",
        onset=min([time_of(change.followup), *map(fact_at, change.facts)]),
        explains=with_rebalances(timeline, change.facts),
        participants=(change.participant,),
        answers={NEW_ENDPOINT: Present((change.followup,))},
        followups=("endpoint",),
        narrative=(
            f"{culprits[0].name} came back with a different application.server "
            f"({after or 'unknown'}{was}): one more rebalance announced it to the others."
        ),
    )


def about_followed_return(timeline: Timeline, followed: FollowedReturn) -> Hypothesis:
    """Static members came back, and one of them asked for a rebalance at once; its own log would say why."""
    request = followed.request
    unseen = tuple(client_log(participant, followed.returns[0].at, request.at) for participant in followed.participants)
    culprits = culprits_of(timeline, followed.participants, as_instance=True)
    return Hypothesis(
        because=followed.lines,
        culprits=culprits,
        severity="info",
        onset=followed.returns[0].at,
        implies=followed.arrivals(timeline),
        explains=(*followed.returns, request, *followed.rebalances),
        participants=followed.participants,
        answers={NEW_ENDPOINT: Unobservable(unseen), ASKED_ON_RETURN: Present(followed.lines)},
        followups=("endpoint",),
        narrative=(
            f"{', '.join(c.name for c in culprits)} came back in time and asked for a rebalance at once, as a Streams "
            "instance with a new application.server does."
        ),
    )
