"""Members whose places others took under new names, as in a deployment that renames its processes."""

from __future__ import annotations

import re
from functools import lru_cache

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.clean_exits import closings
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import is_static, losses
from rebalance_forensics.diagnosis.episodes.members.restarts import Restart, has_left_by, restarts
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import is_bare_member_id
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import SUCCESSION_MS

_RANDOM = re.compile(r"(?=.*\d)[0-9a-f]{7,}")
_BETWEEN = re.compile(r"[-._]")
_DEPLOYMENT = re.compile(r"[^\W\d_]+")


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
