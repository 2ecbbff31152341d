"""Restarts: a member went down and came back, or a newcomer took its place.

A newcomer with a generated name, or with the client id of the same Connect task, is the successor of the member that it
follows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.clean_exits import closings, ended_with_its_process
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import is_static, losses
from rebalance_forensics.diagnosis.episodes.members.surviving_threads import process_survived
from rebalance_forensics.events.process import SettingsReported
from rebalance_forensics.timeline.clients import SINK_CLIENTS
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import is_bare_member_id
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.windows import AT_ONCE_MS, NEXT_HEARTBEAT_MS, ROUND_TRIP_MS, SUCCESSION_MS

_RANDOM = re.compile(r"(?=.*\d)[0-9a-f]{7,}")
_BETWEEN = re.compile(r"[-._]")
_DEPLOYMENT = re.compile(r"[^\W\d_]+")


@dataclass(slots=True, eq=False)
class Restart:
    """One participant that went down, and its own return or the newcomer in its place."""

    absence: Absence
    by: Participant
    up_at: int
    arrivals: tuple[Arrival, ...]


def restarts(timeline: Timeline) -> list[Restart]:
    """Every restart of a member: a close or a clean stop and a return, or an expiry and a new process."""
    return timeline.cached(_restarts)


def same_process(timeline: Timeline, absence: Absence) -> bool:
    """True if the member came back from the same process."""
    # A client makes its KIP-848 member id when it starts and keeps it. A Java consumer prints its configuration when it
    # is created (AbstractConfig), so a log that continues without one belongs to the same process.
    left = {d.member for d in absence.departures if is_bare_member_id(d.member or "")}
    return any(a.member in left for a in absence.arrivals) or _is_made_once(timeline, absence)


def has_left_by(timeline: Timeline, newcomer: Arrival, at: int) -> bool:
    """True if the newcomer had left again before the member left whose place it might have taken."""
    return timeline.departures.of(newcomer.participant).any_between(newcomer.at, at - AT_ONCE_MS)


def successors(timeline: Timeline) -> dict[int, tuple[Arrival, ...]]:
    """Newcomers with a generated name, or that of the same Connect task, by the identity of the absence they end."""
    silent = {id(a) for a in losses(timeline) if not is_static(timeline, a)}
    nameless = {
        id(r.absence): r.arrivals for r in restarts(timeline) if id(r.absence) in silent and not r.absence.arrivals
    }
    return nameless | _moved_tasks(timeline)


def _moved_tasks(timeline: Timeline) -> dict[int, tuple[Arrival, ...]]:
    """The Connect task's new consumer on another worker, by the identity of the lost consumer's absence."""
    found = {}
    for absence in losses(timeline):
        tasks = {client for client in absence.participant.client_ids if client.startswith(SINK_CLIENTS)}
        if not tasks or absence.back_at is not None:
            continue
        since = absence.at - session_timeout_ms(timeline) - NEXT_HEARTBEAT_MS
        near = timeline.arrivals.between(since, absence.at + SUCCESSION_MS)
        taken = tuple(a for a in near if a.participant is not absence.participant and a.participant.client_ids & tasks)
        if taken:
            found[id(absence)] = taken
    return found


def _restarts(timeline: Timeline) -> list[Restart]:
    if not timeline.departures:
        return []
    crashed = [a for a in losses(timeline) if _went_down(timeline, a) and _is_back(a)]
    downs = sorted([*(a for a in closings(timeline) if not same_process(timeline, a)), *crashed], key=lambda a: a.at)
    found, used = [], set()
    for absence in downs:
        if absence.arrivals:
            first = absence.arrivals[0]
            found.append(Restart(absence, absence.participant, first.at, tuple(absence.arrivals)))
            used |= {a.id for a in absence.arrivals}
        elif absence.start is not None and (timeline.coverage.is_excerpt or _ends_as_it_starts(timeline, absence)):
            # The excerpt leaves out its return, or its log was collected before it joined.
            found.append(Restart(absence, absence.participant, absence.start.at, ()))
    used |= initial_arrivals(timeline)
    newcomers = TimeIndex(a for a in timeline.arrivals if a.first and _may_follow(a.participant) and a.id not in used)
    anonymous = TimeIndex(a for a in newcomers if _is_anonymous(a))
    known = {id(r.absence) for r in found}
    expired = [a for a in losses(timeline) if not a.participant.has_log and a.back_at is None]
    silent = {id(a) for a in expired}
    for absence in [*downs, *(a for a in expired if not process_survived(timeline, a))]:
        if id(absence) in known:
            continue
        since = absence.at - _silence_ms(timeline) if id(absence) in silent else 0
        # One of the two has a generated name; a KIP-848 member gets a real one once the group is back on classic.
        may_be = newcomers if is_bare_member_id(absence.departures[0].member or "") else anonymous
        near = (a for a in may_be.nearest(absence.at, SUCCESSION_MS) if a.id not in used and a.at >= since)
        others = (a for a in near if a.participant is not absence.participant)
        taken = next((a for a in others if not has_left_by(timeline, a, absence.at)), None)
        if taken is not None:
            arrivals = tuple(newcomers.of(taken.participant))
            used |= {a.id for a in arrivals}
            found.append(Restart(absence, absence.participant, taken.at, arrivals))
    return sorted(found, key=lambda r: r.absence.at)


def _silence_ms(timeline: Timeline) -> int:
    # A process that still runs needs no successor, so an expired one may have been dead for a session at most.
    return session_timeout_ms(timeline) + NEXT_HEARTBEAT_MS


def _is_made_once(timeline: Timeline, absence: Absence) -> bool:
    """True if its log shows its start, and reaches to its return without a second start."""
    who = absence.participant
    if (
        timeline.coverage.is_excerpt
        or who.kind != "client"
        or absence.back_at is None
        or ended_with_its_process(absence)
    ):
        return False
    dumped = (e for s in timeline.starts.of(who).between(0, absence.at) for e in s.events)
    shown = any(isinstance(e, SettingsReported) for e in dumped)
    return shown and bool(covering(timeline.coverage.of(who), absence.at, absence.back_at))


def _ends_as_it_starts(timeline: Timeline, absence: Absence) -> bool:
    end, start = timeline.coverage.ends(absence.participant), absence.start
    if end is None or start is None or end > start.at + ROUND_TRIP_MS:
        return False
    stopped = (e.at or 0 for stop in timeline.stops.of(absence.participant) for e in stop.events)
    return all(at <= start.at for at in stopped)


def _went_down(timeline: Timeline, absence: Absence) -> bool:
    """True if its process ended rather than paused: it was restarted, or never used its old id again."""
    if absence.stop is not None and not is_static(timeline, absence):
        return False
    if absence.participant.has_log:
        return absence.start is not None
    early = absence.back_at is not None and absence.back_at < absence.at
    return early or is_static(timeline, absence) or all(d.why == "vanished" for d in absence.departures)


def _is_back(absence: Absence) -> bool:
    return absence.start is not None or (bool(absence.arrivals) and not absence.participant.has_log)


def _may_follow(participant: Participant) -> bool:
    """True if it may be another member's next life: a log of its own would show its former one."""
    return not participant.has_log or participant.has_one_process


