"""Moves of the coordinator: handed over, failed over, or lost by most members at once.

Moves before the group's first generation are start-up noise. `chains_of_moves` returns the moves, in one chain if
brokers are restarted in turn; the functions after it are about one chain. Each move has the clue that shows it
(`EVIDENCE`). Lines of brokers are evaluated one by one, lines of members together with others close in time
(`_ByMembers`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.coordinator.broker_outages import (
    broker_outages,
    outages_between,
    outages_of_other_brokers,
    unreachable_before,
    write_failed,
)
from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import denied
from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED, formed_at, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.clean_exits import closings
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import exception_before, is_of_a_connection
from rebalance_forensics.diagnosis.episodes.runs import runs, walks
from rebalance_forensics.diagnosis.episodes.topics.subscriptions import knows_no_partition_yet
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Row, clue
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import timeouts, windows
from rebalance_forensics.timeline.answers import error_of
from rebalance_forensics.timeline.brokers import affected_broker, broker_of, stopped_around, stops_and_starts
from rebalance_forensics.timeline.coordinators import handovers
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure, Fact
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.membership.lost_membership import OF_MEMBERS, ended_its_session, shows_member

_MOVED = "NOT_COORDINATOR"
# At most this many lines are kept: a few members' lines show a move as well as all of them.
_MOST_LINES = 8
_ANSWERED = (ev.CoordinatorLost, ev.GroupHeartbeatFailed, ev.HeartbeatFailed, ev.JoinRequested, ev.SyncFailed)
_JOINING = (ev.JoinFailed, ev.OffsetCommitFailed)
_CONNECTING = (ev.CoordinatorLost, ev.HeartbeatFailed, ev.JoinFailed)
# Without any of these lines there is no move, unless two brokers log about the group one after the other.
_SHOWING_MOVES = (*_ANSWERED, *_JOINING, ev.GroupLoaded, ev.GroupUnloaded, ev.BrokerStarted, ev.BrokerStopped)
# The clues of a move, most conclusive first.
LOADED = clue("group-loaded-elsewhere", DECISIVE + WEAK, "a broker loaded the group anew, as after a move or a restart")
LOST_BY_MOST = clue(
    "coordinator-lost-by-most", DECISIVE, "most members with a log lost the same coordinator within seconds"
)
FOUND_ANOTHER = clue("another-coordinator-found", DECISIVE, "a member lost its coordinator and then found another one")
UNLOADED = clue("group-unloaded", DECISIVE, "its coordinator unloaded the group, as when it stops or hands it over")
SHUT_DOWN = clue("coordinator-shut-down", DECISIVE, "a client gave up its coordinator as that broker shut down")
SUCCEEDED = clue("another-spoke-for-it", DECISIVE, "one broker spoke for the group, and later another one")
UNREACHABLE = clue(
    "coordinator-refused-connections",
    DECISIVE,
    "the host of its coordinator refused connections: it was reachable, and no broker was running there",
)
ANSWERED = clue(
    "coordinator-answered", STRONG, "the broker that a member took for its coordinator answered that it is not"
)
REFUSED_AGAIN = clue(
    "refused-by-its-coordinator",
    WEAK,
    "the broker that a member was sent to refused every request: it was not the coordinator at that moment",
)
BETWEEN = clue(
    "coordinator-not-ready", WEAK, "a broker that a member asked was stopping, or had not loaded the group yet"
)
REFUSED_A_STARTER = clue(
    "coordinator-refused-a-client",
    0,
    "a broker answered that it is not the coordinator; these lines do not show whether that client had joined",
)
EVIDENCE = (
    LOADED, LOST_BY_MOST, FOUND_ANOTHER, UNLOADED, SHUT_DOWN, SUCCEEDED, UNREACHABLE, ANSWERED, REFUSED_AGAIN, BETWEEN,
    REFUSED_A_STARTER,
)  # fmt: skip


def chains_of_moves(timeline: Timeline) -> Iterator[list[CoordinatorMove]]:
    """Moves after the group's first generation, shown by brokers or members; in one chain if brokers move in turn."""
    if not timeline.shows_any(_SHOWING_MOVES) and len(timeline.group_events.brokers) < 2:
        return
    settled = formed_at(timeline)
    moves: list[CoordinatorMove] = []
    others: list[Iterable[CoordinatorMove]] = [_ANSWERS.moves(timeline, settled or 0)]
    if settled is not None:
        # Shown by brokers or most members; by members; by brokers if the load by the new coordinator is not logged.
        by_brokers = [*_handed_over(timeline, settled)]
        taken_over = [move for move in by_brokers if _is_taken_over(move)]
        moves = _with_members(timeline, settled, (*taken_over, *_LOSSES.moves(timeline, settled)))
        unfollowed = _with_members(timeline, settled, [m for m in by_brokers if not _is_taken_over(m)])
        others += [_FINDS.moves(timeline, settled), unfollowed]
        others.insert(0, _REFUSED_CONNECTIONS.moves(timeline, settled))
    moves = _first_of_each(moves, others)
    for find in (_refused_again, _lost_as_it_stopped):
        moves = _first_of_each(moves, [find(timeline, settled or 0)])
    steps = [*moves, *_restarts_of_others(timeline)] if moves else []
    for walk in walks(steps, lambda m: m.at, lambda m: m.broker):
        for chain in _apart_from_faults(timeline, walk):
            if shown := [m for m in chain if m.events]:
                yield shown


