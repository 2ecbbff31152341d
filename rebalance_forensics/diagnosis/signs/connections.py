"""Signs of members that lost connections or their coordinator, and of the responses that brokers sent them."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.coordinator.broker_outages import NOT_CONNECTED, write_failed
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
    of_first,
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
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.membership.lost_membership import was_expelled
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, REQUEST_TIMEOUT_MS, ROUND_TRIP_MS

# Requests that a coordinator answers immediately, as any broker answers FindCoordinator.
_ANSWERED_AT_ONCE = ("HEARTBEAT", "OFFSET_COMMIT", "CONSUMER_GROUP_HEARTBEAT", "FIND_COORDINATOR")
MOST_LINES = 6
BY_ITSELF = "client requested disconnect"
"""The cause of a disconnect that the client itself initiated."""


@of_each("its own log shows lost connections to the brokers", "its own log shows no lost connections while it was away")
def disconnects(timeline: Timeline, absence: Absence) -> Answer:
    """The member could not reach the brokers while it was silent."""
    trouble = connection_losses(timeline, absence)
    if trouble:
        return Present(tuple(trouble[:6]))
    if failed := failed_requests(absence):
        return Present(tuple(failed))
    session = timeouts.session_timeout_ms(timeline)
    until = absence.back_at if absence.back_at is not None else absence.at + HEARTBEAT_MS
    logs = covering(timeline.coverage.of(absence.participant), absence.at - session, until)
    # A classic client that is cut off gives up its coordinator after a session timeout; clients of the newer protocols
    # log nothing until a request times out.
    needed = session if timeouts.is_set_by_clients(timeline.protocol) else REQUEST_TIMEOUT_MS
    alive = bool(logs) and isinstance(log_continues(timeline, absence), Present)
    if alive and until - (absence.at - session) >= needed and not _had_slow_search(timeline, absence, until):
        return Absent(looked(logs, absence.at - session, until))
    return Unobservable((own_log(timeline, absence),))


@of_first("its own host had no route to the brokers, so the fault is not theirs")
def no_route(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """The member's host could not send anything to a broker's address (ENETUNREACH) while the member was away."""
    until = absence.back_at if absence.back_at is not None else timeline.last
    return without_route(timeline, absence.participant, absence.at - timeouts.session_timeout_ms(timeline), until)


def without_route(timeline: Timeline, participant: Participant | None, begin: int, until: int) -> Sequence[Event]:
    """The failed connections of a member whose host had no route to the brokers."""
    failed = timeline.events_from(participant, ev.NodeDisconnected).between(begin, until)
    return [e for e in failed if isinstance(e, ev.NodeDisconnected) and e.unreached == "no-route"][:MOST_LINES]


def failed_requests(absence: Absence) -> list[Event]:
    """The client's lines about a failed or timed-out last request before its session ended."""
    return [e for e in absence.departure_lines if isinstance(e, ev.CoordinatorLost) and e.unanswered]


def _had_slow_search(timeline: Timeline, absence: Absence, until: int) -> bool:
    """True if it searched for its coordinator for longer than a resumed process does."""
    lost = timeline.events_from(absence.participant, ev.CoordinatorLost).between(absence.at - 2 * ROUND_TRIP_MS, until)
    return any(_search_exceeds(timeline, absence, e, ROUND_TRIP_MS) for e in lost)


def _search_exceeds(timeline: Timeline, absence: Absence, lost: Event, ms: int) -> bool:
    """True if the member found no coordinator within `ms` after it lost this one."""
    return timeline.coordinator_found(absence.participant, time_of(lost), time_of(lost) + ms) is None


def connection_losses(timeline: Timeline, absence: Absence) -> list[Event]:
    """Disconnects that span seconds, or losses of a coordinator without finding one, while the member was silent.

    Empty if its process stopped or started, or if only connections to another broker than the coordinator were lost.
    """
    losses = timeline.events_from(absence.participant, ev.NodeDisconnected, ev.CoordinatorLost)
    if not losses or absence.start is not None or absence.stop is not None:
        return []
    until = absence.back_at if absence.back_at is not None else timeline.last
    joins = timeline.events_from(absence.participant, ev.JoinSucceeded, ev.SyncSucceeded, ev.JoinReported)
    last = joins.last(absence.at - 1)
    joined = last.at if last is not None else None
    # A member that joined had reached its coordinator: failed connections during its start do not count.
    begin = max(absence.at - timeouts.session_timeout_ms(timeline) - 2 * ROUND_TRIP_MS, joined or 0)
    found = [e for e in losses.between(begin, until + ROUND_TRIP_MS) if not _was_answered(timeline, e)]
    if _kept_its_coordinator(timeline, absence, found):
        return []
    if timeline.measured(1) is None:
        # If only the order of the lines is known, only the ages of requests show how long connections were lost.
        return found if _kept_sending(found) else []
    if found and until - time_of(found[0]) > HEARTBEAT_MS and time_of(found[-1]) - time_of(found[0]) > HEARTBEAT_MS:
        return found
    if _retried_connection(timeline, absence, found) or _kept_sending(found):
        return found
    # Without the coordinator's log, the silence may have begun any time after the member last joined a generation.
    expired = any(isinstance(e, ev.MemberFailed) for e in absence.departure_lines)
    since = begin if expired else joined if joined is not None else absence.at
    lost = timeline.events_from(absence.participant, ev.CoordinatorLost).between(since, until - HEARTBEAT_MS - 1)
    if waits_on_open_connections(timeline, absence):
        return []
    return [e for e in lost if _search_exceeds(timeline, absence, e, HEARTBEAT_MS) and not _was_answered(timeline, e)]


