"""Voluntary departures and fresh arrivals: closes with and without an exception, restarts, start-up and shutdown."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate, pairwise

from rebalance_forensics.diagnosis.absences import Absence, absences, runs, session_told_ms
from rebalance_forensics.diagnosis.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.heartbeat_loss import is_static, losses
from rebalance_forensics.diagnosis.reference.releases import logs_its_leaving
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalancing import AssignmentComputed, GenerationStabilized, GroupEmptied, SyncSucceeded
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.identity.names import is_bare_member_id
from rebalance_forensics.timeline.model import Generation
from rebalance_forensics.timeline.time_index import InTime
from rebalance_forensics.timeline.windows import (
    ADDED_MS,
    LONG_BEFORE_MS,
    ONE_SHUTDOWN_MS,
    RESTART_PAIR_MS,
    STARTUP_GAP_MS,
    STARTUP_SLACK_MS,
)

VOLUNTARY = ("closed", "left")


def closings(timeline: Timeline) -> list[Absence]:
    """Every absence by a member's own close: LeaveGroup, or a clean stop that sends none (Streams, static)."""
    return timeline.remembered(_closings)


def _closings(timeline: Timeline) -> list[Absence]:
    left = absences(timeline, VOLUNTARY)
    # A container that stops a consumer may unsubscribe it first, as Spring's does; the stop is what happened.
    left += [a for a in absences(timeline, ("unsubscribed",)) if ended_with_its_process(a)]
    quiet = [a for a in losses(timeline) if _closed_unheard(timeline, a)]
    return sorted([*left, *quiet], key=lambda a: (a.at, a.actor.name))


def ended_with_its_process(absence: Absence) -> bool:
    """Whether the process stopped, or another one started in its place."""
    return absence.stop is not None or absence.start is not None


def _closed_unheard(timeline: Timeline, absence: Absence) -> bool:
    """Its log says that it closed, or ends with an error where no LeaveGroup would have been logged."""
    if is_static(timeline, absence) or not absence.actor.has_log:
        return False
    if absence.stop is not None:
        return True
    gone = absence.start is None and absence.back_at is None
    alive = timeline.said_by(absence.actor, Event).first(absence.at + 1) is not None
    unheard = all(d.why == "vanished" for d in absence.departures) and not logs_its_leaving(timeline, absence.actor)
    return gone and not alive and unheard and bool(exception_before(timeline, absence))


def startup_arrivals(timeline: Timeline) -> list[list[Arrival]]:
    """For each time the group formed from nothing: the arrivals of that start, one soon after another."""
    return timeline.remembered(_startup_arrivals)


def born_with_the_group(timeline: Timeline) -> frozenset[str]:
    """The arrivals that formed the group, by identity: whoever came first replaces nobody."""
    return timeline.remembered(_born_with_the_group)


def _born_with_the_group(timeline: Timeline) -> frozenset[str]:
    return frozenset(a.id for run in startup_arrivals(timeline) for a in run)


def _startup_arrivals(timeline: Timeline) -> list[list[Arrival]]:
    found = []
    for run in runs(timeline.arrivals, lambda a: a.at, STARTUP_GAP_MS):
        if _into_an_empty_group(run) and _nobody_before(timeline, run[0]) and not _others_in(timeline, run):
            settled = _settled_after(timeline, run[0].at)
            born = [a for a in run if not _had_left(timeline, a, run[0].at) and _of_the_start(a, settled)]
            found.append([a for a in born if not _added_to_its_process(a, born, settled)])
    return [run for run in found if run]


def _had_left(timeline: Timeline, arrival: Arrival, since: int) -> bool:
    """Whether it ends an absence that began at `since` or later."""
    left = timeline.ended_by(arrival)
    return left is not None and left.at >= since


def _added_to_its_process(arrival: Arrival, born: list[Arrival], settled: int) -> bool:
    """A thread added to a running instance (KIP-663) has the process start of the threads that formed the group."""
    if arrival.actor.kind != "instance" or arrival.at <= settled + ADDED_MS:
        return False
    return any(a.actor is arrival.actor and a.start is arrival.start and a.at <= settled for a in born)


def _into_an_empty_group(run: list[Arrival]) -> bool:
    """Clients ask to join a little before the coordinator says that the group was empty."""
    return any(a.while_empty for a in run if a.at <= run[0].at + STARTUP_SLACK_MS)


def _others_in(timeline: Timeline, run: list[Arrival]) -> bool:
    """When logs begin in the middle of a group's life, its first generation holds members nobody saw arriving."""
    if _counted_in(timeline, run[0].at):
        return True
    came = {a.member for a in run}
    first = _first_generation(timeline, run[0].at)
    if first is None or first.generation == 1:
        return False
    counts = timeline.remembered(_member_counts)
    arrived = sum(a.at <= (first.completed_at or first.started_at or run[0].at) for a in run)
    unseen = {m.member_id for m in first.members if m.member_id} - came
    return bool(unseen) or counts.get(first.generation, 0) > arrived or _led_by_another(timeline, first)