def _apart_from_faults(timeline: Timeline, walk: Sequence[CoordinatorMove]) -> list[list[CoordinatorMove]]:
    """The moves of a walk, split where a broker that froze or failed by itself follows or precedes another broker."""
    # Restarts in turn are one plan, and a broker that an administrator kills may be restarted next. A stalled host or
    # a full disk is no step of a plan. Brokers that froze or failed at the same time have a common reason, and a broker
    # that returns takes its groups over again.
    found = [list(walk[:1])]
    for before, move in pairwise(walk):
        apart = move.broker != before.broker and move.at - before.until > windows.PROCESS_START_MS
        returned = any(isinstance(e, ev.GroupLoaded) and e.speaker.broker == before.broker for e in move.events)
        if apart and (_is_a_fault(timeline, move) or (not returned and _is_a_fault(timeline, before))):
            found.append([])
        found[-1].append(move)
    return found


def _is_a_fault(timeline: Timeline, move: CoordinatorMove) -> bool:
    near = outages_between(timeline, move.at, move.until)
    return any(o.broker == move.broker and o.how in ("froze", "failed") for o in near)


def _first_of_each(
    known: Sequence[CoordinatorMove], kinds: Iterable[Iterable[CoordinatorMove]]
) -> list[CoordinatorMove]:
    """The known moves and, if several kinds of lines show a move at one time, the one that began first."""
    # The earliest is the move itself: brokers that have not loaded the group yet respond with NOT_COORDINATOR later.
    ordered = sorted(((move, kind) for kind, moves in enumerate(kinds) for move in moves), key=lambda each: each[0].at)
    kept: list[tuple[CoordinatorMove, int | None]] = [(move, None) for move in known]
    for move, kind in ordered:
        if all(of == kind or abs(move.at - other.at) > windows.ONE_REBALANCE_MS for other, of in kept):
            kept.append((move, kind))
    return [move for move, _ in kept]


def whole_cluster_stopped(timeline: Timeline, chain: list[CoordinatorMove]) -> bool:
    """Every broker with a log began a shutdown within a minute and none came back."""
    begin, end = chain[0].at - windows.PROCESS_START_MS, chain[-1].at + windows.ONE_REBALANCE_MS
    speaking = timeline.group_events.brokers | timeline.ungrouped.brokers
    for_good = (o for o in broker_outages(timeline) if o.how == "shut-down" and o.ended_at is None)
    return len(speaking) > 1 and speaking <= {o.broker for o in for_good if begin <= o.started_at <= end}


def is_planned_handover(chain: list[CoordinatorMove], facts: Sequence[Fact]) -> bool:
    """True if the brokers of the chain unloaded the group during their shutdown, without an effect on any member."""
    stops = [e for move in chain for e in move.events if isinstance(e, ev.BrokerStopped)]
    stopping = bool(stops) and all(e.phase == "stopping" for e in stops)
    return stopping and not facts and all(move.shown_by in (UNLOADED, SHUT_DOWN) for move in chain)


def shutdown_fault(chain: list[CoordinatorMove]) -> str | None:
    """The fault that made a broker of the chain shut down; None if none was logged."""
    stops = (e for move in chain for e in move.events if isinstance(e, ev.BrokerStopped))
    return next((e.fault for e in stops if e.fault is not None), None)


def without_coordinator_ms(chain: list[CoordinatorMove]) -> int:
    """The longest time without a coordinator, in ms: from the first line of a move to its last."""
    apart = runs(chain, lambda m: m.at, windows.PROCESS_START_MS, until=lambda m: m.until)
    ends = (max(max(map(time_of, m.events), default=m.at) for m in run) - run[0].at for run in apart)
    return max(ends)


def _is_taken_over(move: CoordinatorMove) -> bool:
    return move.shown_by is LOADED and move.broker is not None


