"""Membership at a time: without members, nobody notices a coordinator's move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge

from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS


def times_with_members(timeline: Timeline, times: Iterable[int]) -> set[int]:
    """The times at which the group had a member whose process was not closing."""
    asked = [(at, 2, False, "") for at in sorted(set(times))]
    if not asked:
        return set()
    seen: set[str] = set()
    inside: dict[str, None] = {}
    found = set()
    for at, what, came, member in merge(_moves(timeline), _generations(timeline), asked):
        if what == 2:
            if (not seen and not inside) or any(not _is_closed(timeline, m, at) for m in inside):
                found.add(at)
        elif what == 0:
            seen.add(member)
            inside.pop(member, None)
            inside |= {member: None} if came else {}
        elif member not in seen:
            inside[member] = None
    return found


def _moves(timeline: Timeline) -> Iterator[tuple[int, int, bool, str]]:
    moves = [(a.at + ROUND_TRIP_MS, 0, True, a.member or "") for a in timeline.arrivals]
    moves += [(d.at - ROUND_TRIP_MS, 0, False, d.member or "") for d in timeline.departures]
    return iter(sorted(moves))


def _generations(timeline: Timeline) -> Iterator[tuple[int, int, bool, str]]:
    began = ((g.started_at or g.completed_at or 0, g) for g in timeline.generations)
    return iter(sorted((at, 1, False, m.member_id) for at, g in began for m in g.members if m.member_id))


def _is_closed(timeline: Timeline, member: str, at: int) -> bool:
    # A Streams instance or a static member that closed stays a member until its session expires.
    participant = timeline.participants.of_member(member)
    stop = timeline.stops.of(participant).last(at + ROUND_TRIP_MS)
    start = timeline.starts.of(participant).last(at)
    return stop is not None and stop.at > (start.at if start is not None else 0)
