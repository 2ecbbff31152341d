"""The timeline of one group: events, facts and coverage with indexes and cached results; immutable once built."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from rebalance_forensics.timeline.process_logs import ProcessEvents
from rebalance_forensics.timeline.time_index import NOTHING, IntervalIndex, TimeIndex, joined

T = TypeVar("T")
E = TypeVar("E", bound=Event)
Move = Departure | Arrival | Stop
# Marks a missing cache entry, since a cached answer may be None.
_UNKNOWN: Any = object()


@dataclass(frozen=True)
class Timeline:
    """Everything that the logs show about one group, typed and in time order: the input of the diagnosis."""

    group: str
    cluster: str
    kind: GroupKind
    protocol: Protocol
    protocols: tuple[ProtocolTerm, ...]
    mode: RebalanceMode
    participants: Participants
    group_events: EventIndex
    """The lines that name the group, and the lines of its members that do not."""
    ungrouped: EventIndex
    """Broker lines that name neither a group nor a member."""
    process_events: ProcessEvents
    """The lines of its members' processes, about connections and starts; groups in the same process share them."""
    orchestration: Orchestration
    """The events of orchestrators, about the pods of its members and others."""
    untimed_of_hosts: Sequence[Event]
    """The lines of JVMs and kernels without a time, from all hosts."""
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
    """Cached answers: many rules ask the same question, and each answer takes a pass over all events."""
    _from_participants: dict[object, dict[Participant | None, TimeIndex[Any]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Event types -> participant -> events of its own log."""

    def cached_as(self, question: object, answer: Callable[[], T]) -> T:
        """The cached answer to `question`, which `answer` computes on the first call."""
        known = self.answers
        found: T = known.get(question, _UNKNOWN)
        if found is _UNKNOWN:
            found = known[question] = answer()
        return found

    @cached_property
    def first(self) -> int:
        """The time of the first line that names the group."""
        return next((e.at for e in self.group_events if e.group is not None and e.at), 0)

    @property
    def is_classic(self) -> bool:
        """True if members rebalance with JoinGroup and SyncGroup, which is assumed if no line shows the protocol."""
        # The lines of KIP-848, KIP-932 and KIP-1071 always show their protocol.
        return self.protocol in ("classic", "unknown")

    def measured(self, ms: int) -> int | None:
        """The duration `ms` between two lines; None if the lines have only an order and no times."""
        return ms if is_timed(self.first) else None

    @cached_property
    def last(self) -> int:
        """The time of the last event."""
        return max(
            (self.process_events.last, *(time_of(lines[-1]) for lines in (self.group_events, self.ungrouped) if lines))
        )

    @cached_property
    def departures(self) -> TimeIndex[Departure]:
        """The departures of its members."""
        return self.membership.departures

    @cached_property
    def arrivals(self) -> TimeIndex[Arrival]:
        """The arrivals of its members, including those that returned."""
        return self.membership.arrivals

    @cached_property
    def returns(self) -> TimeIndex[StaticReturn]:
        """The static members that rejoined without a rebalance."""
        return self.membership.returns

    @property
    def has_coordinator_log(self) -> bool:
        """True if the logs contain lines of a coordinator about this group."""
        return bool(self.coordinator_events)

    @cached_property
    def coordinator_events(self) -> TimeIndex[Event]:
        """The coordinators' lines about this group, without the authorizer's."""
        lines = (e for e in self.group_events if e.speaker.role == "broker" and e.group is not None)
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
        by_clients = joined((self.group_events.of_type(*kinds), self.process_events.of_type(*kinds)), time_of)
        return joined((by_clients, self.ungrouped.of_type(*kinds)), by_time_then_origin)

    def disconnected(self, *causes: str) -> TimeIndex[ev.NodeDisconnected]:
        """The connections that clients lost or could not establish, for one of these causes."""
        logs = self.group_events, *self.process_events.logs
        return joined((lines.disconnected.get(cause, NOTHING) for lines in logs for cause in causes), time_of)

    @cached_property
    def versions(self) -> TimeIndex[ev.VersionReported]:
        """The version lines that differ from the previous one in the same place."""
        logs = self.group_events, *self.process_events.logs, self.ungrouped
        return joined((lines.versions for lines in logs), time_of)

    @cached_property
    def topics_seen(self) -> TimeIndex[ev.TopicChanged]:
        """The topic changes that clients logged after a metadata update."""
        logs = self.group_events, *self.process_events.logs, self.ungrouped
        return joined((lines.topics_seen for lines in logs), by_time_then_origin)

    def events_from(self, participant: Participant | None, *kinds: type[E]) -> TimeIndex[E]:
        """The events of these types in a participant's log; `Event` selects all types."""
        by_participant = self._from_participants.get(kinds)
        if by_participant is None:
            by_participant = self._from_participants[kinds] = self._by_speaker(kinds)
        own: TimeIndex[E] = by_participant.get(participant, NOTHING)
        shared = self.process_events.spoken(self.participants).get(participant, ()) if self.process_events.logs else ()
        if not shared:
            return own
        if Event in kinds:
            return joined((own, *as_type("Sequence[TimeIndex[E]]", shared)), time_of)
        return joined((own, *(lines.of_type(*kinds) for lines in shared)), time_of)

    def closed_by(self, participant: Participant, at: int, *, until: int | None = None) -> Stop | None:
        """The last stop of its process up to `at`; None if it started again by `until` (default: `at`).

        A Streams instance or a static member sends no LeaveGroup on close and stays a member until its session expires.
        """
        stop = self.stops.of(participant).last(at)
        starts = self.starts.of(participant)
        return None if stop is None or starts.any_between(stop.at + 1, at if until is None else until) else stop

    def coordinator_found(
        self, participant: Participant | None, begin: int, end: int | None = None
    ) -> ev.CoordinatorFound | None:
        """The first line in a span in which a member logs that it found its coordinator; None if there is none."""
        found = self.events_from(participant, ev.CoordinatorFound).first(begin)
        return None if found is None or (end is not None and time_of(found) > end) else found

    def shows_any(self, kinds: Iterable[type[Event | Fact]]) -> bool:
        """True if the timeline contains an event or fact of one of these types."""
        return not self._kinds.isdisjoint(kinds)

    @cached_property
    def _kinds(self) -> frozenset[type[Event | Fact]]:
        facts: tuple[TimeIndex[Any], ...] = (
            self.departures, self.arrivals, self.returns, self.requests, self.stops, self.rebalances,
        )  # fmt: skip
        logged = *self.group_events.kinds, *self.ungrouped.kinds, *self.process_events.kinds
        return frozenset((*logged, *(type(index[0]) for index in facts if index)))

    def moves(self, begin: int, end: int, participant: Participant | None = None) -> list[Move]:
        """The departures, then the arrivals, then the stops in a span, of all members or of one."""
        departures, arrivals, stops = self.departures, self.arrivals, self.stops
        if participant is not None:
            departures, arrivals, stops = departures.of(participant), arrivals.of(participant), stops.of(participant)
        return [*departures.between(begin, end), *arrivals.between(begin, end), *stops.between(begin, end)]

    def is_followed(self, participant: Participant, at: int) -> bool:
        """True if the logs show the participant in the group before `at` without a gap in the logs at hand."""
        since = self.coverage.shown_since(at)
        if since is None or not participant.has_log:
            return True
        if self.membership.transitions.of(participant).any_between(since, at - 1):
            return True
        started = self.starts.of(participant).any_between(since, at)
        return not started and self.events_from(participant, Event).any_between(since, at)

    def may_be_empty(self, at: int, joining: Collection[Participant]) -> bool:
        """True if no log shows that others than those joining were still members at `at`, after a gap in the logs."""
        if self.coverage.shown_since(at) is None:
            return False
        others = (member for member in self.membership.members_at(at) if member not in joining)
        return not any(self.is_followed(member, at) for member in others)

    def _by_speaker(self, kinds: tuple[type[E], ...]) -> dict[Participant | None, TimeIndex[E]]:
        events = (
            as_type("TimeIndex[E]", self.group_events.by_clients)
            if Event in kinds
            else self.group_events.of_type(*kinds)
        )
        return events.by(self.participants.of_speaker)


def cached_answer(question: Callable[[Timeline], T]) -> Callable[[Timeline], T]:
    """Cache the result of a function for each timeline."""

    @wraps(question)
    def answer(timeline: Timeline) -> T:
        # Called about seventeen times per line of a group: a call of `cached_as` would be too slow for a cache hit.
        found: T = timeline.answers.get(question, _UNKNOWN)
        if found is _UNKNOWN:
            found = timeline.answers[question] = question(timeline)
        return found

    return answer


def listed_once(question: Callable[[Timeline], Iterator[T]]) -> Callable[[Timeline], list[T]]:
    """Cache the items of a generator as a list for each timeline."""
    return wraps(question)(lambda timeline: timeline.cached_as(question, lambda: list(question(timeline))))