def _handed_over(timeline: Timeline, settled: int) -> Iterator[CoordinatorMove]:
    shown_by = {"loaded": LOADED, "unloaded": UNLOADED, "succeeded": SUCCEEDED}
    for each in handovers(timeline, settled):
        yield CoordinatorMove(each.at, each.former, each.lines, shown_by[each.shown_by], until=each.until)


def _timed_out_while_joining(timeline: Timeline, lost: Event) -> bool:
    """True if the coordinator was lost just when the member's own JoinGroup or SyncGroup request timed out."""
    participant = timeline.participants.of_speaker(lost)
    if participant is None:
        return False
    asked = timeline.events_from(participant, ev.JoinStarted, ev.JoinSucceeded, ev.SyncSucceeded).last(time_of(lost))
    if asked is None or isinstance(asked, ev.SyncSucceeded):
        return False
    waited = time_of(lost) - time_of(asked)
    limits = _join_limits(timeline) if isinstance(asked, ev.JoinStarted) else _requests(timeline)
    return any(limit <= waited <= limit + windows.HEARTBEAT_MS for limit in limits)


@cached_answer
def _join_limits(timeline: Timeline) -> frozenset[int]:
    polls = timeouts.configured_ms(timeline, timeouts.POLL)
    return frozenset(max(request, poll + timeouts.JOIN_LAPSE) for request in _requests(timeline) for poll in polls)


@cached_answer
def _requests(timeline: Timeline) -> frozenset[int]:
    return timeouts.configured_ms(timeline, timeouts.REQUEST)


def _commit_not_written(timeline: Timeline, lost: Event) -> bool:
    """True if a member gave up its coordinator after a failed commit and found the same broker again at once.

    If another broker is out at that time, that outage is why the write failed, and the coordinator serves nobody.
    """
    who, at = timeline.participants.of_speaker(lost), time_of(lost)
    if who is None or not isinstance(lost, ev.CoordinatorLost) or lost.coordinator is None:
        return False
    found = timeline.coordinator_found(who, at, at + windows.ROUND_TRIP_MS)
    again = found is not None and found.coordinator == lost.coordinator
    return again and write_failed(timeline, lost) and not outages_of_other_brokers(timeline, lost.coordinator, at, at)


def _restarts_of_others(timeline: Timeline) -> Iterator[CoordinatorMove]:
    """Restarts of brokers that did not coordinate this group."""
    for outage in broker_outages(timeline):
        if outage.how in ("shut-down", "failed", "lost"):
            yield CoordinatorMove(outage.started_at, outage.broker, (), shown_by=None, until=outage.started_at)


def _lost_by_most(timeline: Timeline, run: list[Event]) -> CoordinatorMove | None:
    """Most members with a log lost the same coordinator within seconds."""
    heard = [a for a in timeline.membership.members if a.has_log]
    participants = {timeline.participants.of_speaker(e) for e in run} - {None}
    brokers = [e.coordinator for e in run if isinstance(e, ev.CoordinatorLost) and e.coordinator is not None]
    broker = brokers[0] if brokers else stopped_around(timeline, run)
    if (
        broker is None
        or len(participants) < 2
        or 2 * len(participants) <= len(heard)
        or _lost_at_different_times(timeline, run)
        # A broker that responds with NOT_COORDINATOR keeps the connection open.
        or not (
            any(isinstance(e, ev.CoordinatorLost) and e.disconnected for e in run)
            or _of_a_member(timeline, run)
            or stopped_around(timeline, run)
        )
    ):
        return None
    return _of_run(timeline, run, broker, LOST_BY_MOST, until=_found_again(timeline, run))


def _found_again(timeline: Timeline, run: Sequence[Event]) -> int:
    """The time at which the first of these members found a coordinator again, but not before the run's last line."""
    last = {timeline.participants.of_speaker(e): time_of(e) for e in run}
    finds = (timeline.coordinator_found(who, at) for who, at in last.items() if who is not None)
    return max(time_of(run[-1]), min((time_of(e) for e in finds if e is not None), default=0))


def _of_run(
    timeline: Timeline, run: Sequence[Event], broker: int | str | None, shown_by: Row, until: int = 0
) -> CoordinatorMove:
    first, last = time_of(run[0]), max(time_of(run[-1]), until)
    behind = outages_of_other_brokers(timeline, broker, first, last) if shown_by is not FOUND_ANOTHER else []
    moved = any(isinstance(e, ev.CoordinatorLost) and _next_found(timeline, e) != e.coordinator for e in run)
    if moved or not behind:
        return CoordinatorMove(first, broker, tuple(run[:_MOST_LINES]), shown_by, until=last)
    lines = (*[line for line in behind[0].lines if time_of(line) <= last], *run)[:_MOST_LINES]
    return CoordinatorMove(first, behind[0].broker, lines, shown_by, until=last, served_by=broker)


