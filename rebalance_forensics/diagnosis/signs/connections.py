"""Members and their brokers: connections and coordinators that they lost, and answers that they got."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.coordinator.broker_outages import NOT_CONNECTED
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.seen import coordinator_log, looked, own_log
from rebalance_forensics.diagnosis.sign import (
    Absent,
    Answer,
    Present,
    Subject,
    Unobservable,
    of_each,
    of_every,
    shown,
    sign,
)
from rebalance_forensics.diagnosis.signs.heartbeats import log_continues
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import timeouts
from rebalance_forensics.timeline.brokers import broker_of
from rebalance_forensics.timeline.clients import given_up_unasked
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import broker_name
from rebalance_forensics.timeline.membership.lost_membership import was_expelled
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, REQUEST_TIMEOUT_MS, ROUND_TRIP_MS

# Requests that a coordinator answers at once, and the one that any broker answers so while a member looks for it.
_ANSWERED_AT_ONCE = ("HEARTBEAT", "OFFSET_COMMIT", "CONSUMER_GROUP_HEARTBEAT", "FIND_COORDINATOR")
BY_ITSELF = "client requested disconnect"
"""The cause of a disconnect that is the client's own doing."""


@of_each("its own log shows lost connections to the brokers", "its own log shows no lost connections while it was away")
def disconnects(timeline: Timeline, absence: Absence) -> Answer:
    """The member could not reach the brokers while it was silent."""
    trouble = troubled(timeline, absence)
    if trouble:
        return Present(tuple(trouble[:6]))
    if failed := failed_requests(absence):
        return Present(tuple(failed))
    session = timeouts.session_timeout_ms(timeline)
    until = absence.back_at if absence.back_at is not None else absence.at + HEARTBEAT_MS
    logs = covering(timeline.coverage.of(absence.participant), absence.at - session, until)
    # A classic client that is cut off gives up its coordinator when its own session is over; later ones log nothing
    # until a request times out.
    needed = session if timeouts.is_set_by_clients(timeline.protocol) else REQUEST_TIMEOUT_MS
    alive = bool(logs) and isinstance(log_continues(timeline, absence), Present)
    if alive and until - (absence.at - session) >= needed and not _slow_to_find(timeline, absence, until):
        return Absent(looked(logs, absence.at - session, until))
    return Unobservable((own_log(timeline, absence),))


def failed_requests(absence: Absence) -> list[Event]:
    """The client's own line about the failed connection of its last request before the session ended."""
    unanswered = ("transport failure", "Timed out")
    lost = (e for e in absence.departure_lines if isinstance(e, ev.CoordinatorLost))
    return [e for e in lost if any(words in (e.cause or "") for words in unanswered)]


def _slow_to_find(timeline: Timeline, absence: Absence, until: int) -> bool:
    """It looked for its coordinator longer than a process that wakes up, and less long than one that is cut off."""
    lost = timeline.events_from(absence.participant, ev.CoordinatorLost).between(absence.at - 2 * ROUND_TRIP_MS, until)
    return any(_looks_longer_than(timeline, absence, e, ROUND_TRIP_MS) for e in lost)


def _looks_longer_than(timeline: Timeline, absence: Absence, lost: Event, ms: int) -> bool:
    return timeline.coordinator_found(absence.participant, time_of(lost), time_of(lost) + ms) is None


