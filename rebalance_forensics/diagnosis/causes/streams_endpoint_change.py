"""An instance came back with a different application.server."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, touched, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.diagnosis.seen import client_log
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Present, Unobservable, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, names_of
from rebalance_forensics.events.process import SettingsReported
from rebalance_forensics.events.streams import FollowUpScheduled
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact, Request, fact_at
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import NEXT_HEARTBEAT_MS, PROCESS_START_MS, REQUEST_TIMEOUT_MS, TICK_MS

NEW_ENDPOINT = clue(
    "new-endpoint",
    DECISIVE + WEAK,
    "its log asks for one more rebalance because its host endpoint (application.server) is new",
)
ASKED_ON_RETURN = clue(
    "rebalance-asked-on-return",
    STRONG,
    "a static member came back without a rebalance and asked for one at once, as with a new host endpoint",
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that requested a rebalance because of a new host endpoint; without logs, right after their return."""
    for event in timeline.of(FollowUpScheduled):
        participant = timeline.participants.of_speaker(event)
        if event.kind == "endpoint" and participant is not None and event.at is not None:
            yield about_new_endpoint(timeline, participant, event)
    for request in timeline.requests:
        if request.why == "followup" and request.participant is not None and not request.participant.has_log:
            yield from about_followed_return(timeline, request, request.participant)


CAUSE = Cause(
    propose=propose,
    evidence_types=(FollowUpScheduled, Request),
    implies=(
        *("static-member-restart", "static-member-expired", "rolling-restart", "member-left"),
        *("scale-out", "process-crash"),
    ),
    lookalikes=("rolling-restart", "probing-loop"),
)


def about_new_endpoint(timeline: Timeline, participant: Participant, followup: FollowUpScheduled) -> Hypothesis:
    """An instance that came back with a different host endpoint, which one more rebalance announces to the others."""
    at, culprits = time_of(followup), culprits_of(timeline, [participant])
    start = timeline.starts.of(participant).last(at)
    begin, until = (at if start is None else start.at) - PROCESS_START_MS, at + NEXT_HEARTBEAT_MS
    initial = initial_arrivals(timeline)
    facts: list[Fact] = [m for m in timeline.moves(begin, until, participant) if m.id not in initial]
    facts += timeline.returns.of(participant).between(begin, until)
    facts += timeline.requests.between(at - PROCESS_START_MS, at + REQUEST_TIMEOUT_MS)
    # The last two configurations with an endpoint in this participant's logs, and the configuration of the consumer
    # that requested the rebalance, which names client and group.
    dumps = (e for e in timeline.of(SettingsReported).between(0, at) if endpoint_in(e))
    configured = [e for e in dumps if {*timeline.participants.at_place(e)} == {participant}][-2:]
    name = followup.speaker.thread or followup.speaker.client_id
    own_dumps = timeline.events_from(participant, SettingsReported).between(0, at)
    consumer = [e for e in own_dumps if name is not None and dict(e.settings).get("client.id") == name][-1:]
    after = followup.endpoint or (endpoint_in(configured[-1]) if configured else None)
    before = endpoint_in(configured[0]) if len(configured) > 1 else None
    was = f"; it was {before}" if before not in (None, after) else ""
    return Hypothesis(
        because=[followup, *(e for f in facts for e in getattr(f, "events", [])[:4])],
        circumstances=(*configured, *consumer),
        culprits=culprits,
        severity="info",
        onset=min([at, *map(fact_at, facts)]),
        explains=with_rebalances(timeline, facts),
        participants=(participant,),
        clues={NEW_ENDPOINT: Present((followup,))},
        followups=("endpoint",),
        narrative=(
            f"{culprits[0].name} came back with a different application.server "
            f"({after or 'unknown'}{was}): one more rebalance announced it to the others."
        ),
    )


def about_followed_return(timeline: Timeline, request: Request, member: Participant) -> Iterator[Hypothesis]:
    """Static members that came back, one of which requested a rebalance at once; its own log would show why."""
    # A returning static member receives its old assignment, so that no task is moved to it. The only other reason for
    # which its assignor requests a rebalance at once (StreamsPartitionAssignor.onAssignment) is a new endpoint.
    before = timeline.rebalances.last(request.at - 1)
    since = max(request.at - PROCESS_START_MS, before.ended_at() + 1 if before is not None else 0)
    returns, rebalances = timeline.returns.between(since, request.at), touched(timeline, [request])
    probing = any(r.followup == "probing" for r in rebalances)
    if not rebalances or probing or not any(r.participant is member for r in returns):
        return
    returned = tuple(dict.fromkeys([member, *(r.participant for r in returns)]))
    lines = distinct_events([*request.events, *(e for r in returns for e in r.events)])
    # The members' arrivals with their new ids, according to the leader's next list.
    arrivals = timeline.arrivals.between(returns[0].at, max(r.ended_at() for r in rebalances) + TICK_MS)
    unseen = tuple(client_log(participant, returns[0].at, request.at) for participant in returned)
    culprits = culprits_of(timeline, returned, as_instance=True)
    yield Hypothesis(
        because=lines,
        culprits=culprits,
        severity="info",
        onset=returns[0].at,
        implies=tuple(a for a in arrivals if a.participant in returned),
        explains=(*returns, request, *rebalances),
        participants=returned,
        clues={NEW_ENDPOINT: Unobservable(unseen), ASKED_ON_RETURN: Present(lines)},
        followups=("endpoint",),
        narrative=(
            f"{names_of(culprits)} came back in time and asked for a rebalance at once, as a Streams "
            "instance with a new application.server does."
        ),
    )


def endpoint_in(event: SettingsReported) -> str | None:
    """The application.server of a Streams configuration; None without one."""
    return dict(event.settings).get("application.server") or None