def _answered(timeline: Timeline, run: list[Event]) -> CoordinatorMove | None:
    """The move shown by a broker that responded to a running client with NOT_COORDINATOR; None if it is unknown."""
    # A client that is cut off gets no response, so one member's line distinguishes a move from a broken connection. A
    # client that may not have joined yet proves nothing (_was_member).
    named = [e.coordinator for e in run if isinstance(e, ev.CoordinatorLost)] + [_found_before(timeline, run[0])]
    # KafkaJS knows brokers by their listener addresses.
    nodes = [e.node for e in run if isinstance(e, ev.CoordinatorLost) and e.node]
    broker = next((number for number in (*named, *nodes) if number is not None), None)
    if broker is None:
        return None
    return _of_run(timeline, run, broker, ANSWERED if _of_a_member(timeline, run) else REFUSED_A_STARTER)


def _refused_again(timeline: Timeline, settled: int) -> Iterator[CoordinatorMove]:
    """Moves shown by a client whose requests brokers refuse until it rejoins: none of them coordinates the group."""
    # A single refused JoinGroup is normal: brokers may not agree yet on the leader of the offsets partition.
    refused: dict[object, list[Event]] = defaultdict(list)
    for event in timeline.group_events.of_type(
        *_ANSWERED, *_JOINING, ev.JoinSucceeded, ev.JoinReported, ev.SyncSucceeded
    ):
        speaker = timeline.participants.of_speaker(event) or place_name(event)
        if isinstance(event, ev.JoinSucceeded | ev.JoinReported | ev.SyncSucceeded):
            yield from _repeated_refusals(timeline, refused.pop(speaker, []))
        elif event.at is None or event.at <= settled or _still_starting(timeline, event):
            continue
        elif error_of(event) == _MOVED or _is_not_ready(event) or _gives_up_found_coordinator(timeline, event):
            refused[speaker].append(event)
    for events in refused.values():
        yield from _repeated_refusals(timeline, events)


def _repeated_refusals(timeline: Timeline, refused: Sequence[Event]) -> Iterator[CoordinatorMove]:
    # Clients log why a JoinGroup failed, and again why they send the next one: only two lines of one type count.
    kinds = Counter(type(e) for e in refused)
    if max(kinds.values(), default=0) < 2 and not any(map(_is_conclusive_refusal, refused)):
        return
    # The broker that the client found last may be the one that is loading the group, not its former coordinator.
    between = all(map(_is_not_ready, refused))
    broker = None if between else _found_before(timeline, refused[-1])
    yield _of_run(timeline, refused, broker, BETWEEN if between else REFUSED_AGAIN)


def _is_conclusive_refusal(event: Event) -> bool:
    """True if a single such line is enough: brokers send this response only to members."""
    if isinstance(event, ev.CoordinatorLost):
        return error_of(event) == _MOVED
    return not isinstance(event, ev.JoinFailed | ev.JoinRequested)


def _gives_up_found_coordinator(timeline: Timeline, event: Event) -> bool:
    """True if a client gives up the coordinator that it has just found and logs no reason."""
    # Clients before 2.0 do not log the reason. A broken connection takes longer to fail and has its own line.
    if not isinstance(event, ev.CoordinatorLost) or event.cause is not None or event.disconnected:
        return False
    who, at = timeline.participants.of_speaker(event), time_of(event)
    if who is None or _has_own_reason(timeline, event):
        return False
    found = timeline.coordinator_found(who, at - windows.ROUND_TRIP_MS, at)
    broken = timeline.events_from(who, ev.NodeDisconnected).any_between(at - windows.ROUND_TRIP_MS, at)
    return not broken and found is not None and found.coordinator == event.coordinator


def _found_before(timeline: Timeline, refused: Event) -> int | None:
    """The last coordinator found before a line; if times are in whole seconds, the order of the lines decides."""
    number = None
    for event in timeline.group_events.of_type(ev.CoordinatorFound, type(refused)).between(
        timeline.first, time_of(refused)
    ):
        if event is refused:
            break
        if isinstance(event, ev.CoordinatorFound) and event.coordinator is not None:
            number = event.coordinator
    return number


