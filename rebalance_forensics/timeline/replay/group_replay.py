"""The replay of a group's lines, oldest first: departures, arrivals, static returns, rebalances and generations.

One pass over the events, then corrections that need the whole history: reasons of leaves, members that closed or died
without a LeaveGroup, restarts within the session of a static member.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import StaticMemberKept
from rebalance_forensics.events.rebalances import AssignmentComputed, HeartbeatFailed, JoinSucceeded, SyncSucceeded
from rebalance_forensics.events.streams import StreamsParticipants
from rebalance_forensics.timeline.coordinators import lines_of_former_coordinators
from rebalance_forensics.timeline.coverage import Coverage
from rebalance_forensics.timeline.event_index import EventIndex, time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, Rebalance, Start, StaticReturn, numbered
from rebalance_forensics.timeline.identity.participants import Participant, Participants
from rebalance_forensics.timeline.model import Generation
from rebalance_forensics.timeline.processes import Processes, closed_at_last, final_deaths
from rebalance_forensics.timeline.replay.drafts import DepartureDraft, finished
from rebalance_forensics.timeline.replay.generations import (
    OF_EPOCHS,
    EpochSlot,
    Generations,
    GroupEpochs,
    Slot,
    generation_of,
    generations_of,
    rebalance_of,
    rebalances_of,
)
from rebalance_forensics.timeline.replay.leave_reasons import reclassify_unsubscribes, remove_by_admin
from rebalance_forensics.timeline.replay.membership_replay import MembershipReplay
from rebalance_forensics.timeline.replay.missed_rebalances import departures_by_missed_rebalance
from rebalance_forensics.timeline.replay.partition_takeovers import departures_by_takeover
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import REQUEST_MS, ROUND_TRIP_MS, TICK_MS


class Replayed(Struct, frozen=True):
    """The history of a group's membership, oldest first."""

    departures: tuple[Departure, ...]
    arrivals: tuple[Arrival, ...]
    returns: tuple[StaticReturn, ...]
    rebalances: tuple[Rebalance, ...]
    generations: tuple[Generation, ...]


def replayed(
    participants: Participants,
    processes: Processes,
    events: EventIndex,
    ungrouped: EventIndex,
    *,
    coverage: Coverage,
    session_ms: int | None,
) -> Replayed:
    """Replay a group's own `events`; `session_ms` is the session timeout, where it is known.

    In an excerpt a missing JoinGroup proves nothing, so no departure is inferred from it.
    """
    former = lines_of_former_coordinators(events)
    membership, classic, epochs = (
        MembershipReplay(participants, processes.starts),
        Generations(participants),
        GroupEpochs(participants),
    )
    inferred = [
        *([] if coverage.is_excerpt else departures_by_missed_rebalance(participants, events)),
        *departures_by_takeover(participants, processes.starts, events, coverage=coverage, session_ms=session_ms),
    ]
    absent = deque(sorted(inferred, key=attrgetter("joined_at")))
    for event in events:
        while absent and event.at is not None and event.at >= absent[0].joined_at:
            membership.infer_departure(absent.popleft())
        if id(event) in former.too_late:
            continue
        if id(event) in former.evicting:
            membership.record_stale_eviction(event)
            continue
        membership.apply(event)
        if event.group is not None or isinstance(event, StreamsParticipants):
            classic.apply(event, membership.live)
            if type(event) in OF_EPOCHS:
                epochs.apply(event, membership.live)
    membership.name_newcomers()
    slots = [s for s in classic.finished() if not epochs.absorbs(s)]
    bumps = epochs.finished()
    generations, rebalances = (
        _generations(participants, slots, bumps),
        _rebalances(classic, slots, bumps, membership.rejoins),
    )
    # A Streams instance that closes sends no LeaveGroup (internal.leave.group.on.close).
    for stop in closed_at_last(participants, processes.stops, events) if participants.kind == "streams" else ():
        membership.end(stop.participant, stop.at, "closed", stop.events)
    for participant, death in final_deaths(participants, events, coverage):
        membership.end(participant, time_of(death), "died", (death,))
    reclassify_unsubscribes(membership.departures, processes.stops)
    remove_by_admin(membership.departures, processes.stops, streams=participants.kind == "streams")
    _infer_unlogged_leaves(participants, membership.departures, events, session_ms)
    _keep_restarted(membership.departures, processes.starts, rebalances)
    departures, arrivals = finished(membership.departures, membership.arrivals)
    returns = numbered("return", sorted(membership.returns, key=attrgetter("at")))
    returns = tuple(_with_kept_lines(returns, ungrouped))
    return Replayed(departures, arrivals, returns, rebalances, generations)


