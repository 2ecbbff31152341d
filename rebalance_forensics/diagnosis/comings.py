"""Voluntary departures and fresh arrivals: closes with and without an exception, restarts, start-up and shutdown."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_forensics.diagnosis.episodes import Away, absences, runs
from rebalance_forensics.diagnosis.last_words import exception_before
from rebalance_forensics.diagnosis.silence import silences
from rebalance_forensics.events.rebalancing import GenerationStabilized
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Arrival, Rebalance
from rebalance_forensics.timeline.names import is_bare_member_id

STARTUP_GAP_MS = 20_000
ONE_SHUTDOWN_MS = 20_000
STARTUP_SLACK_MS = 10_000
RESTART_PAIR_MS = 90_000
VOLUNTARY = ("closed", "left")


def closings(timeline: Timeline) -> list[Away]:
    """Every absence by a member's own close: LeaveGroup, or a clean stop that sends none (Streams, static)."""
    left = absences(timeline, VOLUNTARY)
    quiet = [s.away for s in silences(timeline) if s.verdict == "closed"]
    return sorted([*left, *quiet], key=lambda a: (a.at, a.actor.name))


def startup_arrivals(timeline: Timeline) -> list[list[Arrival]]:
    """For each time the group formed from nothing: the arrivals of that start, one soon after another."""
    found = []
    for run in runs(timeline.arrivals, lambda a: a.at, STARTUP_GAP_MS):
        if run[0].while_empty and _nobody_before(timeline, run[0]) and not _others_in(timeline, run):
            settled = _settled_after(timeline, run[0].at)
            found.append([a for a in run if (a.after is None or a.after.at < run[0].at) and _of_the_start(a, settled)])
    return found


def _others_in(timeline: Timeline, run: list[Arrival]) -> bool:
    """When logs begin in the middle of a group's life, its first generation holds members nobody saw arriving."""
    came = {a.member for a in run}
    following = [g for g in timeline.generations if (g.completed_at or g.started_at or 0) >= run[0].at]
    if not following:
        return False
    first = following[0]
    if first.generation == 1:
        return False
    counts = [
        e.member_count
        for e in timeline.of(GenerationStabilized)
        if isinstance(e, GenerationStabilized) and e.generation == first.generation and e.member_count is not None
    ]
    arrived = sum(a.at <= (first.completed_at or first.started_at or run[0].at) for a in run)
    unseen = {m.member_id for m in first.members if m.member_id} - came
    return bool(unseen) or any(count > arrived for count in counts)


def _settled_after(timeline: Timeline, at: int) -> int:
    """When the first generation after `at` was created; a newcomer that started later was added to it."""
    times = [r.stabilized_at for r in timeline.rebalances if r.stabilized_at is not None and r.stabilized_at >= at]
    return min(times, default=at)


def _of_the_start(arrival: Arrival, settled: int) -> bool:
    if arrival.start is not None:
        return arrival.start.at <= settled + 2_000
    return arrival.at <= settled + STARTUP_SLACK_MS


def somebody_in(timeline: Timeline, at: int) -> bool:
    """Whether any member was in the group and its process was not closing at that time."""
    moves: list[tuple[int, bool, str]] = [(a.at + 1_000, True, a.member or "") for a in timeline.arrivals]
    moves += [(d.at - 500, False, d.member or "") for d in timeline.departures]
    last = {member: came for when, came, member in sorted(moves) if when <= at}
    seen = {m.member_id for g in timeline.generations if (g.started_at or g.completed_at or 0) <= at for m in g.members}
    members = {m for m, came in last.items() if came} | {m for m in seen if m and m not in last}
    if not last and not members:
        return True
    return any(not _is_closed(timeline, timeline.cast.of_member(m), at) for m in members)


def _is_closed(timeline: Timeline, actor: Actor | None, at: int) -> bool:
    """A Streams instance or a static member that closed stays a member until its session expires."""
    stops = [s.at for s in timeline.stops if s.actor is actor and s.at <= at + 500]
    starts = [s.at for s in timeline.starts if s.actor is actor and s.at <= at]
    return bool(stops) and max(stops) > max(starts, default=0)