def _found_another(timeline: Timeline, run: list[Event]) -> CoordinatorMove | None:
    """The move shown by a member that lost its coordinator and then found another one; None if there is none."""
    # A client that is cut off finds the same broker again. Brokers that are not aware of the move yet may still name
    # the former coordinator for a while.
    lost = (e for e in run if isinstance(e, ev.CoordinatorLost))
    broker = next((e.coordinator for e in lost if e.coordinator not in (None, _next_found(timeline, e))), None)
    if broker is None or not _of_a_member(timeline, run):
        return None
    return _of_run(timeline, run, broker, FOUND_ANOTHER, until=_found_again(timeline, run))


def _connection_refused(timeline: Timeline, run: list[Event]) -> CoordinatorMove | None:
    """The move shown by refused connections to the coordinator, because no process listens there; else None."""
    refused: list[Event] = [e for e in run if isinstance(e, _CONNECTING) and e.connection_refused]
    if not refused or not _of_a_member(timeline, run):
        return None
    return _of_run(timeline, refused, _found_before(timeline, refused[0]), UNREACHABLE, until=time_of(run[-1]))


def _lost_as_it_stopped(timeline: Timeline, settled: int) -> Iterator[CoordinatorMove]:
    """Moves shown by a client that gives up its coordinator while that broker logs its shutdown."""
    lost_then = [e for e in timeline.of(ev.CoordinatorLost) if (e.at or 0) > settled]
    for lost in (e for e in lost_then if not _has_own_reason(timeline, e)):
        near = time_of(lost) - windows.REQUEST_TIMEOUT_MS, time_of(lost) + windows.ROUND_TRIP_MS
        stops = [e for e in stops_and_starts(timeline).between(*near) if isinstance(e, ev.BrokerStopped)]
        of_it = [e for e in stops if affected_broker(e) == lost.coordinator is not None]
        if of_it:
            yield _of_run(timeline, [of_it[0], lost], lost.coordinator, SHUT_DOWN)


def _next_found(timeline: Timeline, lost: ev.CoordinatorLost) -> int | None:
    """The coordinator that the member found next, within the time of a move; otherwise the one it lost."""
    # A coordinator may be found and given up within one millisecond: the order of the lines decides.
    at, who = time_of(lost), timeline.participants.of_speaker(lost)
    lines = timeline.events_from(who, ev.CoordinatorFound, ev.CoordinatorLost)
    near = lines.between(at - windows.ROUND_TRIP_MS, at + windows.ONE_REBALANCE_MS)
    place = next((number for number, event in enumerate(near) if event is lost), len(near))
    before = [e.coordinator for e in near[:place] if isinstance(e, ev.CoordinatorFound)]
    # librdkafka gives up the former coordinator after it has learned of the next one (rd_kafka_cgrp_coord_update).
    if before and before[-1] != lost.coordinator:
        return before[-1]
    after = (e.coordinator for e in near[place:] if isinstance(e, ev.CoordinatorFound))
    return next(after, lost.coordinator)


def _is_not_ready(event: Event) -> bool:
    """True if the broker that responded to a member is stopping or has not loaded the group yet."""
    # A cluster that has just started also fails JoinGroup this way. A stopping coordinator responds to heartbeats with
    # COORDINATOR_NOT_AVAILABLE (GroupCoordinator.validateGroupStatus); commits get it also if __consumer_offsets cannot
    # be written.
    error = getattr(event, "error", None)
    asks = isinstance(event, ev.HeartbeatFailed | ev.JoinFailed | ev.JoinRequested)
    return error == "COORDINATOR_LOAD_IN_PROGRESS" or (asks and error == "COORDINATOR_NOT_AVAILABLE")


def _lost_at_different_times(timeline: Timeline, run: list[Event]) -> bool:
    # Members notice a dead coordinator within one heartbeat interval; members that are slow themselves lose it one by
    # one.
    first = {timeline.participants.of_speaker(e): time_of(e) for e in reversed(run)}
    times = sorted(first.values())
    reach = max(windows.NEXT_HEARTBEAT_MS, 2 * timeouts.heartbeat_interval_ms(timeline))
    return min(later - earlier for earlier, later in pairwise(times)) > reach


def _has_own_reason(timeline: Timeline, lost: Event) -> bool:
    """True if a member gave up its coordinator for another reason than a move."""
    starting_or_denied = _still_starting(timeline, lost) or _is_denied(timeline, lost)
    return starting_or_denied or _timed_out_while_joining(timeline, lost) or _commit_not_written(timeline, lost)


