"""Join barriers that stood open long: what ended them, and what those waited for logged meanwhile."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_silences import coordinator_silences
from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED, distinct_events
from rebalance_forensics.diagnosis.episodes.rebalances.long_barriers import barrier_end
from rebalance_forensics.diagnosis.sign import Absent, Answer, Need, Present, Subject, Unobservable, looked, sign
from rebalance_forensics.diagnosis.signs.needs import client_log, coordinator_log
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorFound, CoordinatorLost, GroupLoaded
from rebalance_forensics.events.rebalances import HeartbeatFailed, JoinFailed, JoinRequested, SyncFailed
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.membership.lost_membership import is_rebalance_notice
from rebalance_forensics.timeline.timeouts import DEFAULT_MS, HEARTBEAT, SESSION, known_session_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, ROUND_TRIP_MS

_UNREACHABLE = ("COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR")
MOST_LINES = 6
HEARTBEATS_PER_SESSION = 3
"""heartbeat.interval.ms should be no more than a third of session.timeout.ms (ConsumerConfig)."""


def _barriers(subject: Subject) -> list[Rebalance]:
    return [fact for fact in subject.facts if isinstance(fact, Rebalance)]


def _lost_meanwhile(timeline: Timeline, rebalance: Rebalance) -> list[Departure]:
    begin, end = rebalance.started_at - ROUND_TRIP_MS, barrier_end(rebalance) + ROUND_TRIP_MS
    return [d for d in timeline.departures.between(begin, end) if d.why in UNANNOUNCED]


def _ended(rebalance: Rebalance, departure: Departure) -> bool:
    """True if the barrier waited for this expiry alone, and not for other members as well."""
    return departure.why == "session-expired" and departure.at >= barrier_end(rebalance) - ROUND_TRIP_MS


@sign(
    present="the barrier ended when the session of a silent member expired",
    absent="no session expired while the barrier was open",
)
def session_expiry_ended_it(timeline: Timeline, subject: Subject) -> Answer:
    """The group waited for a member that sent no heartbeats, so that its silence is the cause."""
    barriers = _barriers(subject)
    expired = [d for r in barriers for d in _lost_meanwhile(timeline, r) if _ended(r, d)]
    if expired:
        return Present(tuple(e for d in expired for e in d.events))
    logs = [g for r in barriers for g in covering(timeline.coverage.brokers, r.started_at, barrier_end(r))]
    if barriers and logs:
        return Absent(looked(logs, barriers[0].started_at, barrier_end(barriers[-1])))
    return Unobservable((coordinator_log(subject.begin, subject.end),))


@sign(present="a member was lost without a LeaveGroup while the barrier was open", absent="")
def member_lost_meanwhile(timeline: Timeline, subject: Subject) -> Answer:
    """A member was lost meanwhile: an expiry, its own log, or its absence from the next generation shows it."""
    lost = [d for r in _barriers(subject) for d in _lost_meanwhile(timeline, r) if not _ended(r, d)]
    return Present(tuple(e for d in lost for e in d.events)) if lost else Unobservable()


@sign(present="the coordinator moved while the barrier was open, so the members had to find it again first", absent="")
def coordinator_moved_meanwhile(timeline: Timeline, subject: Subject) -> Answer:
    """The group waited for another broker to load it, not for one of its members."""
    loads = [e for r in _barriers(subject) for e in timeline.of(GroupLoaded).between(r.started_at, barrier_end(r))]
    return Present(tuple(loads)) if loads else Unobservable()


@sign(
    present="the coordinator itself stood still: it logged nothing for several times the rebalance timeout", absent=""
)
def coordinator_stood_still(timeline: Timeline, subject: Subject) -> Answer:
    """The barrier stood open because the coordinator did not run, or members missed the next one for that reason."""
    barriers = {r.id for r in _barriers(subject)}
    silences = [s for s in coordinator_silences(timeline) if any(r.id in barriers for r in s.disturbed(timeline))]
    return Present(distinct_events(e for s in silences for e in s.lines)) if silences else Unobservable()


@sign(
    present="the logs do not tell heartbeat.interval.ms: at a third of the session timeout, members hear of it as late",
    absent="",
)
def heartbeats_may_explain(timeline: Timeline, subject: Subject) -> Answer:
    """Members with long heartbeat intervals, which Kafka's documentation allows, would have joined as late."""
    late = [_late_notice(timeline, r, participant) for r in _barriers(subject) for participant in subject.participants]
    if HEARTBEAT in timeline.settings or None in late:
        return Unobservable()
    open_ms = [barrier_end(r) - r.started_at for r in _barriers(subject)]
    rare = (known_session_ms(timeline) or DEFAULT_MS[SESSION]) // HEARTBEATS_PER_SESSION
    explained = open_ms and max(open_ms) <= rare + HEARTBEAT_MS
    return Present(tuple(e for e in late if e is not None)) if explained else Unobservable()


def _late_notice(timeline: Timeline, rebalance: Rebalance, participant: Participant) -> Event | None:
    """The line in which a member hears of a rebalance, if it joins in less time than it took to hear of it."""
    begin, joined = rebalance.started_at, rebalance.joined_at.get(participant)
    if joined is None:
        return None
    responses = timeline.events_from(participant, JoinRequested, HeartbeatFailed).between(begin, joined)
    notice = next((e for e in responses if is_rebalance_notice(e)), None)
    return notice if notice is not None and joined - time_of(notice) < time_of(notice) - begin else None


@sign(
    present="its own log shows that it could not reach the coordinator while the group waited for it",
    absent="its own log shows no trouble with the coordinator while the group waited for it",
)
def coordinator_out_of_reach(timeline: Timeline, subject: Subject) -> Answer:
    """The awaited members looked for their coordinator in vain; a client that does so is polling."""
    barriers, lines, needs = _barriers(subject), list[Event](), list[Need]()
    if not barriers or not subject.participants:
        return Unobservable()
    begin, end = min(r.started_at for r in barriers), max(map(barrier_end, barriers))
    for participant in subject.participants:
        losses = _coordinator_trouble(timeline, participant, begin, end)
        lines += losses[:MOST_LINES]
        logs = covering(timeline.coverage.of(participant), begin, end)
        if not losses and logs:
            return Absent(looked(logs, begin, end))
        needs += [] if losses else [client_log(participant, begin, end)]
    return Present(tuple(lines)) if lines else Unobservable(tuple(needs))


def _coordinator_trouble(timeline: Timeline, participant: Participant, begin: int, end: int) -> list[Event]:
    """Its lines about the coordinator, if they fill half of the barrier or more, or answer its JoinGroup."""
    attempts = timeline.events_from(participant, CoordinatorLost, CoordinatorFound, JoinFailed, SyncFailed).between(
        begin, end
    )
    asked = [e for e in attempts if isinstance(e, JoinFailed | SyncFailed)]
    refused: list[Event] = [e for e in asked if e.error in _UNREACHABLE]
    lost = [e for e in attempts if isinstance(e, CoordinatorLost)]
    if lost:
        found = [time_of(e) for e in attempts if isinstance(e, CoordinatorFound) and time_of(e) > time_of(lost[-1])]
        if 2 * ((found[0] if found else end) - time_of(lost[0])) >= end - begin:
            return sorted([*refused, *lost], key=time_of)
    return refused
