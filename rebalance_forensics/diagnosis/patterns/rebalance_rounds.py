"""The rebalances of a group as rounds of assignment: when, led by whom, with whom; also where only the leader tells."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import StreamsParticipants
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.model import Generation
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS


class Round(Struct, frozen=True, kw_only=True):
    """One rebalance. `members` pairs each name with its member id; None where no line tells who took part."""

    generation: int | None
    started_at: EpochMs
    stabilized_at: EpochMs | None
    completed_at: EpochMs | None
    leader: str | None
    members: tuple[tuple[str, str | None], ...] | None
    clients: int | None = None
    consumers: int | None = None
    followup: str | None = None
    reason: str | None = None

    def ended_at(self) -> int:
        """The last known instant of it."""
        return max(self.completed_at or 0, self.stabilized_at or 0, self.started_at)


def rounds_of(timeline: Timeline) -> tuple[Round, ...]:
    """Every round, oldest first; a leader's list that belongs to no known rebalance is a round of its own."""
    lists = [e for e in timeline.of(StreamsParticipants) if e.at is not None]
    times = [e.at or 0 for e in lists]
    generations = _by_number(timeline.generations)
    used: set[int] = set()
    rounds = []
    for rebalance in timeline.rebalances:
        index = _list_of(rebalance, times, used)
        used |= {index} if index is not None else set()
        generation = _generation_of(rebalance, generations)
        rounds.append(_with_list(_round_of(rebalance, generation), lists[index] if index is not None else None))
    alone = [_with_list(_bare(e), e) for i, e in enumerate(lists) if i not in used]
    return tuple(sorted([*rounds, *alone], key=lambda r: (r.started_at, r.generation or 0)))


def member_name(member_id: str) -> str:
    """The client id (or group.instance.id) a member id starts with, else the id itself."""
    return name_in_member_id(member_id) or member_id


def shared_names(rounds: Sequence[Round]) -> frozenset[str]:
    """The names that several members of one round have."""
    often = [Counter(name for name, _ in each.members) for each in rounds if each.members]
    return frozenset(name for counts in often for name, number in counts.items() if number > 1)


def distinct_names(members: Sequence[tuple[str, str | None]], shared: Container[str]) -> dict[str, str | None]:
    """Name -> member id; members whose name is shared go by their member ids in every round."""
    return {(member or name if name in shared else name): member for name, member in members}


def _by_number(generations: Sequence[Generation]) -> dict[int, list[Generation]]:
    found: dict[int, list[Generation]] = {}
    for generation in generations:
        found.setdefault(generation.generation, []).append(generation)
    return found


def _generation_of(rebalance: Rebalance, generations: dict[int, list[Generation]]) -> Generation | None:
    """The generation it led to; numbers start again when a group was deleted, so the nearest in time counts."""
    same = generations.get(rebalance.generation, []) if rebalance.generation is not None else []
    if len(same) == 1:
        return same[0]
    return min(same, key=lambda g: abs((g.started_at or g.completed_at or 0) - rebalance.started_at), default=None)


def _list_of(rebalance: Rebalance, times: Sequence[int], used: set[int]) -> int | None:
    begin = (rebalance.stabilized_at or rebalance.started_at) - ROUND_TRIP_MS
    end = rebalance.ended_at() + ROUND_TRIP_MS
    index = bisect_left(times, begin)
    while index < len(times) and times[index] <= end:
        if index not in used:
            return index
        index += 1
    return None


def _round_of(rebalance: Rebalance, generation: Generation | None) -> Round:
    return Round(
        generation=rebalance.generation,
        started_at=EpochMs(rebalance.started_at),
        stabilized_at=_epoch(rebalance.stabilized_at),
        completed_at=_epoch(rebalance.completed_at),
        leader=member_name(generation.leader) if generation is not None and generation.leader else None,
        members=_members_of(generation),
        followup=rebalance.followup,
        reason=generation.reason if generation is not None else None,
    )


def _epoch(value: int | None) -> EpochMs | None:
    return None if value is None else EpochMs(value)


def _members_of(generation: Generation | None) -> tuple[tuple[str, str | None], ...] | None:
    if generation is None or (not generation.members and generation.outcome != "empty"):
        return None
    named = {
        (m.instance_id or m.client_id or (member_name(m.member_id) if m.member_id else "?"), m.member_id)
        for m in {m.instance_id or m: m for m in generation.members}.values()
    }
    return tuple(sorted(named, key=lambda m: (m[0], m[1] or "")))


def _bare(event: Event) -> Round:
    assert event.at is not None
    return Round(generation=None, started_at=event.at, stabilized_at=None, completed_at=None, leader=None, members=None)


def _with_list(known: Round, listed: StreamsParticipants | None) -> Round:
    """The round with what its leader wrote: only the leader lists who takes part."""
    if listed is None:
        return known
    leader = listed.speaker.thread or listed.speaker.client_id
    consumers = sorted({member for _, members in listed.participants for member in members})
    return replace(
        known,
        leader=known.leader or (member_name(leader) if leader else None),
        members=tuple((member_name(m), m) for m in consumers) or known.members,
        clients=listed.clients or len(listed.participants) or None,
        consumers=listed.consumers or len(consumers) or None,
    )