def _is_anonymous(arrival: Arrival) -> bool:
    participant = arrival.participant
    return participant.kind == "instance" or participant.has_namesakes or is_bare_member_id(arrival.member or "")


def replacements(timeline: Timeline) -> list[Restart]:
    """Each member that left for good with the newcomer nearest in time, before or after."""
    return timeline.cached(_replacements)


def _replacements(timeline: Timeline) -> list[Restart]:
    known = restarts(timeline)
    used = {a.id for r in known for a in r.arrivals} | initial_arrivals(timeline)
    newcomers = TimeIndex(a for a in timeline.arrivals if a.first and a.id not in used)
    taken: dict[int, Arrival] = {}
    absences = _unreturned(timeline, {id(r.absence) for r in known})
    for absence in absences:
        near = (a for a in newcomers.nearest(absence.at, SUCCESSION_MS) if a.id not in used)
        newcomer = next((a for a in near if _may_succeed(timeline, a, absence.participant, absence.at)), None)
        if newcomer is not None:
            taken[id(absence)] = newcomer
            used |= {a.id for a in newcomers.of(newcomer.participant)}
    left = [absence for absence in absences if id(absence) not in taken]
    taken |= _alternating_pairs(timeline, left, [a for a in newcomers if a.id not in used])
    pairs = ((absence, taken[id(absence)]) for absence in absences if id(absence) in taken)
    return [
        Restart(absence, absence.participant, came.at, tuple(newcomers.of(came.participant))) for absence, came in pairs
    ]


def _alternating_pairs(timeline: Timeline, absences: list[Absence], arrivals: list[Arrival]) -> dict[int, Arrival]:
    """Pairs of a departure and an arrival that alternate, at any pace."""
    # A new pod is ready before the next old one is stopped.
    first = {a.participant: a for a in reversed(arrivals)}
    moves: list[Absence | Arrival] = [*absences, *first.values()]
    found: dict[int, Arrival] = {}
    waiting: Absence | Arrival | None = None
    for move in sorted(moves, key=lambda move: move.at):
        if waiting is None or isinstance(waiting, Absence) == isinstance(move, Absence):
            waiting = move
            continue
        absence, newcomer = (waiting, move) if isinstance(waiting, Absence) else (move, waiting)
        assert isinstance(absence, Absence)
        assert isinstance(newcomer, Arrival)
        fits = _may_succeed(timeline, newcomer, absence.participant, absence.at)
        found |= {id(absence): newcomer} if fits else {}
        waiting = None if fits else move
    return found


def _unreturned(timeline: Timeline, restarted: set[int]) -> list[Absence]:
    died = [a for a in losses(timeline) if not is_static(timeline, a) and a.stop is None]
    absences = {a.departures[0].id: a for a in (*died, *closings(timeline)) if a.back_at is None}
    return sorted((a for a in absences.values() if id(a) not in restarted), key=lambda a: a.at)


def _may_succeed(timeline: Timeline, newcomer: Arrival, former: Participant, at: int) -> bool:
    """True if the newcomer is of the same deployment, joined after the former member did, and is still a member."""
    own = timeline.arrivals.of(former).first(0)
    if newcomer.participant is former or (own is not None and own.at >= newcomer.at):
        return False
    if has_left_by(timeline, newcomer, at):
        return False
    old, new = _deployment_of(former.name), _deployment_of(newcomer.participant.name)
    return old is None or new is None or old == new


@lru_cache(maxsize=4096)
def _deployment_of(name: str) -> str | None:
    """The leading word that all names of one deployment share; None for generated ids."""
    word = _DEPLOYMENT.match(name)
    if word is None or is_bare_member_id(name) or _RANDOM.fullmatch(_BETWEEN.split(name, 1)[0]):
        return None
    return word[0].lower()