def troubled(timeline: Timeline, absence: Absence) -> list[Event]:
    """Disconnects over seconds, or a coordinator lost and looked for in vain, while the member was silent."""
    losses = timeline.events_from(absence.participant, ev.NodeDisconnected, ev.CoordinatorLost)
    if not losses or absence.start is not None or absence.stop is not None:
        return []
    until = absence.back_at if absence.back_at is not None else timeline.last
    joins = timeline.events_from(absence.participant, ev.JoinSucceeded, ev.SyncSucceeded, ev.JoinReported)
    last = joins.last(absence.at - 1)
    joined = last.at if last is not None else None
    # A member that joined had reached its coordinator: what it failed to reach while it started is another matter.
    begin = max(absence.at - timeouts.session_timeout_ms(timeline) - 2 * ROUND_TRIP_MS, joined or 0)
    found = [e for e in losses.between(begin, until + ROUND_TRIP_MS) if not _was_throttled(e)]
    if _kept_its_coordinator(timeline, absence, found):
        return []
    if timeline.measured(1) is None:
        # Where only the order of the lines is known, the ages of requests alone show how long connections were lost.
        return found if _kept_sending(found) else []
    if found and until - time_of(found[0]) > HEARTBEAT_MS and time_of(found[-1]) - time_of(found[0]) > HEARTBEAT_MS:
        return found
    if _retried_connection(timeline, absence, found) or _kept_sending(found):
        return found
    # Without the coordinator's log the silence began at any time after the last generation it joined.
    expired = any(isinstance(e, ev.MemberFailed) for e in absence.departure_lines)
    since = begin if expired else joined if joined is not None else absence.at
    lost = timeline.events_from(absence.participant, ev.CoordinatorLost).between(since, until - HEARTBEAT_MS - 1)
    if waits_on_open_connections(timeline, absence):
        return []
    return [e for e in lost if _looks_longer_than(timeline, absence, e, HEARTBEAT_MS)]


def _was_throttled(lost: Event) -> bool:
    """A quota held the request back all the time until it was given up: its broker had answered the one before."""
    return isinstance(lost, ev.NodeDisconnected) and (lost.throttle_ms or 0) >= (lost.elapsed_ms or 0) >= ROUND_TRIP_MS