def _is_denied(timeline: Timeline, event: Event) -> bool:
    # A client that loses its permission on the group gives up its coordinator as well; a broker that refuses a login
    # (SaslAuthenticationException) closes the connection.
    participant, at = timeline.participants.of_speaker(event), time_of(event)
    if participant is None:
        return False
    closed = timeline.events_from(participant, ev.NodeDisconnected).between(at - windows.ROUND_TRIP_MS, at)
    if any(isinstance(e, ev.NodeDisconnected) and e.cause == "authentication failed" for e in closed):
        return True
    denials = denied(timeline).get(participant, [])
    return any(at - windows.AT_ONCE_MS < time_of(e) < at + windows.AT_ONCE_MS for e in denials)


def _still_starting(timeline: Timeline, event: Event) -> bool:
    # A process that has not joined yet may search for its coordinator for a while without any move.
    starts = timeline.starts.of(timeline.participants.of_speaker(event))
    return starts.last(event.at or 0) is not None and not _was_member(timeline, event)


def _was_member(timeline: Timeline, event: Event) -> bool:
    """True if a line shows an earlier membership: a join, or a log that began more than a session before."""
    # Requests of starting clients fail repeatedly while `__consumer_offsets` is created or moves; a lost coordinator
    # proves nothing either if the first lines of a client are missing.
    participant, at = timeline.participants.of_speaker(event), event.at or 0
    # The first ConsumerGroupHeartbeat (KIP-848) replaces JoinGroup: its failure does not show a member.
    if isinstance(event, ev.HeartbeatFailed) or ended_its_session(event):
        return True
    lines = timeline.events_from(participant, *OF_MEMBERS)
    if participant is None or any((e.at or 0) <= at and shows_member(e) for e in lines):
        return participant is not None
    if timeline.starts.of(participant).last(at) is not None:
        return False
    return any(log.begin < at - timeouts.session_timeout_ms(timeline) for log in timeline.coverage.of(participant))


def _of_a_member(timeline: Timeline, run: Iterable[Event]) -> bool:
    return any(_was_member(timeline, event) for event in run)


def _is_loss(timeline: Timeline, event: Event) -> bool:
    if isinstance(event, ev.GroupHeartbeatFailed) and event.error not in (_MOVED, "COORDINATOR_NOT_AVAILABLE"):
        return False
    return not _has_own_reason(timeline, event)


def _is_refusal(timeline: Timeline, event: Event) -> bool:
    return error_of(event) == _MOVED and not _still_starting(timeline, event) and not _is_denied(timeline, event)


class CoordinatorMove(Struct, frozen=True):
    """A move: the broker that lost the group, or kept its coordinator from serving it, and the lines that show it."""

    at: int
    broker: int | str | None
    """Its id, else the address by which its client knows it; None if no line names it."""
    events: tuple[Event, ...]
    shown_by: Row | None
    """None for the restart of a broker that did not coordinate the group: it shows the pace of a rolling restart."""
    until: int
    served_by: int | str | None = None
    """The coordinator that kept running but could not serve the group while `broker` was down."""


class _ByMembers(Struct, frozen=True):
    """A way in which members' lines show a move: the event types, a filter, and a function from a run to its move."""

    types: tuple[type[Event], ...]
    may_show: Callable[[Timeline, Event], bool]
    shown: Callable[[Timeline, list[Event]], CoordinatorMove | None]

    def moves(self, timeline: Timeline, settled: int) -> Iterator[CoordinatorMove]:
        """The moves after `settled` that these lines show."""
        lines = [e for e in timeline.of(*self.types) if time_of(e) > settled and self.may_show(timeline, e)]
        found = (self.shown(timeline, run) for run in runs(lines, time_of, windows.PROCESS_START_MS))
        return (move for move in found if move is not None)


_LOSSES = _ByMembers((ev.CoordinatorLost, ev.GroupHeartbeatFailed), _is_loss, _lost_by_most)
_FINDS = _ByMembers((ev.CoordinatorLost,), _is_loss, _found_another)
_REFUSED_CONNECTIONS = _ByMembers(_CONNECTING, _is_loss, _connection_refused)
_ANSWERS = _ByMembers(_ANSWERED, _is_refusal, _answered)


def _with_members(timeline: Timeline, settled: int, moves: Iterable[CoordinatorMove]) -> list[CoordinatorMove]:
    """The moves after the group's first generation, at times when it had a member whose process was not closing."""
    return [move for move in moves if move.at > settled and _has_members(timeline, move.at)]


