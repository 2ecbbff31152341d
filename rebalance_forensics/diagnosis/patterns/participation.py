"""Participation in each rebalance: members that took part, were missing or new, its leader and how stable that was."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rebalance_forensics.diagnosis.patterns.rebalance_rounds import Round, distinct_names, rounds_of, shared_names
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import LeaderChange, Leadership, Participation


def participants(timeline: Timeline) -> tuple[Participation, ...]:
    """Every rebalance with its leader and its members."""
    return participants_of(rounds_of(timeline))


def leadership(timeline: Timeline) -> Leadership:
    """Stability of the leadership, and every move of it."""
    return leadership_of(rounds_of(timeline))


def participants_of(rounds: Sequence[Round]) -> tuple[Participation, ...]:
    """Participants of rounds already known."""
    found = []
    shared = shared_names(rounds)
    before: dict[str, str | None] | None = None
    for each in rounds:
        now = None if each.members is None else distinct_names(each.members, shared)
        found.append(_compared(each, now, before))
        before = before if now is None else now
    return tuple(found)


def _compared(each: Round, now: dict[str, str | None] | None, before: dict[str, str | None] | None) -> Participation:
    return Participation(
        generation=each.generation,
        at=each.started_at,
        leader=each.leader,
        members=None if now is None else tuple(sorted(now)),
        missing=tuple(sorted(before.keys() - now.keys())) if now is not None and before is not None else (),
        new=tuple(sorted(now.keys() - before.keys())) if now is not None and before is not None else (),
        renewed=_renewed(now, before) if now and before else (),
        consumers=each.consumers,
        clients=each.clients,
    )


def _renewed(now: dict[str, str | None], before: dict[str, str | None]) -> tuple[str, ...]:
    both = now.keys() & before.keys()
    return tuple(sorted(n for n in both if now[n] and before[n] and now[n] != before[n]))


def leadership_of(rounds: Sequence[Round]) -> Leadership:
    """Leadership of rounds already known."""
    known = [r for r in rounds if r.leader is not None]
    changes = tuple(
        LeaderChange(
            generation=after.generation,
            at=after.started_at,
            before=before.leader,
            after=after.leader,
            former_took_part=_took_part(before.leader, before, after),
        )
        for before, after in pairwise(known)
        if before.leader is not None and after.leader is not None and before.leader != after.leader
    )
    return Leadership(changes=changes, stable=not changes if len(known) > 1 else None)


def _took_part(name: str, before: Round, after: Round) -> bool | None:
    """True if a member took part under the id it had; under a new id it had lost its membership."""
    if after.members is None:
        return None
    known = {member for other, member in before.members or () if other == name and member is not None}
    return any(n == name and (not known or member is None or member in known) for n, member in after.members)
