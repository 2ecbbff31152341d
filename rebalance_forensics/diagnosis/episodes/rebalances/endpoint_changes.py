"""Streams instances that came back with another application.server (KIP-441)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, touched
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import SettingsReported
from rebalance_forensics.events.streams import FollowUpScheduled
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Fact, Rebalance, Request, StaticReturn
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import NEXT_HEARTBEAT_MS, PROCESS_START_MS, REQUEST_TIMEOUT_MS, TICK_MS

ASKING = (FollowUpScheduled, Request)
"""Evidence of a new endpoint."""


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
