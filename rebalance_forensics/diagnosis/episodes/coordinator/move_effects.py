"""Effects of a coordinator move on members: rediscovery, rejoins, lost sessions."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.episodes.coordinator.broker_outages import UNNAMED
from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_moves import CoordinatorMove
from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.clean_exits import closings
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import exception_before, is_of_a_connection
from rebalance_forensics.diagnosis.episodes.members.unreachable_brokers import broker_of, unreachable_before
from rebalance_forensics.diagnosis.episodes.topics.subscriptions import knows_no_partition_yet
from rebalance_forensics.events.coordinator import CoordinatorFound, CoordinatorLost, GroupLoaded, NodeDisconnected
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure, Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import session_timeout_ms, shown_poll_ms, shown_session_ms
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS, PROCESS_START_MS, REQUEST_TIMEOUT_MS, ROUND_TRIP_MS


def effects_of_moves(timeline: Timeline, chain: list[CoordinatorMove]) -> tuple[Fact, ...]:
    """The rejoins, returns and rebalances after each move, and the members whose sessions it cost."""
    # A member that had left by itself, for a poll timeout for instance, does not come back because of a move.
    found: list[Fact] = []
    left, cut_off = {d.id for d in timeline.departures if d.why not in UNANNOUNCED}, _closed_without_a_broker(timeline)
    for move in chain:
        begin, end = move.at - ROUND_TRIP_MS, move.until + PROCESS_START_MS
        requests = timeline.requests.between(begin, end)
        found += [
            r
            for r in requests
            if r.why in ("other", "member-rejoined", "leader-rejoined") or knows_no_partition_yet(timeline, r)
        ]
        departures = timeline.departures.between(begin, end)
        found += [
            d for d in departures if d.why in UNANNOUNCED and (d.returned is not None or _counted_by_itself(d, move))
        ]
        later = timeline.departures.since(begin)
        found += [
            d
            for d in later
            if _expired_by_former_coordinator(timeline, d, move) or _session_lost_in_move(timeline, d, move)
        ]
        arrivals = timeline.arrivals.between(begin, end)
        found += [a for a in arrivals if not a.first and a.start is None and (a.ends is None or a.ends.id not in left)]
        blocked = [d for d in later if _blocked_by_broker(timeline, d, move)]
        blocked += [d for d in later if begin <= cut_off.get(d.id, 0) <= end]
        found += with_rebalances(timeline, [*blocked, *(d.returned for d in blocked if d.returned is not None)])
        following = timeline.rebalances.between(begin, end)
        found += [r for r in following if not _has_own_cause(timeline, r.started_at)]
    return tuple(dict.fromkeys(found))


def load_that_restarted(timeline: Timeline, departure: Departure) -> GroupLoaded | None:
    """The load of the group that restarted the session whose expiry this departure is."""
    session = shown_session_ms(timeline)
    if departure.why != "session-expired" or session is None:
        return None
    loaded = timeline.of(GroupLoaded)
    if not loaded:
        return None
    begin = departure.at - session
    loads = loaded.between(begin - ROUND_TRIP_MS, begin + ROUND_TRIP_MS)
    speakers = {e.speaker.broker for e in departure.events if e.speaker.role == "broker"}
    return next((load for load in loads if load.speaker.broker in speakers), None)


def _blocked_by_broker(timeline: Timeline, departure: Departure, move: CoordinatorMove) -> bool:
    """True if the member's own log shows it waiting for the moved broker for as long as it may go without poll()."""
    if departure.at < move.at - ROUND_TRIP_MS or move.broker == UNNAMED:
        return False
    if any(f"broker-{unreachable.broker}" == move.broker for unreachable in unreachable_before(timeline, departure)):
        return True
    allowed = _allowed_ms(timeline, departure)
    return any(2 * waited >= allowed for waited in _waits(timeline, departure, move))


