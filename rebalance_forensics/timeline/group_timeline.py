"""The timeline of one group: its events, facts and coverage, immutable once built, with indexes and cached answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar
from typing import cast as as_type

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import is_timed
from rebalance_forensics.timeline.clocks.file_clocks import FileClock
from rebalance_forensics.timeline.coverage import Coverage
from rebalance_forensics.timeline.event_index import EventIndex, by_time_then_origin, time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, Fact, Rebalance, Request, Start, StaticReturn, Stop
from rebalance_forensics.timeline.identity.participants import Participant, Participants
from rebalance_forensics.timeline.membership.table import MembershipTable
from rebalance_forensics.timeline.model import (
    CoordinatorTerm,
    Generation,
    GroupKind,
    Pause,
    Protocol,
    ProtocolTerm,
    RebalanceMode,
)
from rebalance_forensics.timeline.orchestration import Orchestration
from rebalance_forensics.timeline.process_logs import NearbyLines
from rebalance_forensics.timeline.time_index import NOTHING, IntervalIndex, TimeIndex, joined

T = TypeVar("T")
E = TypeVar("E", bound=Event)
Move = Departure | Arrival | Stop
# The mark of a question that was not asked before: an answer may be None.
_UNKNOWN: Any = object()


@dataclass(frozen=True)
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
    """The lines that name the group, and those written where its members run."""
    ungrouped: EventIndex
    """Brokers' lines that name neither group nor member."""
    nearby: NearbyLines
    """The lines of its members' processes about their connections and starts, shared by the groups of a process."""
    orchestration: Orchestration
    """What orchestrators report of pods, the members' and others."""
    untimed_of_hosts: Sequence[Event]
    """What JVMs and the kernel printed without a time, wherever members run."""
    starts: TimeIndex[Start]
    stops: TimeIndex[Stop]
    membership: MembershipTable
    requests: TimeIndex[Request]
    rebalances: IntervalIndex[Rebalance]
    generations: tuple[Generation, ...]
    pauses: IntervalIndex[Pause]
    coordinators: tuple[CoordinatorTerm, ...]
    clocks: tuple[FileClock, ...]
    coverage: Coverage
    settings: Mapping[str, str] = field(default_factory=dict)
    answers: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Cached answers: many rules ask the same question, which costs a pass over all events."""
    _from_participants: dict[object, dict[Participant | None, TimeIndex[Any]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Event types -> participant -> events of its own log."""

    def cached_as(self, question: object, answer: Callable[[], T]) -> T:
        """The answer to a question about this timeline, computed once."""
        known = self.answers
        found: T = known.get(question, _UNKNOWN)
        if found is _UNKNOWN:
            found = known[question] = answer()
        return found

    @cached_property
    def first(self) -> int:
        """The time of the first line that names the group."""
        return next((e.at for e in self.own if e.group is not None and e.at), 0)

    @property
    def is_classic(self) -> bool:
        """True where members rebalance by JoinGroup and SyncGroup, also where no line shows the protocol."""
        # Only KIP-848, KIP-932 and KIP-1071 lines show another one.
        return self.protocol in ("classic", "unknown")

    def measured(self, ms: int) -> int | None:
        """A span between two of its lines; None where the lines have no times, only an order."""
        return ms if is_timed(self.first) else None

    @cached_property
    def last(self) -> int:
        """The time of the last event."""
        return max((self.nearby.last, *(time_of(lines[-1]) for lines in (self.own, self.ungrouped) if lines)))

    @cached_property
    def departures(self) -> TimeIndex[Departure]:
        """The departures of its members."""
        return self.membership.departures

    @cached_property
    def arrivals(self) -> TimeIndex[Arrival]:
        """The arrivals of its members; a member that came back is among them."""
        return self.membership.arrivals

    @cached_property
    def returns(self) -> TimeIndex[StaticReturn]:
        """The returns of static members without a rebalance."""
        return self.membership.returns

    @property
    def has_coordinator_log(self) -> bool:
        """True where a coordinator's lines about this group are at hand."""
        return bool(self.coordinator_events)

    @cached_property
    def coordinator_events(self) -> TimeIndex[Event]:
        """Coordinators' lines about this group, without those of the authorizer's log."""
        lines = (e for e in self.own if e.speaker.role == "broker" and e.group is not None)
        return TimeIndex((e for e in lines if type(e) is not ev.AccessDenied), time_of, ordered=True)

    def of(self, *kinds: type[E]) -> TimeIndex[E]:
        """The events of these types."""
        known = self.answers
        found: TimeIndex[E] | None = known.get(kinds)
        if found is None:
            found = known[kinds] = self._of_types(kinds)
        return found

    def _of_types(self, kinds: tuple[type[E], ...]) -> TimeIndex[E]:
        if not self.shows_any(kinds):
            return NOTHING
        by_clients = joined((self.own.of_type(*kinds), self.nearby.of_type(*kinds)), time_of)
        return joined((by_clients, self.ungrouped.of_type(*kinds)), by_time_then_origin)

    def disconnected(self, *causes: str) -> TimeIndex[ev.NodeDisconnected]:
        """The connections that clients lost, or could not make, for one of these causes."""
        logs = self.own, *self.nearby.logs
        return joined((lines.disconnected.get(cause, NOTHING) for lines in logs for cause in causes), time_of)

    @cached_property
    def versions(self) -> TimeIndex[ev.VersionReported]:
        """The version lines that differ from the one before at their place."""
        logs = self.own, *self.nearby.logs, self.ungrouped
        return joined((lines.versions for lines in logs), time_of)

    @cached_property
    def topics_seen(self) -> TimeIndex[ev.TopicChanged]:
        """The changes of topics that clients found in their metadata."""
        logs = self.own, *self.nearby.logs, self.ungrouped
        return joined((lines.topics_seen for lines in logs), by_time_then_origin)

    def events_from(self, participant: Participant | None, *kinds: type[E]) -> TimeIndex[E]:
        """The events of these types in a participant's own log; all of them for `Event`."""
        by_participant = self._from_participants.get(kinds)
        if by_participant is None:
            by_participant = self._from_participants[kinds] = self._by_speaker(kinds)
        own: TimeIndex[E] = by_participant.get(participant, NOTHING)
        shared = self.nearby.spoken(self.participants).get(participant, ()) if self.nearby.logs else ()
        if not shared:
            return own
        if Event in kinds:
            return joined((own, *as_type("Sequence[TimeIndex[E]]", shared)), time_of)
        return joined((own, *(lines.of_type(*kinds) for lines in shared)), time_of)

    def closed_by(self, participant: Participant, at: int, *, until: int | None = None) -> Stop | None:
        """The last stop of its process by `at`; None where it had started again by `until`, which is `at` by default.

        A Streams instance or a static member that closes sends no LeaveGroup: it is a member until its session expires.
        """
        stop = self.stops.of(participant).last(at)
        starts = self.starts.of(participant)
        return None if stop is None or starts.any_between(stop.at + 1, at if until is None else until) else stop

    def coordinator_found(
        self, participant: Participant | None, begin: int, end: int | None = None
    ) -> ev.CoordinatorFound | None:
        """The first line in a span by which a member's own log shows that it found its coordinator."""
        found = self.events_from(participant, ev.CoordinatorFound).first(begin)
        return None if found is None or (end is not None and time_of(found) > end) else found

    def shows_any(self, kinds: Iterable[type[Event | Fact]]) -> bool:
        """True where it has an event or fact of one of these types."""
        return not self._kinds.isdisjoint(kinds)

    @cached_property
    def _kinds(self) -> frozenset[type[Event | Fact]]:
        facts: tuple[TimeIndex[Any], ...] = (
            self.departures, self.arrivals, self.returns, self.requests, self.stops, self.rebalances,
        )  # fmt: skip
        logged = *self.own.kinds, *self.ungrouped.kinds, *self.nearby.kinds
        return frozenset((*logged, *(type(index[0]) for index in facts if index)))

    def moves(self, begin: int, end: int, participant: Participant | None = None) -> list[Move]:
        """Departures, then arrivals, then stops in a span: of all members or of one."""
        departures, arrivals, stops = self.departures, self.arrivals, self.stops
        if participant is not None:
            departures, arrivals, stops = departures.of(participant), arrivals.of(participant), stops.of(participant)
        return [*departures.between(begin, end), *arrivals.between(begin, end), *stops.between(begin, end)]

    def _by_speaker(self, kinds: tuple[type[E], ...]) -> dict[Participant | None, TimeIndex[E]]:
        events = as_type("TimeIndex[E]", self.own.by_clients) if Event in kinds else self.own.of_type(*kinds)
        return events.by(self.participants.of_speaker)


def answered_once(question: Callable[[Timeline], T]) -> Callable[[Timeline], T]:
    """Let a function of a timeline compute its answer once for each timeline."""

    @wraps(question)
    def answer(timeline: Timeline) -> T:
        # Asked seventeen times for each line of a group: a known answer is worth no second call.
        found: T = timeline.answers.get(question, _UNKNOWN)
        if found is _UNKNOWN:
            found = timeline.answers[question] = question(timeline)
        return found

    return answer


def listed_once(question: Callable[[Timeline], Iterator[T]]) -> Callable[[Timeline], list[T]]:
    """Let a generator of a timeline run once for each timeline."""
    return wraps(question)(lambda timeline: timeline.cached_as(question, lambda: list(question(timeline))))