def _was_answered(timeline: Timeline, lost: Event) -> bool:
    """True if the broker had just answered when the member lost it: a failed commit, or a throttled request."""
    if isinstance(lost, ev.CoordinatorLost):
        return write_failed(timeline, lost)
    return _was_throttled(lost)


def _was_throttled(lost: Event) -> bool:
    """True if a quota delayed the request until the client gave it up: the broker had answered the previous one."""
    return isinstance(lost, ev.NodeDisconnected) and (lost.throttle_ms or 0) >= (lost.elapsed_ms or 0) >= ROUND_TRIP_MS


# FindCoordinator goes to any broker. A request without a response closes its connection when it times out. Since 3.1,
# NetworkClient logs this at INFO, like a disconnect that the client requests.
def waits_on_open_connections(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The member's losses of its coordinator, if each search outlasted the request timeout and no connection broke.

    Empty otherwise.
    """
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
    """True if the member lost only one broker since it last found its coordinator, and that was another broker."""
    # An error that makes it search again (REQUEST_TIMED_OUT, NOT_COORDINATOR) came from the coordinator.
    found = timeline.events_from(absence.participant, ev.CoordinatorFound).last(absence.at)
    if found is not None:
        lost = [event for event in lost if time_of(event) > time_of(found)]
    if not lost or any(isinstance(event, ev.CoordinatorLost) for event in lost):
        return False
    brokers = {broker for e in lost if isinstance(e, ev.NodeDisconnected) and (broker := broker_of(e)) is not None}
    # If the logs begin later than the group, assume that the first coordinator they show was the coordinator before.
    terms = [term for term in timeline.coordinators if term.ended_at is None or term.ended_at >= time_of(lost[0])]
    return len(brokers) == 1 and bool(terms) and broker_name(brokers.pop()) not in {term.broker for term in terms}


def _retried_connection(timeline: Timeline, absence: Absence, lost: Sequence[Event]) -> bool:
    """True if it repeatedly failed to connect; a resumed process reaches its brokers at the first attempt."""
    attempts = [time_of(e) for e in lost if isinstance(e, ev.NodeDisconnected) and e.cause in NOT_CONNECTED]
    if not attempts or attempts[-1] - attempts[0] < ROUND_TRIP_MS:
        return False
    return timeline.coordinator_found(absence.participant, attempts[0], attempts[-1]) is None


def _kept_sending(lost: Sequence[Event]) -> bool:
    """True if requests sent at different times went unanswered: a paused process sends none."""
    unanswered = (e for e in lost if isinstance(e, ev.NodeDisconnected) and e.api in _ANSWERED_AT_ONCE)
    sent = sorted(time_of(e) - (e.elapsed_ms or 0) for e in unanswered if (e.elapsed_ms or 0) >= ROUND_TRIP_MS)
    return bool(sent) and sent[-1] - sent[0] >= ROUND_TRIP_MS


@sign("other members were active at that time, so it was cut off and no broker was frozen")
def cut_off_alone(timeline: Timeline, subject: Subject) -> Answer:
    """Other members were active while this one lost its connections."""
    trouble = [e for absence in subject.absences for e in connection_losses(timeline, absence)]
    if not trouble:
        return Unobservable()
    # Brokers to which fetch connections were lost; bootstrap addresses have negative ids (-1, -2).
    nodes = {e.node for e in trouble if isinstance(e, ev.NodeDisconnected) and e.node is not None}
    fetched_from = {node for node in nodes if 0 <= node < ev.FIRST_COORDINATOR_NODE}
    if _reached_the_others(timeline, subject, trouble):
        return Unobservable()
    if timeline.has_coordinator_log or len(fetched_from) > 1 or _others_log(timeline, subject):
        return Present()
    return Unobservable((coordinator_log(subject.begin, subject.end),))


@shown("it lost one broker only, as when that broker freezes or dies, and no other member's log tells which it was")
def one_broker_lost(timeline: Timeline, subject: Subject) -> Sequence[Event]:
    """The member lost a single broker: to one client, a frozen broker looks like a lost network."""
    trouble = [e for absence in subject.absences for e in connection_losses(timeline, absence)]
    if len(_lost_brokers(trouble)) != 1:
        return ()
    others_heard = timeline.has_coordinator_log or _others_log(timeline, subject)
    return () if others_heard and not _reached_the_others(timeline, subject, trouble) else trouble[:2]


def _lost_brokers(trouble: Sequence[Event]) -> set[int]:
    """The ids of the brokers in these disconnects and losses of a coordinator."""
    lost = {e.coordinator for e in trouble if isinstance(e, ev.CoordinatorLost) and e.coordinator is not None}
    return lost | {b for e in trouble if isinstance(e, ev.NodeDisconnected) and (b := broker_of(e)) is not None}


def _reached_the_others(timeline: Timeline, subject: Subject, trouble: Sequence[Event]) -> bool:
    """True if another broker named the coordinator right after each loss of it: the network was available."""
    # A member that is cut off finds no coordinator until the network is back.
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
    """True if the log of another member is available."""
    participants = set(subject.participants)
    return any(member.has_log for member in timeline.membership.members if member not in participants)


@of_every("a quota held its requests back as its session ran out: its broker had answered, and so had the network")
def throttled(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """A broker reads nothing from a connection that it throttles, heartbeats included (KIP-219); logged since 3.8."""
    return throttled_requests(timeline, absence)


def throttled_requests(timeline: Timeline, absence: Absence) -> list[ev.ConnectionThrottled | ev.NodeDisconnected]:
    """Lines about requests to the coordinator that a quota delayed while the member's session expired."""
    # A coordinator logs the end of the session on time. A client learns of it after it has found its coordinator again,
    # up to a request timeout later if that request is throttled as well.
    late = 0 if "session-expired" in absence.whys else timeouts.setting_ms(timeline, timeouts.REQUEST)
    begin, until = absence.at - timeouts.session_timeout_ms(timeline) - late, absence.back_at or timeline.last
    lines = timeline.events_from(absence.participant, ev.ConnectionThrottled, ev.NodeDisconnected)
    logged = lines.between(begin - ROUND_TRIP_MS, until + ROUND_TRIP_MS)
    if not logged:
        return []
    # The last heartbeat was sent up to a heartbeat interval before the throttling; only connections to the coordinator
    # carry heartbeats.
    shown = timeouts.shown_session_ms(timeline) or timeouts.DEFAULTS[timeouts.LEAST_SESSION]
    least = shown - timeouts.heartbeat_interval_ms(timeline) - ROUND_TRIP_MS
    found: list[ev.ConnectionThrottled | ev.NodeDisconnected] = []
    for event in logged:
        if not isinstance(event, ev.ConnectionThrottled | ev.NodeDisconnected):
            continue
        # Clients without a separate node id for the coordinator's connection name the request.
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
    """The member was running and connected: the brokers delayed their responses, as they do for a quota."""
    return waits_on_open_connections(timeline, absence)


@of_every("it looked for its coordinator, which answered that it could not write a commit, until the group lost it")
def searched_after_failed_write(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """The member was running and connected when its silence began: brokers that answer no FindCoordinator keep it."""
    last = timeline.events_from(absence.participant, ev.CoordinatorLost).last(absence.at)
    if last is None or not write_failed(timeline, last) or not _search_exceeds(timeline, absence, last, HEARTBEAT_MS):
        return ()
    found = timeline.coordinator_found(absence.participant, time_of(last), absence.at - ROUND_TRIP_MS)
    return (last,) if found is None else ()


@of_every("until it evicted this member, its coordinator left the requests of another running member unanswered")
def others_unanswered(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """A coordinator that resumes after a pause evicts running members if their session timers fire first."""
    if "session-expired" not in absence.whys:
        return ()
    near = timeline.of(ev.NodeDisconnected).between(absence.at - ROUND_TRIP_MS, absence.at + ROUND_TRIP_MS)
    if not near:
        return ()
    terms = [term.broker for term in timeline.coordinators if term.started_at is None or term.started_at <= absence.at]
    by_member = grouped(
        (e for e in near if terms and (broker := broker_of(e)) is not None and broker_name(broker) == terms[-1]),
        timeline.participants.of_speaker,
    )
    others = (lost for who, lost in by_member.items() if who is not absence.participant and _kept_sending(lost))
    return next(others, [])[:2]


@of_every("its heartbeats were answered until shortly before the group lost it, so it was running")
def heard_until_lost(timeline: Timeline, absence: Absence) -> Sequence[Event]:
    """The last heartbeat response to a member, and less than a session later the one that it is not a member."""
    # REBALANCE_IN_PROGRESS in response to a heartbeat also restarts the session (GroupCoordinator).
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