def _nobody_before(timeline: Timeline, first: Arrival) -> bool:
    known = [g for g in timeline.generations if g.members and (g.completed_at or g.started_at or 0) < first.at - 5_000]
    if not known:
        return True
    last_left = max((d.at for d in timeline.departures if d.at <= first.at), default=None)
    return last_left is not None


def shutdowns(timeline: Timeline) -> list[list[Away]]:
    """Every time the last members went in good order, one soon after another."""
    static = [s.away for s in silences(timeline) if s.verdict == "static" and s.away.stop is not None]
    gone = [a for a in (*closings(timeline), *static) if a.back_at is None or _later(timeline, a)]
    return [group for group in runs(gone, lambda a: a.at, ONE_SHUTDOWN_MS) if _all_left(timeline, group)]


def _has_members(timeline: Timeline, rebalance: Rebalance) -> bool:
    counts = [e.member_count for e in rebalance.events if isinstance(e, GenerationStabilized)]
    named = [g for g in timeline.generations if g.generation == rebalance.generation]
    return any(counts) or any(g.members for g in named)


def _later(timeline: Timeline, away: Away) -> bool:
    """It came back only after everybody had gone."""
    others = [d.at for d in timeline.departures if d.actor is not away.actor and d.at < (away.back_at or 0)]
    return bool(others) and (away.back_at or 0) > max(others) and (away.back_at or 0) - away.at > ONE_SHUTDOWN_MS


def _all_left(timeline: Timeline, group: list[Away]) -> bool:
    if any(exception_before(timeline, a) for a in group):
        return False
    last = max(d.at for a in group for d in a.departures)
    if any(_has_members(timeline, r) for r in timeline.rebalances if (r.stabilized_at or 0) > last + 100):
        return False
    gone = {a.actor for a in group}
    for actor in timeline.actors():
        if actor in gone:
            continue
        arrivals = [a.at for a in timeline.arrivals if a.actor is actor and a.at <= last]
        departures = [d.at for d in timeline.departures if d.actor is actor and d.at <= last + 1_000]
        silent_after = not any(
            (e.at or 0) > last + 2_000 for e in timeline.events if timeline.cast.of_speaker(e) is actor
        )
        if not departures and (arrivals or not silent_after):
            return False
        if departures and arrivals and max(arrivals) > max(departures):
            return False
    return bool(gone)


@dataclass(slots=True, eq=False)
class Restart:
    """One actor went down and came up again, or an anonymous newcomer took its place."""

    away: Away
    by: Actor
    up_at: int
    arrivals: tuple[Arrival, ...]


def restarts(timeline: Timeline) -> list[Restart]:
    """Every restart of a member: a close or a clean stop and a return; also an expiry with a new process."""
    crashed = [s.away for s in silences(timeline) if s.verdict in ("crash", "static") and s.away.start is not None]
    downs = sorted([*closings(timeline), *crashed], key=lambda a: a.at)
    found, used = [], set()
    for away in downs:
        if away.arrivals:
            first = away.arrivals[0]
            found.append(Restart(away, away.actor, first.at, tuple(away.arrivals)))
            used |= {id(a) for a in away.arrivals}
    anonymous = [
        a for a in timeline.arrivals if a.first and not a.actor.has_log and _is_anonymous(a) and id(a) not in used
    ]
    for away in [*downs, *(s.away for s in silences(timeline) if not s.away.actor.has_log and s.away.back_at is None)]:
        if away.arrivals:
            continue
        near = [a for a in anonymous if id(a) not in used and abs(a.at - away.at) <= RESTART_PAIR_MS]
        if near:
            taken = min(near, key=lambda a: abs(a.at - away.at))
            mine = tuple(a for a in anonymous if a.actor is taken.actor)
            used |= {id(a) for a in mine}
            found.append(Restart(away, away.actor, taken.at, mine))
    return sorted(found, key=lambda r: r.away.at)


def _is_anonymous(arrival: Arrival) -> bool:
    return arrival.actor.kind == "instance" or is_bare_member_id(arrival.member or "")
