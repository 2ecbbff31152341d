"""Estimates when and why a member stopped reading: often a timeout before the group removed it."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure, DepartureWhy
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.model import WhyUnread
from rebalance_forensics.timeline.ownership.ledger import Loss
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms, is_implausible, shown_poll_ms, shown_session_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, PROCESS_START_MS, ROUND_TRIP_MS

_SILENT = frozenset({"session-expired", "vanished", "expelled"})
_GIVEN_UP = (ev.PartitionsLost, ev.OwnershipGivenUp)
_STARTING = (ev.ClientStarted, ev.SettingsReported, ev.StartTimeReported, ev.VersionReported)
_WHY: Mapping[DepartureWhy, WhyUnread] = {
    "fenced": "fenced",
    "removed-by-admin": "fenced",
    "rebalance-timeout": "stuck",
    "sync-timeout": "stuck",
    "revocation-timeout": "stuck",
    "died": "dead",
    "closed": "stopped",
    "unsubscribed": "revoked",
}


def client_of(timeline: Timeline, departure: Departure) -> str:
    """The client id of a departure: the one in the member id, otherwise the first of the participant."""
    named = timeline.participants.client_of(departure.member or "")
    return named or min(departure.participant.client_ids, default="")


_SILENCES = "why members fell silent"


def explain_heartbeat_loss(timeline: Timeline, reasons: Mapping[str, WhyUnread]) -> None:
    """Set why members stopped sending heartbeats, by departure id; to be called before ownership is computed."""
    # The causes and their signs decide this: a separate decision here could contradict them in the same report.
    timeline.cached_as(_SILENCES, lambda: reasons)


def reason_of_heartbeat_loss(timeline: Timeline, departure: Departure) -> WhyUnread:
    """Why a member stopped sending heartbeats, by the verdict on its departure."""
    reasons: Mapping[str, WhyUnread] = timeline.cached_as(_SILENCES, dict)
    return reasons.get(departure.id, "unknown")


def loss_of(timeline: Timeline, departure: Departure, missed_at: int | None = None) -> Loss:
    """The loss of a member's partitions before its departure; `missed_at` is when the group noticed, if earlier."""
    participant = departure.participant
    missed_at = departure.at if missed_at is None else missed_at
    if _turned_away(timeline, departure):
        return Loss(at=missed_at, why="fenced", certain=False, missed_at=missed_at)
    if departure.why == "vanished" and timeline.starts.of(participant).any_between(missed_at, missed_at):
        return loss_before(timeline, participant, missed_at)
    if departure.why in _SILENT:
        why = reason_of_heartbeat_loss(timeline, departure)
        if why == "stuck" and departure.why == "session-expired" and participant.instance_ids:
            # A static member sends no LeaveGroup on a poll timeout (KIP-345): its heartbeat thread stops then without
            # logging it.
            return _stuck_in_session(timeline, participant, missed_at)
        return _silent(timeline, departure, missed_at, why)
    if departure.why == "poll-timeout":
        return _stuck(timeline, departure, missed_at)
    if departure.why == "rebalance-timeout" and reason_of_heartbeat_loss(timeline, departure) == "stuck":
        return _not_rejoined(timeline, departure, missed_at)
    # A member that an administrator removed learns of it with its next heartbeat, whose time is not logged. A member
    # that exceeded the rebalance, sync or revocation timeout may have been stuck, or may have polled without a
    # response: no line shows when it stopped reading.
    certain = departure.why not in ("removed-by-admin", "rebalance-timeout", "sync-timeout", "revocation-timeout")
    back = departure.returned
    # A LeaveGroup without a reason is that of a close, unless the member came back without a start.
    left: WhyUnread = "stopped" if back is None or back.start is not None else "unknown"
    why = _WHY.get(departure.why, left)
    return Loss(at=missed_at, why=why, certain=certain, missed_at=missed_at)


def keeps_fetching(timeline: Timeline, departure: Departure) -> bool:
    """True for a running member that the coordinator removed and whose log shows when it learned of it.

    It fetched until then: only the coordinator rejects it, and fetches go to the partition leaders.
    """
    if departure.why != "removed-by-admin" and not _turned_away(timeline, departure):
        return False
    until = departure.returned.at if departure.returned is not None else timeline.last
    return timeline.events_from(departure.participant, *_GIVEN_UP).any_between(departure.at, until)


def _silent(timeline: Timeline, departure: Departure, missed_at: int, why: WhyUnread) -> Loss:
    """The loss of a member whose heartbeats stopped: at the earliest a session timeout before its removal."""
    # The session starts with its last heartbeat, and the next one was due an interval later: half an interval after the
    # earliest time is the middle of the possible span.
    session = shown_session_ms(timeline, departure.participant)
    # A process that is cut off from the brokers keeps logging.
    last = _last_sign(timeline, departure.participant, missed_at) if why != "cut-off" else None
    if session is None:
        return Loss(at=missed_at, why=why, certain=False, earliest=last, missed_at=missed_at, bounded=False)
    # After a quick restart, the coordinator's timer may expire when the new process already runs.
    expiries = (e for e in departure.events if isinstance(e, ev.MemberFailed) and e.speaker.role == "broker")
    expired_at = max(map(time_of, expiries), default=missed_at)
    earliest = max(expired_at - session, last or 0)
    estimate = expired_at - session + heartbeat_interval_ms(timeline, departure.participant) // 2
    if why == "cut-off":
        estimate = _unanswered_since(timeline, departure) or estimate
    at = min(missed_at, max(estimate, last or 0))
    return Loss(at=at, why=why, certain=False, earliest=min(earliest, at), missed_at=missed_at)


