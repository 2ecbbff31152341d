"""An instance came back with a different application.server."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, touched, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.diagnosis.seen import client_log
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Present, Unobservable, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, names_of
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import SettingsReported
from rebalance_forensics.events.streams import FollowUpScheduled
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Fact, Rebalance, Request, StaticReturn, fact_at
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
# Evidence of a new endpoint.
ASKING = (FollowUpScheduled, Request)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members told to rebalance again because their host endpoint is new; without their logs, a return that asks."""
    yield from (about_new_endpoint(timeline, change) for change in endpoint_changes(timeline))
    yield from (about_followed_return(timeline, followed) for followed in followed_returns(timeline))


CAUSE = Cause(
    summary="An instance came back with a different application.server.",
    mechanism=(
        "Instances tell each other where to query state. A static member that returns with another "
        "endpoint makes the group rebalance once more, so that all instances learn it."
    ),
    shows="'Requested to schedule immediate rebalance to update group with new host endpoint'.",
    remedy="Nothing to do; a stable host name (StatefulSet) avoids it.",
    usual="planned",
    propose=propose,
    evidence_types=ASKING,
    implies=(
        *("static-member-restart", "static-member-expired", "rolling-restart", "member-left"),
        *("scale-out", "process-crash"),
    ),
    lookalikes=("rolling-restart", "probing-loop"),
    settings=("application.server",),
    kips=("KIP-441",),
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
        clues={NEW_ENDPOINT: Present((change.followup,))},
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
        clues={NEW_ENDPOINT: Unobservable(unseen), ASKED_ON_RETURN: Present(followed.lines)},
        followups=("endpoint",),
        narrative=(
            f"{names_of(culprits)} came back in time and asked for a rebalance at once, as a Streams "
            "instance with a new application.server does."
        ),
    )


class EndpointChange(Struct, frozen=True):
    """An instance with a new endpoint: the line that asks for a follow-up rebalance, and the facts that go with it."""

    participant: Participant
    followup: FollowUpScheduled
    facts: tuple[Fact, ...]


class FollowedReturn(Struct, frozen=True):
    """Static members that came back without a rebalance, and the follow-up rebalance that one of them requested."""

    participants: tuple[Participant, ...]
    returns: tuple[StaticReturn, ...]
    request: Request
    rebalances: tuple[Rebalance, ...]

    @property
    def ended_at(self) -> int:
        """When the requested rebalance ended."""
        return max(r.ended_at() for r in self.rebalances)

    def arrivals(self, timeline: Timeline) -> tuple[Arrival, ...]:
        """These members under their new ids, in the leader's next list."""
        came = timeline.arrivals.between(self.returns[0].at, self.ended_at + TICK_MS)
        return tuple(a for a in came if a.participant in self.participants)

    @property
    def lines(self) -> tuple[Event, ...]:
        """The request, then the returns."""
        return distinct_events([*self.request.events, *(e for r in self.returns for e in r.events)])


def endpoint_changes(timeline: Timeline) -> Iterator[EndpointChange]:
    """Members that scheduled a follow-up rebalance because their host endpoint is new."""
    initial = initial_arrivals(timeline)
    for event in timeline.of(FollowUpScheduled):
        participant = timeline.participants.of_speaker(event)
        if event.kind != "endpoint" or participant is None or event.at is None:
            continue
        start, until = timeline.starts.of(participant).last(event.at), event.at + NEXT_HEARTBEAT_MS
        begin = start.at - PROCESS_START_MS if start is not None else event.at - PROCESS_START_MS
        moves = [m for m in timeline.moves(begin, until, participant) if m.id not in initial]
        returns = timeline.returns.of(participant).between(begin, until)
        asked = timeline.requests.between(event.at - PROCESS_START_MS, event.at + REQUEST_TIMEOUT_MS)
        yield EndpointChange(participant, event, (*moves, *returns, *asked))


def endpoints_configured(timeline: Timeline, participant: Participant, until: int) -> list[SettingsReported]:
    """The last two logged configurations with an endpoint, from logs of this participant alone."""
    dumps = (e for e in timeline.of(SettingsReported).between(0, until) if endpoint_in(e))
    return [e for e in dumps if {*timeline.participants.at_place(e)} == {participant}][-2:]


def consumer_configured(timeline: Timeline, change: EndpointChange) -> list[SettingsReported]:
    """The configuration of the requesting consumer, which names client and group."""
    name = change.followup.speaker.thread or change.followup.speaker.client_id
    dumps = timeline.events_from(change.participant, SettingsReported).between(0, time_of(change.followup))
    return [e for e in dumps if name is not None and dict(e.settings).get("client.id") == name][-1:]


def endpoint_in(event: SettingsReported) -> str | None:
    """The application.server of a Streams configuration; None without one."""
    return dict(event.settings).get("application.server") or None


def followed_returns(timeline: Timeline) -> Iterator[FollowedReturn]:
    """Static Streams members without a log that requested a rebalance right after they came back."""
    # A static member that returns gets its old assignment, so no task is on its way to it; the one thing its assignor
    # still requests at once (StreamsPartitionAssignor.onAssignment) is that the others learn its new endpoint.
    for request in timeline.requests:
        member = request.participant
        if request.why != "followup" or member is None or member.has_log:
            continue
        before = timeline.rebalances.last(request.at - 1)
        since = max(request.at - PROCESS_START_MS, before.ended_at() + 1 if before is not None else 0)
        returns = tuple(timeline.returns.between(since, request.at))
        rebalances = tuple(touched(timeline, [request]))
        probing = any(r.followup == "probing" for r in rebalances)
        if rebalances and not probing and any(r.participant is member for r in returns):
            everybody = tuple(dict.fromkeys([member, *(r.participant for r in returns)]))
            yield FollowedReturn(everybody, returns, request, rebalances)
