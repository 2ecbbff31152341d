"""Facts about a group for its pictures: period, duration of generations, names of members."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.model import Generation, GroupHistory, Mark, Member


def period_of(history: GroupHistory) -> tuple[EpochMs, EpochMs] | None:
    """The first and the last known time of a group."""
    moments = [*_moments_of_generations(history), *_moments_of_lanes(history)]
    for pause in history.pauses:
        moments += [moment for moment in (pause.started_at, pause.ended_at) if moment is not None]
    return (min(moments), max(moments)) if moments else None


def member_name(member: Member) -> str:
    """The name of a member's lane."""
    return member.client_id or member.instance_id or member.member_id or "unnamed member"


def leader_names(generation: Generation) -> frozenset[str]:
    """Every name of the leader of a generation."""
    if generation.leader is None:
        return frozenset()
    led = [member for member in generation.members if generation.leader in (member.member_id, member.client_id)]
    names = (name for member in led for name in (member.member_id, member.client_id, member.instance_id) if name)
    return frozenset({generation.leader, *names})


def stable_until(history: GroupHistory) -> Iterator[tuple[Generation, EpochMs | None]]:
    """Pair each generation whose time is known with the start of the next, None for the last."""
    timed = [generation for generation in history.generations if generation.began_at is not None]
    for generation, following in pairwise(timed):
        yield generation, following.began_at
    if timed:
        yield timed[-1], None


def _moments_of_generations(history: GroupHistory) -> list[EpochMs]:
    edges = [edge for generation in history.generations for edge in (generation.started_at, generation.completed_at)]
    edges += [edge for term in history.coordinators for edge in (term.started_at, term.ended_at)]
    return [edge for edge in edges if edge is not None]


def _moments_of_lanes(history: GroupHistory) -> list[EpochMs]:
    marks = [mark.at for lane in history.lanes for mark in lane.marks]
    edges = [edge for lane in history.lanes for span in lane.spans for edge in (span.started_at, span.ended_at)]
    return marks + [edge for edge in edges if edge is not None]


def lanes_by_mark(history: GroupHistory) -> dict[Mark, tuple[str, ...]]:
    """Each mark with the names of the lanes that show it."""
    lanes: dict[Mark, list[str]] = defaultdict(list)
    for lane in history.lanes:
        for mark in lane.marks:
            lanes[mark].append(lane.name)
    return {mark: tuple(dict.fromkeys(names)) for mark, names in lanes.items()}