def _unanswered_since(timeline: Timeline, departure: Departure) -> int | None:
    """When the fetch was sent that had no response when the group removed the member, or None."""
    # A consumer sends the next fetch as soon as it has the response to the last. It logs a timed-out fetch after
    # request.timeout.ms, since 3.1 with the age of the request.
    later = timeline.events_from(departure.participant, ev.NodeDisconnected).between(departure.at, timeline.last)
    own = (
        e
        for e in later
        if isinstance(e, ev.NodeDisconnected) and e.speaker.client_id in (client_of(timeline, departure), None)
    )
    sent = (time_of(e) - e.elapsed_ms for e in own if e.api == "FETCH" and e.elapsed_ms)
    return min((at for at in sent if at < departure.at - ROUND_TRIP_MS), default=None)


def loss_before(timeline: Timeline, participant: Participant, start: int) -> Loss:
    """The loss of a process that died without a log line and was restarted before its session expired.

    Supervisors restart a process at once, so the most likely time is just before the start.
    """
    start = _start_of_process(timeline, participant, start)
    session, last = shown_session_ms(timeline, participant), _last_sign(timeline, participant, start)
    earliest = last if session is None else max(start - session, last or 0)
    at = max(start - HEARTBEAT_MS, earliest or 0)
    return Loss(at=at, why="dead", certain=False, earliest=earliest, missed_at=start, bounded=session is not None)


def _start_of_process(timeline: Timeline, participant: Participant, start: int) -> int:
    # The first line of a new process, which prints its settings and versions before it counts as started.
    begin = start
    lines = timeline.events_from(participant, Event).between(start - PROCESS_START_MS, start)
    for event in reversed(lines):
        if not isinstance(event, _STARTING):
            break
        begin = time_of(event)
    return begin


def _stuck(timeline: Timeline, departure: Departure, missed_at: int) -> Loss:
    # The loss of a member whose poll timer expired: it runs from the last poll(), the last fetch of records.
    poll = shown_poll_ms(timeline, departure.events, departure.participant)
    if poll is None:
        return Loss(at=missed_at, why="stuck", certain=False, missed_at=missed_at, bounded=False)
    # Some releases log, immediately or at the next poll(), by how much the timer was exceeded.
    expiries = [
        time_of(e) - e.exceeded_ms
        for e in departure.events
        if isinstance(e, ev.PollTimeoutExpired) and e.exceeded_ms and not is_implausible(e.exceeded_ms)
    ]
    since = min([missed_at, *expiries]) - poll
    return Loss(at=since, why="stuck", certain=False, earliest=since, missed_at=missed_at)


def _not_rejoined(timeline: Timeline, departure: Departure, missed_at: int) -> Loss:
    # The loss of a member that did not rejoin within the rebalance timeout: it has not polled since it began.
    # Its next poll() would have joined the rebalance; the previous one was less than a poll timeout earlier, or the
    # member would have left.
    begun = timeline.rebalances.last(departure.at)
    since = missed_at if begun is None else min(begun.started_at, missed_at)
    poll = shown_poll_ms(timeline, departure.events, departure.participant)
    earliest = _last_sign(timeline, departure.participant, since) if poll is None else since - poll
    return Loss(at=since, why="stuck", certain=False, earliest=earliest, missed_at=missed_at)


def _stuck_in_session(timeline: Timeline, participant: Participant, missed_at: int) -> Loss:
    # The loss of a static member that stopped polling: a poll timeout and a session before it was removed.
    poll, session = shown_poll_ms(timeline, member=participant), shown_session_ms(timeline, participant)
    if poll is None or session is None:
        return Loss(at=missed_at, why="stuck", certain=False, missed_at=missed_at, bounded=False)
    earliest = missed_at - session - poll
    at = earliest + heartbeat_interval_ms(timeline, participant) // 2
    return Loss(at=at, why="stuck", certain=False, earliest=earliest, missed_at=missed_at)


def _turned_away(timeline: Timeline, departure: Departure) -> bool:
    """True for a running member that the coordinator rejected, by the verdict: it read until it learned of it."""
    # A coordinator that lost the group's state, or does not respond, affects members that still fetch from other
    # brokers. A member that the coordinator removed earlier had stopped its heartbeats before.
    refused = reason_of_heartbeat_loss(timeline, departure) == "fenced"
    return refused and departure.why in ("vanished", "session-expired", "expelled")


def _last_sign(timeline: Timeline, participant: Participant, before: int) -> int | None:
    """The time of the last line before `before` that shows the member running, or None."""
    last_event = timeline.events_from(participant, Event).last(before - 1)
    ends = [log.end for log in timeline.coverage.of(participant) if log.end < before]
    times = [*ends, *([last_event.at] if last_event is not None and last_event.at is not None else [])]
    return max(times, default=None)