def _counted_in(timeline: Timeline, at: int) -> bool:
    """Whether the coordinator counted more members than have left since."""
    last = timeline.of(GenerationStabilized).last(at - 1)
    if last is None or timeline.of(GroupEmptied).any_between(time_of(last), at):
        return False
    return (last.member_count or 0) > len(timeline.departures.between(time_of(last), at))


def _led_by_another(timeline: Timeline, first: Generation) -> bool:
    """From 2.4 on a leader logs that it leads: where nobody did, a member without a log was in before."""
    prints = bool(timeline.of(AssignmentComputed, SyncSucceeded))
    return prints and first.leader is None and not timeline.has_coordinator_log


def _reached_at(generation: Generation) -> int:
    return generation.completed_at or generation.started_at or 0


def _latest_reached(timeline: Timeline) -> list[int]:
    """For each generation, when the latest up to it was reached."""
    return [*accumulate(map(_reached_at, timeline.generations), max)]


def _first_generation(timeline: Timeline, at: int) -> Generation | None:
    """The first generation that was reached at that time or later."""
    latest = timeline.remembered(_latest_reached)
    place = bisect_left(latest, at)
    return timeline.generations[place] if place < len(latest) else None


def _member_counts(timeline: Timeline) -> dict[int, int]:
    """The most members that a generation was created with."""
    found: dict[int, int] = defaultdict(int)
    for event in timeline.of(GenerationStabilized):
        found[event.generation] = max(found[event.generation], event.member_count or 0)
    return found


def _settled_after(timeline: Timeline, at: int) -> int:
    """When the first generation after `at` was created; a newcomer that started later was added to it."""
    return next(timeline.remembered(_settled).onwards(at), at)


def _settled(timeline: Timeline) -> InTime[int]:
    return InTime((r.stabilized_at for r in timeline.rebalances if r.stabilized_at is not None), at=int)


def _of_the_start(arrival: Arrival, settled: int) -> bool:
    if arrival.start is not None:
        return arrival.start.at <= settled + 2_000
    return arrival.at <= settled + STARTUP_SLACK_MS


def _nobody_before(timeline: Timeline, first: Arrival) -> bool:
    populated = timeline.remembered(_populated_at)
    if populated is None or populated >= first.at - 5_000:
        return True
    return timeline.departures.last(first.at) is not None


def _populated_at(timeline: Timeline) -> int | None:
    """When the first generation with members was reached."""
    return min((_reached_at(g) for g in timeline.generations if g.members), default=None)


def shutdowns(timeline: Timeline) -> list[list[Absence]]:
    """Every time the last members went in good order, one soon after another."""
    return timeline.remembered(_shutdowns)


def _shutdowns(timeline: Timeline) -> list[list[Absence]]:
    static = [a for a in losses(timeline) if is_static(timeline, a)]
    unheard = {id(a) for a in static if a.stop is None}
    gone = [a for a in (*closings(timeline), *static) if a.back_at is None or _later(timeline, a)]
    ends = (_end_of(run) for run in runs(gone, lambda a: a.at, _one_shutdown_ms(timeline)))
    found = [group for group in ends if _all_left(timeline, group)]
    # A static member closes without a word before 2.7: one that expires was away too long, all of them were stopped.
    return [g for g in found if len({a.actor for a in g}) > 1 or not any(id(a) in unheard for a in g)]


def _one_shutdown_ms(timeline: Timeline) -> int:
    """How long after one member the next may follow: as long as the group waits for anyone that says nothing."""
    return max(ONE_SHUTDOWN_MS, session_told_ms(timeline) or 0)


def _end_of(run: list[Absence]) -> list[Absence]:
    """Whoever went long before the others, who then went in a row, was removed; the others were shut down."""
    gaps = [b.at - a.at for a, b in pairwise(run)]
    for place, gap in enumerate(gaps[:-1]):
        if gap >= LONG_BEFORE_MS and gap >= 4 * max(gaps[place + 1 :]):
            return _end_of(run[place + 1 :])
    return run


def _last_with_members(timeline: Timeline) -> int:
    """When the last generation that has members was created."""
    named = {g.generation for g in timeline.generations if g.members}
    known = (r for r in timeline.rebalances if r.generation in named or _counts_members(r))
    return max((r.stabilized_at or 0 for r in known), default=0)


def _counts_members(rebalance: Rebalance) -> bool:
    return any(isinstance(e, GenerationStabilized) and e.member_count for e in rebalance.events)


