"""Members that a move of the coordinator kept from poll(): they waited for an answer, or for a coordinator to ask.

commitSync(), and every search for a coordinator, block the thread that calls poll(): for request.timeout.ms when the
broker no longer answers, else until a coordinator is found (AbstractCoordinator.ensureCoordinatorReady). Heartbeats of
a consumer wait for the same search. So its poll timeout or its session ends although it is neither slow nor paused.
"""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_move import UNNAMED, CoordinatorMove
from rebalance_forensics.diagnosis.episodes.members.absences import SILENT
from rebalance_forensics.diagnosis.episodes.members.unreachable_brokers import (
    broker_of,
    unreachable_before,
)
from rebalance_forensics.events.coordinator import CoordinatorFound, CoordinatorLost, NodeDisconnected
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import session_timeout_ms, shown_poll_ms
from rebalance_forensics.timeline.windows import AFTER_MOVE_MS, CLOCK_SLACK_MS, REQUEST_TIMEOUT_MS


def held_up(timeline: Timeline, departure: Departure, move: CoordinatorMove) -> bool:
    """Whether the member's own log shows that it waited for the broker that let go for as long as it may not poll."""
    if departure.at < move.at - CLOCK_SLACK_MS or move.broker == UNNAMED:
        return False
    if any(f"broker-{one.broker}" == move.broker for one in unreachable_before(timeline, departure)):
        return True
    allowed = _allowed_ms(timeline, departure)
    return any(2 * waited >= allowed for waited in _waits(timeline, departure, move))


def _allowed_ms(timeline: Timeline, departure: Departure) -> int:
    """How long a member may go without poll(), or without a heartbeat, before it is out of the group."""
    if departure.why in SILENT:
        return session_timeout_ms(timeline)
    return shown_poll_ms(timeline, departure.events) or REQUEST_TIMEOUT_MS


def _waits(timeline: Timeline, departure: Departure, move: CoordinatorMove) -> Iterator[int]:
    """Each time it waited since the move, in ms: for an answer of that broker, or to find a coordinator again."""
    if departure.why != "poll-timeout" and (departure.why not in SILENT or departure.returned is None):
        return
    member, number = departure.participant, int(move.broker.removeprefix("broker-"))
    given_up = timeline.said_by(member, NodeDisconnected).between(move.at, departure.at + AFTER_MOVE_MS)
    for event in given_up:
        if broker_of(event) == number and departure.at >= time_of(event) - _age(event):
            yield _age(event)
    for lost in timeline.said_by(member, CoordinatorLost).between(move.at, departure.at):
        found = timeline.said_by(member, CoordinatorFound).first(time_of(lost))
        if lost.coordinator in (None, number) and (found is None or time_of(found) >= departure.at - CLOCK_SLACK_MS):
            yield departure.at - time_of(lost)


def _age(event: NodeDisconnected) -> int:
    """How old the request was that was given up; releases before 3.1 do not tell."""
    if event.elapsed_ms is not None:
        return event.elapsed_ms
    return REQUEST_TIMEOUT_MS if event.cause == "request timeout" else 0