def _allowed_ms(timeline: Timeline, departure: Departure) -> int:
    """How long a member may go without poll(), or without a heartbeat, before it loses its membership."""
    if departure.why in UNANNOUNCED:
        return session_timeout_ms(timeline)
    return shown_poll_ms(timeline, departure.events) or REQUEST_TIMEOUT_MS


def _waits(timeline: Timeline, departure: Departure, move: CoordinatorMove) -> Iterator[int]:
    """Its waits since the move, in ms: for an answer of that broker, or for a coordinator."""
    if departure.why != "poll-timeout" and (departure.why not in UNANNOUNCED or departure.returned is None):
        return
    member, number = departure.participant, int(move.broker.removeprefix("broker-"))
    given_up = timeline.events_from(member, NodeDisconnected).between(move.at, departure.at + PROCESS_START_MS)
    for event in given_up:
        if broker_of(event) == number and departure.at >= time_of(event) - _age(event):
            yield _age(event)
    for lost in timeline.events_from(member, CoordinatorLost).between(move.at, departure.at):
        found = timeline.events_from(member, CoordinatorFound).first(time_of(lost))
        if lost.coordinator in (None, number) and (found is None or time_of(found) >= departure.at - ROUND_TRIP_MS):
            yield departure.at - time_of(lost)


def _age(event: NodeDisconnected) -> int:
    """The age of the request that was given up."""
    # Releases before 3.1 do not log it.
    if event.elapsed_ms is not None:
        return event.elapsed_ms
    return REQUEST_TIMEOUT_MS if event.cause == "request timeout" else 0


def _closed_without_a_broker(timeline: Timeline) -> dict[str, int]:
    """When clients stopped because they reached no broker (KafkaJS), by departure: an eviction comes later."""
    found: dict[str, int] = {}
    for absence in closings(timeline):
        if any(map(is_of_a_connection, exception_before(timeline, absence)[:1])):
            found |= {d.id: absence.stop.at if absence.stop is not None else absence.at for d in absence.departures}
    return found


def _counted_by_itself(departure: Departure, move: CoordinatorMove) -> bool:
    # aiokafka and librdkafka take their session for expired while no coordinator can expire it.
    lost = departure.why in ("session-expired", "expelled")
    alone = all(e.speaker.role != "broker" for e in departure.events)
    return lost and alone and move.at <= departure.at <= move.until


def _expired_by_former_coordinator(timeline: Timeline, departure: Departure, move: CoordinatorMove) -> bool:
    # A broker that resumes after a pause expires every session until it learns that it lost the group.
    if departure.why not in UNANNOUNCED or not all(
        f"broker-{e.speaker.broker}" == move.broker for e in departure.events
    ):
        return False
    if departure.stayed:
        return True
    loads = timeline.of(GroupLoaded).between(move.at - PROCESS_START_MS, departure.at)
    last = next((e for e in reversed(loads) if e.group == timeline.group), None)
    return last is not None and f"broker-{last.speaker.broker}" != move.broker


def _session_lost_in_move(timeline: Timeline, departure: Departure, move: CoordinatorMove) -> bool:
    # Every session restarts when the group is loaded: a member that expires one session later never reached the new
    # coordinator. A process that died or restarted then has its own cause, as has a group that ends up empty.
    load = load_that_restarted(timeline, departure)
    if load is None or load not in move.events:
        return False
    begin, ends = time_of(load) - ONE_REBALANCE_MS, timeline.coverage.ends(departure.participant)
    if timeline.starts.of(departure.participant).any_between(begin, departure.at):
        return False
    if departure.returned is not None:
        return True
    later = (g for g in timeline.generations if (g.completed_at or g.started_at or 0) >= departure.at)
    return (ends is None or ends >= departure.at) and any(g.members for g in later)


def _has_own_cause(timeline: Timeline, at: int) -> bool:
    return bool(timeline.moves(at - 2 * ROUND_TRIP_MS + 1, at + 2 * ROUND_TRIP_MS - 1))