def _later(timeline: Timeline, away: Absence) -> bool:
    """It came back only after others had gone."""
    back = away.back_at or 0
    if back - away.at <= _one_shutdown_ms(timeline):
        return False
    return any(d.actor is not away.actor and d.at < back for d in timeline.remembered(_first_departures))


def _first_departures(timeline: Timeline) -> list[Departure]:
    """The first of each actor; two are enough to know the first of anybody else."""
    found: dict[Actor, Departure] = {}
    for departure in timeline.departures:
        found.setdefault(departure.actor, departure)
        if len(found) == 2:
            break
    return list(found.values())


def _all_left(timeline: Timeline, group: list[Absence]) -> bool:
    if any(exception_before(timeline, a) for a in group):
        return False
    last = max(d.at for a in group for d in a.departures)
    if timeline.remembered(_last_with_members) > last + 100:
        return False
    gone = {a.actor for a in group}
    for actor in timeline.actors():
        if actor in gone:
            continue
        came = timeline.arrivals.of(actor).last(last)
        went = timeline.departures.of(actor).last(last + 1_000)
        if went is None and _stopped_for_good(timeline, actor, last):
            continue
        if went is None and (came or timeline.said_by(actor, Event).first(last + 2_001)):
            return False
        if went is not None and came is not None and came.at > went.at:
            return False
    return bool(gone)


def _stopped_for_good(timeline: Timeline, actor: Actor, last: int) -> bool:
    """A static member that closed stays a member until its session expires, which the logs may not reach."""
    stop = timeline.stops.of(actor).last(last)
    return stop is not None and timeline.starts.of(actor).first(stop.at + 1) is None


@dataclass(slots=True, eq=False)
class Restart:
    """One actor went down and came up again, or an anonymous newcomer took its place."""

    away: Absence
    by: Actor
    up_at: int
    arrivals: tuple[Arrival, ...]


def restarts(timeline: Timeline) -> list[Restart]:
    """Every restart of a member: a close or a clean stop and a return; also an expiry with a new process."""
    return timeline.remembered(_restarts)


def _restarts(timeline: Timeline) -> list[Restart]:
    crashed = [a for a in losses(timeline) if _went_down(timeline, a) and _is_back(a)]
    downs = sorted([*closings(timeline), *crashed], key=lambda a: a.at)
    found, used = [], set()
    for away in downs:
        if away.arrivals:
            first = away.arrivals[0]
            found.append(Restart(away, away.actor, first.at, tuple(away.arrivals)))
            used |= {a.id for a in away.arrivals}
    used |= born_with_the_group(timeline)
    newcomers = InTime(a for a in timeline.arrivals if a.first and _may_follow(a.actor) and a.id not in used)
    anonymous = InTime(a for a in newcomers if _is_anonymous(a))
    for away in [*downs, *(a for a in losses(timeline) if not a.actor.has_log and a.back_at is None)]:
        if away.arrivals:
            continue
        # One of the two has no name; a KIP-848 member that had none has one when the group is back on the old protocol.
        may_be = newcomers if is_bare_member_id(away.departures[0].member or "") else anonymous
        near = (a for a in may_be.nearest(away.at, RESTART_PAIR_MS) if a.id not in used)
        taken = next((a for a in near if a.actor is not away.actor), None)
        if taken is not None:
            mine = tuple(newcomers.of(taken.actor))
            used |= {a.id for a in mine}
            found.append(Restart(away, away.actor, taken.at, mine))
    return sorted(found, key=lambda r: r.away.at)


def successors(timeline: Timeline) -> dict[int, tuple[Arrival, ...]]:
    """Nameless newcomers that took the place of a member that fell silent, by the identity of its absence."""
    silent = {id(a) for a in losses(timeline) if not is_static(timeline, a)}
    return {id(r.away): r.arrivals for r in restarts(timeline) if id(r.away) in silent and not r.away.arrivals}


def _went_down(timeline: Timeline, absence: Absence) -> bool:
    """Whether its process ended rather than stood still: it was started anew, or never used its old id again."""
    if absence.stop is not None and not is_static(timeline, absence):
        return False
    if absence.actor.has_log:
        return absence.start is not None
    early = absence.back_at is not None and absence.back_at < absence.at
    return early or is_static(timeline, absence) or all(d.why == "vanished" for d in absence.departures)


def _is_back(away: Absence) -> bool:
    return away.start is not None or (bool(away.arrivals) and not away.actor.has_log)


def _may_follow(actor: Actor) -> bool:
    """Whether it may be the next life of another: one with a log of its own would have told."""
    return not actor.has_log or actor.lives_once


def _is_anonymous(arrival: Arrival) -> bool:
    actor = arrival.actor
    return actor.kind == "instance" or actor.has_namesakes or is_bare_member_id(arrival.member or "")
