"""Everything known about one group, finished: nothing is written to it once it is built."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from typing import cast as as_type

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import AccessDenied
from rebalance_forensics.events.rebalances import JoinReported
from rebalance_forensics.records import is_timed
from rebalance_forensics.timeline.clocks.file_clocks import FileClock
from rebalance_forensics.timeline.coverage import Coverage
from rebalance_forensics.timeline.event_index import EventIndex, merged, time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, Fact, Rebalance, Request, Start, StaticReturn, Stop
from rebalance_forensics.timeline.identity.participants import Participant, Participants
from rebalance_forensics.timeline.model import (
    CoordinatorTerm,
    Generation,
    GroupKind,
    Pause,
    Protocol,
    ProtocolTerm,
    RebalanceMode,
)
from rebalance_forensics.timeline.time_index import NOTHING, IntervalIndex, TimeIndex

T = TypeVar("T")
E = TypeVar("E", bound=Event)
Move = Departure | Arrival | Stop
_UNKNOWN: Any = object()
"""Stands for what was not asked before: an answer may be None."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Everything known about one group, typed and in time order, for the diagnosis to reason about."""

    group: str
    cluster: str
    kind: GroupKind
    protocol: Protocol
    protocols: tuple[ProtocolTerm, ...]
    mode: RebalanceMode
    participants: Participants
    own: EventIndex
    """The lines that name the group, and those from where its members live."""
    ungrouped: EventIndex
    """What brokers said to nobody in particular."""
    starts: TimeIndex[Start]
    stops: TimeIndex[Stop]
    departures: TimeIndex[Departure]
    arrivals: TimeIndex[Arrival]
    returns: TimeIndex[StaticReturn]
    requests: TimeIndex[Request]
    rebalances: IntervalIndex[Rebalance]
    generations: tuple[Generation, ...]
    pauses: IntervalIndex[Pause]
    coordinators: tuple[CoordinatorTerm, ...]
    clocks: tuple[FileClock, ...]
    coverage: Coverage
    settings: Mapping[str, str] = field(default_factory=dict)
    _answers: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was asked before; many rules ask the same, each at the price of a pass over all events."""
    _from_participants: dict[object, dict[Participant | None, TimeIndex[Any]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What each participant's log says, by the types that were asked for."""

    def cached_as(self, question: object, answer: Callable[[], T]) -> T:
        """The answer to a question about this timeline, worked out when it is first asked."""
        known = self._answers
        found: T = known.get(question, _UNKNOWN)
        if found is _UNKNOWN:
            found = known[question] = answer()
        return found

    def cached(self, answer: Callable[[Timeline], T]) -> T:
        """What a function says of this timeline, worked out when it is first asked."""
        known = self._answers
        found: T = known.get(answer, _UNKNOWN)
        if found is _UNKNOWN:
            found = known[answer] = answer(self)
        return found

    @property
    def events(self) -> list[Event]:
        """Everything, oldest first; `of` looks into it without putting it together."""
        return self.cached(_everything)

    @property
    def first(self) -> int:
        """When the group's own lines begin."""
        return self.cached(_begin)

    def measured(self, ms: int) -> int | None:
        """A length between two of its lines, as they tell it; None where they have no times, only an order."""
        return ms if self.cached(_has_times) else None

    @property
    def last(self) -> int:
        """The last instant any of its logs shows."""
        return self.cached(_end)

    @property
    def has_coordinator_log(self) -> bool:
        """True when a broker speaks of this group."""
        return bool(self.coordinator_events)

    @property
    def coordinator_events(self) -> TimeIndex[Event]:
        """What its coordinators say of this group; the log of an authorizer is another."""
        return self.cached(_coordinator_events)

    def of(self, *kinds: type[E]) -> TimeIndex[E]:
        """The events of these types."""
        known = self._answers
        found: TimeIndex[E] | None = known.get(kinds)
        if found is None:
            found = known[kinds] = self._of_types(kinds)
        return found

    def _of_types(self, kinds: tuple[type[E], ...]) -> TimeIndex[E]:
        if not self.shows_any(kinds):
            return NOTHING
        own, ungrouped = self.own.of_type(*kinds), self.ungrouped.of_type(*kinds)
        return TimeIndex(merged(own, ungrouped), time_of) if own and ungrouped else own or ungrouped

    def events_from(self, participant: Participant | None, *kinds: type[E]) -> TimeIndex[E]:
        """What a participant's own log says: events of these types, all of it for `Event`."""
        by_participant = self._from_participants.get(kinds)
        if by_participant is None:
            by_participant = self._from_participants[kinds] = self._by_speaker(kinds)
        return by_participant.get(participant, NOTHING)

    def shows_any(self, kinds: Iterable[type[Event | Fact]]) -> bool:
        """Whether it holds a line or a fact of one of these types."""
        return not self.cached_as("kinds", self._kinds).isdisjoint(kinds)

    def _kinds(self) -> frozenset[type[Event | Fact]]:
        facts: tuple[TimeIndex[Any], ...] = (
            self.departures, self.arrivals, self.returns, self.requests, self.stops, self.rebalances,
        )  # fmt: skip
        return frozenset((*self.own.kinds, *self.ungrouped.kinds, *(type(index[0]) for index in facts if index)))

    def moves(self, begin: int, end: int, participant: Participant | None = None) -> list[Move]:
        """What its members did in a while, or one of them: departures, then arrivals, then stops."""
        departures, arrivals, stops = self.departures, self.arrivals, self.stops
        if participant is not None:
            departures, arrivals, stops = departures.of(participant), arrivals.of(participant), stops.of(participant)
        return [*departures.between(begin, end), *arrivals.between(begin, end), *stops.between(begin, end)]

    def ended_by(self, arrival: Arrival) -> Departure | None:
        """The departure that an arrival ends."""
        return self.cached(_departures_by_id).get(arrival.after or "")

    def members(self) -> list[Participant]:
        """Everybody who was ever a member."""
        return self.cached(_members)

    def _by_speaker(self, kinds: tuple[type[E], ...]) -> dict[Participant | None, TimeIndex[E]]:
        found: dict[Participant | None, list[E]] = defaultdict(list)
        for event in as_type("list[E]", self.own.by_clients) if Event in kinds else self.own.of_type(*kinds):
            found[self.participants.of_speaker(event)].append(event)
        return {participant: TimeIndex(events, time_of, ordered=True) for participant, events in found.items()}