# FindCoordinator goes to any broker, and a request without an answer closes its connection when it times out, which
# NetworkClient logs at INFO as it logs that the client asks to disconnect (3.1).
def waits_on_open_connections(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """Its lines that gave the coordinator up, after which it looked longer than requests take to time out."""
    begin, end = absence.at - timeouts.session_timeout_ms(timeline), absence.at + ROUND_TRIP_MS
    lost = timeline.events_from(absence.participant, ev.CoordinatorLost).between(begin, end)
    closed = timeline.events_from(absence.participant, ev.NodeDisconnected)
    for at in map(time_of, lost):
        until = at + timeouts.setting_ms(timeline, timeouts.REQUEST) + ROUND_TRIP_MS
        causes = {e.cause for e in closed.between(at - ROUND_TRIP_MS, until) if isinstance(e, ev.NodeDisconnected)}
        logs = covering(timeline.coverage.of(absence.participant), at, until)
        if not logs or causes != {BY_ITSELF} or timeline.coordinator_found(absence.participant, at, until) is not None:
            return ()
    return tuple(lost)


def _kept_its_coordinator(timeline: Timeline, absence: Absence, lost: Sequence[Event]) -> bool:
    """True where all that it lost, since it last found its coordinator, is one other broker."""
    # An answer that makes it look for its coordinator anew (REQUEST_TIMED_OUT, NOT_COORDINATOR) came from there.
    found = timeline.events_from(absence.participant, ev.CoordinatorFound).last(absence.at)
    if found is not None:
        lost = [event for event in lost if time_of(event) > time_of(found)]
    if not lost or any(isinstance(event, ev.CoordinatorLost) for event in lost):
        return False
    brokers = {broker for e in lost if isinstance(e, ev.NodeDisconnected) and (broker := broker_of(e)) is not None}
    # Where the logs begin later than the group, the first coordinator that they show was it before, too.
    terms = [term for term in timeline.coordinators if term.ended_at is None or term.ended_at >= time_of(lost[0])]
    return len(brokers) == 1 and bool(terms) and broker_name(brokers.pop()) not in {term.broker for term in terms}


def _retried_connection(timeline: Timeline, absence: Absence, lost: Sequence[Event]) -> bool:
    """It tried to connect again and again; a process that wakes up reaches its brokers at the first attempt."""
    attempts = [time_of(e) for e in lost if isinstance(e, ev.NodeDisconnected) and e.cause in NOT_CONNECTED]
    if not attempts or attempts[-1] - attempts[0] < ROUND_TRIP_MS:
        return False
    return timeline.coordinator_found(absence.participant, attempts[0], attempts[-1]) is None


def _kept_sending(lost: Sequence[Event]) -> bool:
    """Requests of different ages went unanswered; a process that stands still sends none meanwhile."""
    unanswered = (e for e in lost if isinstance(e, ev.NodeDisconnected) and e.api in _ANSWERED_AT_ONCE)
    sent = sorted(time_of(e) - (e.elapsed_ms or 0) for e in unanswered if (e.elapsed_ms or 0) >= ROUND_TRIP_MS)
    return bool(sent) and sent[-1] - sent[0] >= ROUND_TRIP_MS


@sign("other members were active at that time, so it was cut off and no broker was frozen")
def cut_off_alone(timeline: Timeline, subject: Subject) -> Answer:
    """Other members were heard while this one lost its connections."""
    trouble = [e for absence in subject.absences for e in troubled(timeline, absence)]
    if not trouble:
        return Unobservable()
    # The brokers to which its connections for fetches were lost; a bootstrap address (-1, -2) is none of them.
    nodes = {e.node for e in trouble if isinstance(e, ev.NodeDisconnected) and e.node is not None}
    fetched_from = {node for node in nodes if 0 <= node < ev.FIRST_COORDINATOR_NODE}
    if _reached_the_others(timeline, subject, trouble):
        return Unobservable()
    if timeline.has_coordinator_log or len(fetched_from) > 1 or _others_log(timeline, subject):
        return Present()
    return Unobservable((coordinator_log(subject.begin, subject.end),))


@shown("it lost one broker only, as when that broker freezes or dies, and no other member's log tells which it was")
def one_broker_lost(timeline: Timeline, subject: Subject) -> Sequence[Event]:
    """To a single client a broker that froze looks the same as a lost network."""
    trouble = [e for absence in subject.absences for e in troubled(timeline, absence)]
    if len(_lost_brokers(trouble)) != 1:
        return ()
    others_heard = timeline.has_coordinator_log or _others_log(timeline, subject)
    return () if others_heard and not _reached_the_others(timeline, subject, trouble) else trouble[:2]


def _lost_brokers(trouble: Sequence[Event]) -> set[int]:
    lost = {e.coordinator for e in trouble if isinstance(e, ev.CoordinatorLost) and e.coordinator is not None}
    return lost | {b for e in trouble if isinstance(e, ev.NodeDisconnected) and (b := broker_of(e)) is not None}


def _reached_the_others(timeline: Timeline, subject: Subject, trouble: Sequence[Event]) -> bool:
    """True where each gave its coordinator up and another broker named it at once: the network was there."""
    # A member that is cut off looks for its coordinator in vain until the network is back.
    gave_up = [time_of(e) for e in trouble if isinstance(e, ev.CoordinatorLost)]
    if not gave_up or len(_lost_brokers(trouble)) != 1:
        return False
    evicted = max(absence.at for absence in subject.absences)
    return all(
        at < evicted
        and any(timeline.coordinator_found(p, at, min(at + ROUND_TRIP_MS, evicted)) for p in subject.participants)
        for at in gave_up
    )


def _others_log(timeline: Timeline, subject: Subject) -> bool:
    """True if another member's log is at hand."""
    participants = set(subject.participants)
    return any(member.has_log for member in timeline.membership.members if member not in participants)


@of_every("a quota held its requests back as its session ran out: its broker had answered, and so had the network")
def throttled(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """A broker reads nothing from a connection that it throttles, heartbeats included (KIP-219); logged since 3.8."""
    return throttled_requests(timeline, absence)


def throttled_requests(timeline: Timeline, absence: Absence) -> list[ev.ConnectionThrottled | ev.NodeDisconnected]:
    """The requests under way as its session ran out that it gave up with a throttle time; its throttled connections."""
    # A coordinator dates the end of the session. A client learns of it once it has found its coordinator again, which
    # takes up to a request timeout where that request is throttled as well.
    late = 0 if "session-expired" in absence.whys else timeouts.setting_ms(timeline, timeouts.REQUEST)
    begin, until = absence.at - timeouts.session_timeout_ms(timeline) - late, absence.back_at or timeline.last
    lines = timeline.events_from(absence.participant, ev.ConnectionThrottled, ev.NodeDisconnected)
    logged = lines.between(begin - ROUND_TRIP_MS, until + ROUND_TRIP_MS)
    if not logged:
        return []
    # The last heartbeat before the throttling was sent up to an interval before it, and other connections carry none.
    shown = timeouts.shown_session_ms(timeline) or timeouts.DEFAULTS[timeouts.LEAST_SESSION]
    least = shown - timeouts.heartbeat_interval_ms(timeline) - ROUND_TRIP_MS
    found: list[ev.ConnectionThrottled | ev.NodeDisconnected] = []
    for event in logged:
        if not isinstance(event, ev.ConnectionThrottled | ev.NodeDisconnected):
            continue
        # Clients that do not count connections to coordinators name the request.
        to_coordinator = (event.node or 0) >= ev.FIRST_COORDINATOR_NODE or event.api == "Heartbeat"
        if not to_coordinator or (event.throttle_ms or 0) < least:
            continue
        if isinstance(event, ev.ConnectionThrottled):
            over = time_of(event) + (event.throttle_ms or 0) + ROUND_TRIP_MS
            in_time = time_of(event) <= absence.at <= over + late
        else:
            in_time = _was_throttled(event) and time_of(event) - (event.elapsed_ms or 0) <= absence.at
        if in_time:
            found.append(event)
    return found


@of_every("it looked for its coordinator longer than requests take to time out, and no connection of it broke")
def waited_on_open_connections(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """It was running and connected: the brokers held their answers back, as they do for a quota."""
    return waits_on_open_connections(timeline, absence)


@of_every("until it evicted this member, its coordinator left the requests of another running member unanswered")
def others_unanswered(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """A coordinator that resumes after it stood still evicts members that ran, if their session timers fire first."""
    if "session-expired" not in absence.whys:
        return ()
    near = timeline.of(ev.NodeDisconnected).between(absence.at - ROUND_TRIP_MS, absence.at + ROUND_TRIP_MS)
    if not near:
        return ()
    terms = [term.broker for term in timeline.coordinators if term.started_at is None or term.started_at <= absence.at]
    of_it = grouped(
        (e for e in near if terms and (broker := broker_of(e)) is not None and broker_name(broker) == terms[-1]),
        timeline.participants.of_speaker,
    )
    others = (lost for who, lost in of_it.items() if who is not absence.participant and _kept_sending(lost))
    return next(others, [])[:2]


@of_every("its heartbeats were answered until shortly before the group lost it, so it was running")
def heard_until_lost(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """The last answer to a member, and the one less than a session later that it is no member."""
    # A heartbeat that is answered with REBALANCE_IN_PROGRESS starts the session anew, too (GroupCoordinator).
    own = timeline.events_from(absence.participant, ev.HeartbeatFailed)
    if not own:
        return ()
    session = timeouts.shown_session_ms(timeline) or timeouts.DEFAULTS[timeouts.LEAST_SESSION]
    expulsions = (e for e in absence.departure_lines if isinstance(e, ev.HeartbeatFailed) and was_expelled(e))
    lost = next((e for e in expulsions if timeline.participants.of_speaker(e) is absence.participant), None)
    if lost is None or lost.at is None:
        return ()
    before = own.last(lost.at - 1)
    if before is None or before.error != "REBALANCE_IN_PROGRESS" or lost.at - time_of(before) >= session:
        return ()
    return before, lost


@of_every("it gave up its generation unasked, as a static member does when its poll timeout expires")
def gave_up_unasked(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """Its own log shows no reason to give up its generation."""
    if absence.start is not None or absence.stop is not None:
        return ()
    until = absence.back_at if absence.back_at is not None else timeline.last
    line = given_up_unasked(timeline, absence.participant, absence.at, until)
    return () if line is None else (line,)
