"""Departures inferred from a rebalance that a member missed: all others joined, and it sent no JoinGroup.

The join barrier opens only when every member has sent JoinGroup or has been removed. Before 2.4 no client prints the
leader's assignment and before 2.1 no coordinator logs who left, so the absence shows only in the list of those that
joined.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import (
    AssignmentComputed,
    GenerationStabilized,
    JoinStarted,
    JoinSucceeded,
    RebalanceStarted,
)
from rebalance_forensics.timeline.event_index import EventIndex
from rebalance_forensics.timeline.facts import DepartureWhy
from rebalance_forensics.timeline.identity.participants import Participant, Participants
from rebalance_forensics.timeline.windows import AT_ONCE_MS, ONE_REBALANCE_MS, ROUND_TRIP_MS

_Client = tuple[Participant, str | None]


class InferredDeparture(Struct, frozen=True):
    """A client that was in the generation before and sent no JoinGroup for this one, which the others joined."""

    participant: Participant
    client_id: str | None
    at: int
    joined_at: int
    why: DepartureWhy
    proof: tuple[Event, ...]


@dataclass(slots=True, eq=False)
class _Round:
    number: int
    joined: dict[_Client, Event] = field(default_factory=dict)
    began: int | None = None
    stabilized: GenerationStabilized | None = None
    exact: bool = False

    def last_at(self) -> int:
        return max((e.at or 0 for e in self.joined.values()), default=0)


def departures_by_missed_rebalance(participants: Participants, events: EventIndex) -> list[InferredDeparture]:
    """The departures that missed rebalances show, oldest first."""
    if not events.has_type(JoinSucceeded):
        return []
    tries: dict[_Client, list[int]] = defaultdict(list)
    for event in events.of_type(JoinStarted):
        participant = participants.of_speaker(event)
        if participant is not None and event.at is not None:
            tries[participant, event.speaker.client_id].append(event.at)
    rounds = [r for r in _rounds(participants, events) if r.joined]
    found: list[InferredDeparture] = []
    waiting: set[_Client] = set()
    for before, after in pairwise(rounds):
        absent = list(_absent(before, after, tries, waiting))
        waiting = (
            (before.joined.keys() | waiting) - after.joined.keys() - {(m.participant, m.client_id) for m in absent}
        )
        found += absent if not after.exact else []
    return sorted(found, key=lambda m: (m.joined_at, m.participant.name, m.client_id or ""))


def _rounds(participants: Participants, events: EventIndex) -> list[_Round]:
    rounds: list[_Round] = []
    prepared: RebalanceStarted | None = None
    for event in events.of_type(RebalanceStarted, GenerationStabilized, AssignmentComputed, JoinSucceeded):
        match event:
            case RebalanceStarted():
                prepared = prepared or event
            case GenerationStabilized(generation=n):
                current = _round(rounds, n, event)
                current.stabilized = event
                current.exact = current.exact or event.member_count is not None
                current.began, prepared = prepared.at if prepared is not None else current.began, None
            case AssignmentComputed(generation=n) if n is not None:
                _round(rounds, n, event).exact = True
            case JoinSucceeded(generation=n):
                participant = participants.of_speaker(event)
                if participant is not None and event.at is not None:
                    _round(rounds, n, event).joined.setdefault((participant, event.speaker.client_id), event)
    return rounds


def _round(rounds: list[_Round], number: int, event: Event) -> _Round:
    """The round of this generation; a number that comes again after a minute is of a group that was created anew."""
    for known in reversed(rounds):
        if known.number == number and (known is rounds[-1] or (event.at or 0) - known.last_at() < ONE_REBALANCE_MS):
            return known
        if (event.at or 0) - known.last_at() > ONE_REBALANCE_MS:
            break
    rounds.append(_Round(number))
    return rounds[-1]


def _absent(
    before: _Round, after: _Round, tries: dict[_Client, list[int]], waiting: set[_Client]
) -> Iterator[InferredDeparture]:
    """The clients that sent no JoinGroup; `waiting` had sent one for the generation before and got no answer."""
    until = after.last_at() + ROUND_TRIP_MS
    joined_at = min(e.at or 0 for e in after.joined.values())
    began = after.began if after.began is not None else _first_try(before, after, tries)
    since = before.last_at()
    for client in (before.joined.keys() | waiting) - after.joined.keys():
        tried = tries.get(client, [])
        if bisect_right(tried, since) >= bisect_right(tried, until):
            yield InferredDeparture(
                client[0], client[1], began, joined_at, _why(after), tuple(after.joined.values())[:2]
            )


def _names_expiries(coordinator: GenerationStabilized) -> bool:
    """True for a coordinator that logs expired sessions at INFO (0.11): its lines name the offsets partition, too."""
    return coordinator.speaker.offsets_partition is not None


def _first_try(before: _Round, after: _Round, tries: dict[_Client, list[int]]) -> int:
    since, until = before.last_at(), after.last_at()
    tried = [tries.get(client, []) for client in after.joined]
    steps = [times[place] for times in tried if (place := bisect_right(times, since)) < len(times)]
    return min((t for t in steps if t <= until), default=min(e.at or 0 for e in after.joined.values()))


def _why(after: _Round) -> DepartureWhy:
    """The kind of departure: a member that no expiry was logged for, where all are, left or missed the barrier."""
    if after.stabilized is None or not _names_expiries(after.stabilized):
        return "vanished"
    open_ms = (after.stabilized.at or 0) - (after.began if after.began is not None else after.stabilized.at or 0)
    return "rebalance-timeout" if open_ms > AT_ONCE_MS else "left"