def _generations(
    participants: Participants, slots: Sequence[Slot], bumps: Sequence[EpochSlot]
) -> tuple[Generation, ...]:
    classic: list[Generation] = []
    for index, slot in enumerate(slots):
        following = slots[index + 1] if index + 1 < len(slots) else None
        classic.append(generation_of(slot, classic[-1] if classic else None, following, participants))
    began = [(slot.first_at(), generation) for slot, generation in zip(slots, classic, strict=True)]
    began += [(slot.first_at or 0, generation) for slot, generation in zip(bumps, generations_of(bumps), strict=True)]
    return tuple(generation for _, generation in sorted(began, key=lambda b: (b[0], b[1].generation)))


def _rebalances(
    classic: Generations, slots: Sequence[Slot], bumps: Sequence[EpochSlot], rejoins: Iterable[tuple[int, int]]
) -> tuple[Rebalance, ...]:
    found = [rebalance_of(slot) for slot in slots if slot.stabilized or slot.joined or slot.prepared]
    without_end = (*classic.passed_over, *classic.unfinished)
    found += [Rebalance(generation=None, started_at=p.at or 0, events=(p,)) for p in without_end]
    found += rebalances_of(bumps)
    again = [(out - REQUEST_MS, back + REQUEST_MS) for out, back in rejoins]
    found = [replace(r, followup="rejoin") if _is_within(again, r.started_at) else r for r in found]
    return numbered("rebalance", sorted(found, key=lambda r: (r.started_at, r.generation or 0)))


def _is_within(spans: Iterable[tuple[int, int]], at: int) -> bool:
    return any(begin <= at <= end for begin, end in spans)


def _infer_unlogged_leaves(
    participants: Participants, departures: Iterable[DepartureDraft], events: Sequence[Event], session_ms: int | None
) -> None:
    """Reclassify as `left` the dynamic members that a generation lacks before their session could have expired."""
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
            departure.why = "left"


def _answered(participants: Participants, events: Sequence[Event]) -> dict[Participant, TimeIndex[Event]]:
    """The answers that each member got from its coordinator: its session starts anew with each of them."""
    found: dict[Participant, list[Event]] = defaultdict(list)
    for event in events:
        rebalancing = isinstance(event, HeartbeatFailed) and event.error == "REBALANCE_IN_PROGRESS"
        if event.at is not None and (rebalancing or isinstance(event, JoinSucceeded | SyncSucceeded)):
            participant = participants.of_speaker(event)
            if participant is not None:
                found[participant].append(event)
    return {participant: TimeIndex(answers, time_of) for participant, answers in found.items()}


def _formed_without(participants: Participants, departure: DepartureDraft) -> int | None:
    """When the first generation without the member was created."""
    events = [e for e in departure.events if participants.of_speaker(e) is not departure.participant]
    events += departure.returned.events if departure.returned is not None else []
    formed = [e.at for e in events if isinstance(e, JoinSucceeded | AssignmentComputed) and e.at is not None]
    return min((at for at in formed if at >= departure.at), default=None)


def _keep_restarted(
    departures: dict[DepartureDraft, None], starts: Sequence[Start], rebalances: Sequence[Rebalance]
) -> None:
    """Undo departures of static members that only a restart shows: within the session they are members (KIP-345)."""
    # One that came back as a new member, or made the group rebalance, had been removed.
    last = max((r.started_at for r in rebalances), default=0)
    of_a_start = {id(e) for start in starts for e in start.events}
    for departure in [
        d for d in departures if d.why == "vanished" and d.returned is None and d.participant.instance_ids
    ]:
        if departure.at >= last and all(id(e) in of_a_start for e in departure.events):
            del departures[departure]


def _with_kept_lines(returns: Iterable[StaticReturn], ungrouped: EventIndex) -> Iterator[StaticReturn]:
    """The returns with the coordinator's line that no rebalance is needed."""
    # It names neither member nor group, and follows the line about the member in the same log.
    kept = ungrouped.of_type(StaticMemberKept)
    for back in returns:
        yield replace(back, events=tuple(_with_kept(back.events, kept))) if kept else back


def _with_kept(events: Iterable[Event], kept: TimeIndex[StaticMemberKept]) -> Iterator[Event]:
    for event in events:
        yield event
        near = kept.between(time_of(event), time_of(event) + TICK_MS)
        behind = (line for line in near if line.origin.byte_offset > event.origin.byte_offset)
        yield from [line for line in behind if line.origin.path == event.origin.path][:1]
