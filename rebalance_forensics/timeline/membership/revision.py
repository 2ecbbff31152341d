"""The revision pass: corrects the departures of the replay by the whole history of the group.

It covers members that closed or died without a LeaveGroup, departures whose reason a later line corrects, and restarts
of static members within their session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clocks.group_clock import TimedLines
from rebalance_forensics.timeline.coverage import Coverage
from rebalance_forensics.timeline.event_index import EventIndex, time_of
from rebalance_forensics.timeline.facts import Departure, Rebalance, Start, StaticReturn, Stop, amend
from rebalance_forensics.timeline.identity.participants import Participant, Participants
from rebalance_forensics.timeline.membership.replay import MembershipReplay
from rebalance_forensics.timeline.processes import Processes, closed_at_last, final_deaths
from rebalance_forensics.timeline.time_index import TimeIndex, lists_by_key
from rebalance_forensics.timeline.windows import REQUEST_TIMEOUT_MS, ROUND_TRIP_MS, TICK_MS


def revise(
    membership: MembershipReplay,
    processes: Processes,
    lines: TimedLines,
    rebalances: Sequence[Rebalance],
    *,
    coverage: Coverage,
    session_ms: int | None,
) -> None:
    """Correct the transitions by the whole history; `session_ms` is the session timeout, None if unknown."""
    participants, streams = membership.participants, membership.participants.kind == "streams"
    membership.name_newcomers()
    # A Streams instance that closes sends no LeaveGroup (internal.leave.group.on.close).
    for stop in closed_at_last(participants, processes.stops, lines.group_events) if streams else ():
        membership.end(stop.participant, stop.at, "closed", stop.events)
    for participant, death in final_deaths(participants, lines.group_events, lines.process_events, coverage):
        membership.end(participant, time_of(death), "died", (death,))
    departures = [t for t in membership.transitions if isinstance(t, Departure)]
    _reclassify_unsubscribes(departures, processes.stops)
    _reclassify_removals(departures, processes.stops, streams=streams)
    _infer_unlogged_leaves(participants, departures, lines.group_events, session_ms)
    for departure in _restarts_in_time(departures, processes.starts, rebalances):
        del membership.transitions[departure]
    # The coordinator's line that no rebalance is needed names neither member nor group; it follows the line about the
    # member in the same log.
    kept = lines.ungrouped.of_type(ev.StaticMemberKept)
    for returned in membership.latest(StaticReturn) if kept else ():
        amend(returned, events=tuple(_with_kept(returned.events, kept)))


def _reclassify_unsubscribes(departures: Sequence[Departure], stops: Iterable[Stop]) -> None:
    # Reclassify as `closed` the members that unsubscribed before they closed, as some frameworks do. Their log shows
    # the stop of the process or the start of the next one; without logs, that all members unsubscribed shows it.
    wished = [d for d in departures if d.why == "unsubscribed"]
    without_log = {d.participant for d in wished if not d.participant.has_log}
    everybody = len(without_log) > 1 and without_log == {d.participant for d in departures}
    ended = lists_by_key((stop.participant, stop.at) for stop in stops)
    for departure in wished:
        back = departure.returned
        until = departure.at + REQUEST_TIMEOUT_MS if back is None else min(back.at, departure.at + REQUEST_TIMEOUT_MS)
        stopped = any(departure.at - ROUND_TRIP_MS <= at <= until for at in ended[departure.participant])
        # A subscription alone may be from a running process that subscribes again.
        signs = back.start.events if back is not None and back.start is not None else ()
        restarted = any(not isinstance(e, ev.Subscribed) for e in signs)
        # A Streams thread unsubscribes when it shuts down; applications cannot unsubscribe it.
        thread = departure.participant.kind == "instance"
        if stopped or restarted or thread or (everybody and departure.participant in without_log):
            amend(departure, why="closed")


def _reclassify_removals(departures: Iterable[Departure], stops: Sequence[Stop], *, streams: bool) -> None:
    # Reclassify as `removed-by-admin` the members that removeMembersFromConsumerGroup removed.
    # A static member sends no LeaveGroup, so one with a reason came from an administrator (KIP-345). Kafka Streams
    # makes that request itself when it closes or removes a thread (KIP-812, KafkaStreams.close).
    for departure in departures:
        reasons = {e.why for e in departure.events if isinstance(e, ev.MemberLeft)}
        participant = departure.participant
        removed = "removed-by-admin" in reasons or ("other" in reasons and participant.instance_ids)
        if not removed or departure.why not in ("left", "expelled", "removed-by-admin"):
            continue
        stopped = any(s.participant is participant and abs(s.at - departure.at) <= REQUEST_TIMEOUT_MS for s in stops)
        why = "closed" if stopped else "left" if streams and not participant.has_log else "removed-by-admin"
        amend(departure, why=why)


def _infer_unlogged_leaves(
    participants: Participants, departures: Iterable[Departure], events: EventIndex, session_ms: int | None
) -> None:
    """Reclassify as `left` dynamic members that are not in a generation before their session could have expired."""
    vanished = [d for d in departures if d.why == "vanished" and not d.participant.instance_ids]
    if session_ms is None or not vanished:
        return
    answered = _answered(participants, events)
    for departure in vanished:
        heard = answered[departure.participant].last(departure.at) if departure.participant in answered else None
        formed = _formed_without(participants, departure)
        if departure.participant.kind == "instance" or heard is None or formed is None:
            continue
        if formed - time_of(heard) < session_ms - ROUND_TRIP_MS:
            amend(departure, why="left")


def _answered(participants: Participants, events: EventIndex) -> dict[Participant | None, TimeIndex[Event]]:
    """The responses that each member got from its coordinator: each of them restarts its session."""
    answers = (
        e
        for e in events.of_type(ev.HeartbeatFailed, ev.JoinSucceeded, ev.SyncSucceeded)
        if not isinstance(e, ev.HeartbeatFailed) or e.error == "REBALANCE_IN_PROGRESS"
    )
    return TimeIndex(answers, time_of, ordered=True).by(participants.of_speaker)


def _formed_without(participants: Participants, departure: Departure) -> int | None:
    """When the first generation without the member was created."""
    events: list[Event] = [e for e in departure.events if participants.of_speaker(e) is not departure.participant]
    events += departure.returned.events if departure.returned is not None else []
    formed = [e.at for e in events if isinstance(e, ev.JoinSucceeded | ev.AssignmentComputed) and e.at is not None]
    return min((at for at in formed if at >= departure.at), default=None)


def _restarts_in_time(
    departures: Sequence[Departure], starts: Sequence[Start], rebalances: Sequence[Rebalance]
) -> list[Departure]:
    # The departures of static members that only a restart shows: within the session they are still members (KIP-345).
    # A member that came back as a new member, or triggered a rebalance, had been removed.
    last = max((r.started_at for r in rebalances), default=0)
    of_a_start = {id(e) for start in starts for e in start.events}
    vanished = [d for d in departures if d.why == "vanished" and d.returned is None and d.participant.instance_ids]
    return [d for d in vanished if d.at >= last and all(id(e) in of_a_start for e in d.events)]


def _with_kept(events: Iterable[Event], kept: TimeIndex[ev.StaticMemberKept]) -> Iterator[Event]:
    for event in events:
        yield event
        near = kept.between(time_of(event), time_of(event) + TICK_MS)
        behind = (line for line in near if line.origin.byte_offset > event.origin.byte_offset)
        yield from [line for line in behind if line.origin.path == event.origin.path][:1]