def _has_members(timeline: Timeline, at: int) -> bool:
    known = timeline.membership.members_at(at, within_ms=windows.ROUND_TRIP_MS)
    members = [member for member in known if timeline.is_followed(member, at)]
    # Members that considered their own session expired are still members when the next coordinator loads the group,
    # unless they came back before and then left by LeaveGroup.
    lost = timeline.departures.between(at - windows.ONE_REBALANCE_MS, at + windows.ROUND_TRIP_MS)
    last = {d.participant: d for d in lost}
    members += [d.participant for d in last.values() if _is_expired_by_client(d)]
    if not members:
        # Coordinators before 2.0 log no join: a generation has members until they leave or a line shows it empty.
        formed = timeline.of(ev.GenerationStabilized, ev.GroupEmptied).last(at)
        unnamed = (
            isinstance(formed, ev.GenerationStabilized)
            and time_of(formed) >= (timeline.coverage.shown_since(at) or 0)
            and not timeline.departures.any_between(time_of(formed), at)
        )
        return unnamed or timeline.membership.is_unknown_at(at)
    return not all(timeline.closed_by(member, at + windows.ROUND_TRIP_MS, until=at) for member in members)


def effects_of_moves(timeline: Timeline, chain: list[CoordinatorMove]) -> tuple[Fact, ...]:
    """The rejoins, returns and rebalances after each move, and the members whose sessions expired because of it."""
    # A member that had left by itself, for example because of a poll timeout, does not come back because of a move.
    found: list[Fact] = []
    left, cut_off = {d.id for d in timeline.departures if d.why not in UNANNOUNCED}, _closed_without_a_broker(timeline)
    for move in chain:
        begin, end = move.at - windows.ROUND_TRIP_MS, move.until + windows.PROCESS_START_MS
        requests = timeline.requests.between(begin, end)
        found += [
            r
            for r in requests
            if r.why in ("other", "member-rejoined", "leader-rejoined") or knows_no_partition_yet(timeline, r)
        ]
        departures = timeline.departures.between(begin, end)
        found += [
            d
            for d in departures
            if d.why in UNANNOUNCED
            and (d.returned is not None or (_is_expired_by_client(d) and move.at <= d.at <= move.until))
        ]
        later = timeline.departures.since(begin)
        found += [
            d
            for d in later
            if _expired_by_former_coordinator(timeline, d, move)
            or _expired_after_it_rejoined(timeline, d, move)
            or _session_lost_in_move(timeline, d, move)
        ]
        arrivals = timeline.arrivals.between(begin, end)
        found += [a for a in arrivals if not a.first and a.start is None and (a.ends is None or a.ends.id not in left)]
        blocked = [d for d in later if _blocked_by_broker(timeline, d, move)]
        blocked += [d for d in later if begin <= cut_off.get(d.id, 0) <= end]
        found += with_rebalances(timeline, [*blocked, *(d.returned for d in blocked if d.returned is not None)])
        following = timeline.rebalances.between(begin, end)
        near = 2 * windows.ROUND_TRIP_MS - 1
        found += [r for r in following if not timeline.moves(r.started_at - near, r.started_at + near)]
    return tuple(dict.fromkeys(found))


def load_that_restarted(timeline: Timeline, departure: Departure) -> ev.GroupLoaded | None:
    """The load of the group that restarted the session that expired in this departure; None if there is none."""
    if departure.why != "session-expired":
        return None
    session = timeouts.shown_session_ms(timeline)
    begin, end = departure.at - windows.ONE_REBALANCE_MS, departure.at
    if session is not None:
        begin, end = (departure.at - session + way * windows.ROUND_TRIP_MS for way in (-1, 1))
    speakers = {e.speaker.broker for e in departure.events if e.speaker.role == "broker"}
    loads = [e for e in timeline.of(ev.GroupLoaded).between(begin, end) if e.speaker.broker in speakers]
    load = loads[-1] if loads else None
    if load is None or session is not None:
        return load
    stable = not timeline.rebalances.any_between(time_of(load), departure.at - windows.TICK_MS)
    return load if stable and _all_expire_together(timeline, departure) else None


def _all_expire_together(timeline: Timeline, departure: Departure) -> bool:
    """True if every member of the group expires in one tick of the coordinator's timers."""
    # Heartbeats of members that ran on after the load come at times of their own, and so do the ends of their sessions.
    begin, end = departure.at - windows.TICK_MS, departure.at + windows.TICK_MS
    expired = {d.participant for d in timeline.departures.between(begin, end) if d.why == "session-expired"}
    members = timeline.membership
    return len(expired) > 1 and members.number_at(begin) <= len(expired) and expired >= set(members.members_at(begin))