def _everything(timeline: Timeline) -> list[Event]:
    return list(merged(timeline.own, timeline.ungrouped))


def _begin(timeline: Timeline) -> int:
    return next((e.at for e in timeline.own if e.group is not None and e.at), 0)


def _end(timeline: Timeline) -> int:
    return max((time_of(lines[-1]) for lines in (timeline.own, timeline.ungrouped) if lines), default=0)


def _has_times(timeline: Timeline) -> bool:
    return is_timed(timeline.first)


def _coordinator_events(timeline: Timeline) -> TimeIndex[Event]:
    lines = (e for e in timeline.own if e.speaker.role == "broker" and e.group is not None)
    return TimeIndex((e for e in lines if not isinstance(e, AccessDenied)), time_of, ordered=True)


def _departures_by_id(timeline: Timeline) -> dict[str, Departure]:
    return {departure.id: departure for departure in timeline.departures}


def _members(timeline: Timeline) -> list[Participant]:
    members = {a.participant for a in timeline.arrivals} | {d.participant for d in timeline.departures}
    members |= {r.participant for r in timeline.returns}
    known = {m.member_id for g in timeline.generations for m in g.members if m.member_id}
    known |= {e.member for e in timeline.of(JoinReported) if e.member}
    return [a for a in timeline.participants.everybody if a in members or not a.member_ids.isdisjoint(known)]
