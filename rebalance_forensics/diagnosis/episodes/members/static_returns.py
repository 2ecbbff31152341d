"""Static members that came back within their session, without a rebalance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.runs import walks
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import InstanceFenced, StaticMemberFenced
from rebalance_forensics.events.rebalances import JoinSucceeded
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact, StaticReturn
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, NEXT_HEARTBEAT_MS, ONE_REBALANCE_MS, REQUEST_TIMEOUT_MS

# Evidence of a return.
RETURNS = (StaticReturn, JoinSucceeded)


class Return(Struct, frozen=True):
    """One static member that came back, and the fact that records it."""

    participant: Participant
    at: int
    events: tuple[Event, ...]
    fact: Fact | None


def static_returns(timeline: Timeline) -> list[list[Return]]:
    """Static members replaced by themselves, shown by the coordinator or by a rejoin of the same generation."""
    fenced = {
        e.instance_id or e.speaker.instance_id
        for e in timeline.of(StaticMemberFenced, InstanceFenced)
        if isinstance(e, StaticMemberFenced | InstanceFenced)
    }
    returns = [Return(r.participant, r.at, tuple(r.events), r) for r in timeline.returns]
    found = [r for r in returns if fenced.isdisjoint(r.participant.instance_ids)]
    logged = TimeIndex(found, lambda r: r.at)
    again = [r for r in _same_generation_again(timeline) if fenced.isdisjoint(r.participant.instance_ids)]
    found += [r for r in again if not _is_logged(logged, r)]
    return walks(found, lambda r: r.at, lambda r: r.participant)


def joins_of(timeline: Timeline, group: Sequence[Return]) -> list[Event]:
    """The answer to each member's JoinGroup, with the generation that the group already had."""
    found: list[Event] = []
    for each in group:
        joined = timeline.events_from(each.participant, JoinSucceeded)
        near = joined.between(each.at - REQUEST_TIMEOUT_MS, each.at + REQUEST_TIMEOUT_MS)
        found += sorted(near, key=lambda e: abs(time_of(e) - each.at))[:1]
    return found


def former_may_still_run(timeline: Timeline, group: Sequence[Return]) -> bool:
    """True if no log shows that the processes had stopped whose places these members took (KIP-345)."""
    # A coordinator log that continues for a session timeout would show them fenced, or rejoining.
    heard_on = timeline.coverage.end - group[-1].at >= session_timeout_ms(timeline)
    return not (timeline.has_coordinator_log and heard_on) and not any(_has_former_process(timeline, r) for r in group)


def _has_former_process(timeline: Timeline, returned: Return) -> bool:
    """True if its log has an earlier process."""
    start = timeline.starts.of(returned.participant).last(returned.at)
    began = returned.at if start is None else start.at
    return timeline.events_from(returned.participant, Event).last(began - 1) is not None


def _is_logged(logged: TimeIndex[Return], rejoin: Return) -> bool:
    """True if the coordinator logs the return that the member shows: no member comes back twice so soon."""
    near = logged.between(rejoin.at - ONE_REBALANCE_MS + 1, rejoin.at + ONE_REBALANCE_MS - 1)
    return any(other.participant is rejoin.participant for other in near)


def facts_of_returns(timeline: Timeline, group: Sequence[Return]) -> tuple[Fact, ...]:
    """The facts that record these returns, and the members' departures and arrivals meanwhile."""
    participants = {r.participant for r in group}
    begin, end = min(r.at for r in group) - ONE_REBALANCE_MS, max(r.at for r in group) + NEXT_HEARTBEAT_MS
    came = [a for a in timeline.arrivals.between(begin, end) if a.participant in participants and not a.first]
    departures = [d for d in timeline.departures.between(begin, end) if d.participant in participants]
    left = [d for d in departures if d.why in ("closed", "vanished", "left")]
    return (*(r.fact for r in group if r.fact is not None), *came, *left)


def _same_generation_again(timeline: Timeline) -> Iterator[Return]:
    """New processes of static members that are answered with the generation that the group already had."""
    reached: dict[int, int] = {}
    for event in timeline.of(JoinSucceeded):
        participant = timeline.participants.of_speaker(event)
        if participant is None or event.at is None:
            continue
        first = reached.setdefault(event.generation, event.at)
        start = timeline.starts.of(participant).last(event.at - 1)
        restarted = start is not None and start.at > first
        if participant.instance_ids and start is not None and restarted and event.at - first > HEARTBEAT_MS:
            since = max(start.at, event.at - REQUEST_TIMEOUT_MS)
            near = timeline.arrivals.of(participant).between(since, event.at + REQUEST_TIMEOUT_MS)
            arrival = near[0] if near else None
            yield Return(participant, event.at, (event,), arrival)