def _blocked_by_broker(timeline: Timeline, departure: Departure, move: CoordinatorMove) -> bool:
    """True if the member's own log shows that it waited for this broker for most of the allowed time."""
    if departure.at < move.at - windows.ROUND_TRIP_MS or move.broker is None:
        return False
    if any(unreachable.broker == move.broker for unreachable in unreachable_before(timeline, departure)):
        return True
    # The longest time without a heartbeat, or without poll(), before it loses its membership.
    poll = timeouts.shown_poll_ms(timeline, departure.events) or windows.REQUEST_TIMEOUT_MS
    allowed = timeouts.session_timeout_ms(timeline) if departure.why in UNANNOUNCED else poll
    return any(2 * waited >= allowed for waited in _waits(timeline, departure, move))


def _waits(timeline: Timeline, departure: Departure, move: CoordinatorMove) -> Iterator[int]:
    """Its waits since the move, in ms: for a response of that broker, or for a coordinator."""
    if departure.why != "poll-timeout" and (departure.why not in UNANNOUNCED or departure.returned is None):
        return
    member = departure.participant
    given_up = timeline.events_from(member, ev.NodeDisconnected).between(
        move.at, departure.at + windows.PROCESS_START_MS
    )
    for event in given_up:
        if broker_of(event) == move.broker and departure.at >= time_of(event) - _age(event):
            yield _age(event)
    for lost in timeline.events_from(member, ev.CoordinatorLost).between(move.at, departure.at):
        found = timeline.coordinator_found(member, time_of(lost))
        if lost.coordinator in (None, move.broker) and (
            found is None or time_of(found) >= departure.at - windows.ROUND_TRIP_MS
        ):
            yield departure.at - time_of(lost)


def _age(event: ev.NodeDisconnected) -> int:
    """The age of the request that was given up, in ms."""
    # Releases before 3.1 do not log it.
    if event.elapsed_ms is not None:
        return event.elapsed_ms
    return windows.REQUEST_TIMEOUT_MS if event.cause == "request timeout" else 0


def _closed_without_a_broker(timeline: Timeline) -> dict[str, int]:
    """Departure id -> when its client stopped because it reached no broker (KafkaJS); an eviction comes later."""
    found: dict[str, int] = {}
    for absence in closings(timeline):
        if any(map(is_of_a_connection, exception_before(timeline, absence)[:1])):
            found |= {d.id: absence.stop.at if absence.stop is not None else absence.at for d in absence.departures}
    return found


def _is_expired_by_client(departure: Departure) -> bool:
    # aiokafka and librdkafka consider their session expired even if no coordinator is there to expire it.
    first = min(departure.events, key=time_of, default=None)
    return departure.why in ("session-expired", "expelled") and first is not None and first.speaker.role != "broker"


def _expired_by_former_coordinator(timeline: Timeline, departure: Departure, move: CoordinatorMove) -> bool:
    # A broker that resumes after a pause expires all sessions until it learns that it no longer coordinates the group.
    if departure.why not in UNANNOUNCED or not all(e.speaker.broker == move.broker for e in departure.events):
        return False
    if departure.stayed:
        return True
    loads = timeline.of(ev.GroupLoaded).between(move.at - windows.PROCESS_START_MS, departure.at)
    return bool(loads) and loads[-1].speaker.broker != move.broker


def _expired_after_it_rejoined(timeline: Timeline, departure: Departure, move: CoordinatorMove) -> bool:
    # A member that its former coordinator evicted joins the new coordinator under another id. The new coordinator
    # loads its old id with the group and expires it one session later.
    former = _expired_elsewhere(timeline).get((departure.participant, departure.member))
    if former is None or former.at >= departure.at or not _expired_by_former_coordinator(timeline, former, move):
        return False
    return timeline.arrivals.of(departure.participant).any_between(former.at, departure.at)


@cached_answer
def _expired_elsewhere(timeline: Timeline) -> Mapping[tuple[Participant, str | None], Departure]:
    return {(d.participant, d.member): d for d in reversed(timeline.departures) if d.stayed}


def _session_lost_in_move(timeline: Timeline, departure: Departure, move: CoordinatorMove) -> bool:
    # Every session restarts when the group is loaded, so a member that expires one session later never reached the new
    # coordinator. A process that crashed or restarted then has another cause, as does a group that ends up empty.
    load = load_that_restarted(timeline, departure)
    if load is None or load not in move.events:
        return False
    begin, ends = time_of(load) - windows.ONE_REBALANCE_MS, timeline.coverage.ends(departure.participant)
    if timeline.starts.of(departure.participant).any_between(begin, departure.at):
        return False
    if departure.returned is not None:
        return True
    later = (g for g in timeline.generations if (g.reached_at or 0) >= departure.at)
    return (ends is None or ends >= departure.at) and any(g.members for g in later)
