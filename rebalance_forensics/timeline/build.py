"""From the events of one group to its timeline; the order in which events come does not matter."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeVar
from typing import cast as as_type

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import StreamsParticipants
from rebalance_forensics.timeline.absentees import missed
from rebalance_forensics.timeline.actors import Actor, Cast
from rebalance_forensics.timeline.apart import apart
from rebalance_forensics.timeline.casting import cast_of
from rebalance_forensics.timeline.clocks import FileClock, on_one_clock, read_clocks
from rebalance_forensics.timeline.coordinators import coordinators_of
from rebalance_forensics.timeline.coverage import Coverage, coverage_of
from rebalance_forensics.timeline.facts import Arrival, Departure, Rebalance, Request, Start, StaticReturn, Stop
from rebalance_forensics.timeline.failed_joins import without_failed_joins
from rebalance_forensics.timeline.generations import Generations, generation_of, rebalance_of
from rebalance_forensics.timeline.group_epochs import GroupEpochs, generations_of, rebalances_of
from rebalance_forensics.timeline.in_time import NOTHING, InTime, Lasting
from rebalance_forensics.timeline.introductions import with_introduced_names
from rebalance_forensics.timeline.kinds import kind_of, protocols_of, rebalance_mode_of
from rebalance_forensics.timeline.leaving import close_for_good
from rebalance_forensics.timeline.lives import Lives
from rebalance_forensics.timeline.model import (
    CoordinatorTerm,
    Generation,
    GroupKind,
    Pause,
    Protocol,
    ProtocolTerm,
    RebalanceMode,
)
from rebalance_forensics.timeline.nameless import is_nameless, with_client_ids
from rebalance_forensics.timeline.pauses import pauses_of
from rebalance_forensics.timeline.processes import closed_at_last, starts_of, stops_of
from rebalance_forensics.timeline.requests import requests_of
from rebalance_forensics.timeline.roles import with_roles
from rebalance_forensics.timeline.shared import adopted, concerning
from rebalance_forensics.timeline.surroundings import Surroundings
from rebalance_forensics.timeline.takeovers import taken_over
from rebalance_forensics.timeline.told import Told, distinct, merged, settings_of, time_of
from rebalance_forensics.timeline.writing_order import with_times

T = TypeVar("T")
E = TypeVar("E", bound=Event)
Move = Departure | Arrival | Stop
NEAR_MS = 50


@dataclass(slots=True)
class Timeline:
    """Everything known about one group, typed and in time order, for the diagnosis to reason about."""

    group: str
    cluster: str
    kind: GroupKind
    protocol: Protocol
    protocols: tuple[ProtocolTerm, ...]
    mode: RebalanceMode
    cast: Cast
    own: Told
    """The lines that name the group, and those from where its members live."""
    around: Told
    """What brokers said to nobody in particular."""
    starts: InTime[Start]
    stops: InTime[Stop]
    departures: InTime[Departure]
    arrivals: InTime[Arrival]
    returns: InTime[StaticReturn]
    requests: InTime[Request]
    rebalances: Lasting[Rebalance]
    generations: list[Generation]
    pauses: Lasting[Pause]
    coordinators: tuple[CoordinatorTerm, ...]
    clocks: tuple[FileClock, ...]
    coverage: Coverage
    settings: dict[str, str] = field(default_factory=dict)
    answers: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)
    """What was asked of this timeline before; many rules ask the same, each at the price of a pass over all events."""

    def once(self, question: object, answer: Callable[[], T]) -> T:
        """The answer to a question about this timeline, worked out when it is first asked."""
        if question not in self.answers:
            self.answers[question] = answer()
        known: T = self.answers[question]
        return known

    def remembered(self, answer: Callable[[Timeline], T]) -> T:
        """What a function says of this timeline, worked out when it is first asked."""
        if answer not in self.answers:
            self.answers[answer] = answer(self)
        known: T = self.answers[answer]
        return known

    @property
    def events(self) -> list[Event]:
        """Everything, oldest first; `of` looks into it without putting it together."""
        return self.once("events", lambda: list(merged(self.own, self.around)))

    @property
    def first(self) -> int:
        """When the group's own lines begin."""
        return self.once("first", lambda: next((e.at for e in self.own if e.group is not None and e.at), 0))

    @property
    def last(self) -> int:
        """The last instant any of its logs shows."""
        return max((time_of(told[-1]) for told in (self.own, self.around) if told), default=0)

    @property
    def has_coordinator_log(self) -> bool:
        """True when a broker speaks of this group."""
        return bool(self.said_of_it_by_brokers)

    @property
    def said_of_it_by_brokers(self) -> InTime[Event]:
        """What brokers say of this group."""
        return self.once(
            "said by brokers",
            lambda: InTime((e for e in self.own if e.speaker.role == "broker" and e.group is not None), time_of),
        )

    def of(self, *kinds: type[E]) -> InTime[E]:
        """The events of these types."""
        own = self.own.telling(*kinds)
        around: InTime[E] = self.around.telling(*kinds) if self.around else NOTHING
        if own and around:
            return self.once(kinds, lambda: InTime(merged(own, around), time_of))
        return own or around

    def said_by(self, actor: Actor | None, *kinds: type[E]) -> InTime[E]:
        """What an actor's own log says: events of these types, all of it for `Event`."""
        return self.once(("said by", kinds), lambda: self._by_speaker(kinds)).get(actor) or NOTHING

    def moves(self, begin: int, end: int, actor: Actor | None = None) -> list[Move]:
        """What its members did in a while, or one of them: departures, then arrivals, then stops."""
        gone, came, stopped = self.departures, self.arrivals, self.stops
        if actor is not None:
            gone, came, stopped = gone.of(actor), came.of(actor), stopped.of(actor)
        return [*gone.between(begin, end), *came.between(begin, end), *stopped.between(begin, end)]

    def actors(self) -> list[Actor]:
        """Everybody who was ever a member."""
        return self.once("actors", self._actors)

    def _actors(self) -> list[Actor]:
        members = {a.actor for a in self.arrivals} | {d.actor for d in self.departures}
        members |= {r.actor for r in self.returns}
        known = {m.member_id for g in self.generations for m in g.members if m.member_id}
        return [a for a in self.cast.actors if a in members or not a.member_ids.isdisjoint(known)]

    def _by_speaker(self, kinds: tuple[type[E], ...]) -> dict[Actor | None, InTime[E]]:
        found: dict[Actor | None, list[E]] = defaultdict(list)
        for event in as_type("list[E]", self.own) if Event in kinds else self.own.telling(*kinds):
            found[self.cast.of_speaker(event)].append(event)
        return {actor: InTime(said, time_of) for actor, said in found.items()}


def build(cluster: str, group: str, own: Iterable[Event], shared: Iterable[Event] | Surroundings) -> Timeline:
    """Rebuild one group's history from its own events and those that name no group, sorted or not."""
    around = shared if isinstance(shared, Surroundings) else Surroundings(shared)
    spoken = without_failed_joins(distinct(own))
    unknown = [e for e in spoken if e.speaker.role == "unknown"]
    mine = with_roles(spoken, around.in_logs_of(unknown))
    beside = with_roles(around.beside(group, spoken), spoken)
    mine, beside = apart(mine, beside)
    mine, beside = with_client_ids([*mine, *around.poll_timeouts(group, mine)], beside)
    if any(is_nameless(event) for event in mine):
        mine, beside = with_introduced_names(mine, beside, read_clocks([*mine, *around.witnesses]))
    local = [*mine, *adopted(group, mine, distinct(concerning(group, mine, beside)))]
    clocks = read_clocks([*local, *around.witnesses])
    timed = with_times(local, around.by_brokers_in_logs_of(e for e in local if e.at is None))
    events, said_by_brokers = Told(on_one_clock(timed, clocks)), around.brokers(clocks)
    grouped = [e for e in events if e.group is not None]
    kind = kind_of(grouped)
    cast = cast_of(kind, events)
    protocols = protocols_of(grouped, kind)
    protocol: Protocol = protocols[-1].protocol if protocols else "unknown"
    starts = starts_of(cast, events)
    lives, rebalances, generations = _replayed(cast, starts, events)
    stops = stops_of(cast, events)
    for stop in closed_at_last(cast, stops, events) if kind == "streams" else ():
        lives.close(stop)
    close_for_good(lives.departures, stops)
    return Timeline(
        group=group,
        cluster=cluster,
        kind=kind,
        protocol=protocol,
        protocols=protocols,
        mode=rebalance_mode_of(events, kind, protocol),
        cast=cast,
        own=events,
        around=said_by_brokers,
        starts=InTime(starts),
        stops=InTime(stops),
        departures=InTime(lives.departures),
        arrivals=InTime(lives.arrivals),
        returns=InTime(lives.returns),
        requests=InTime(requests_of(cast, grouped)),
        rebalances=Lasting(rebalances, attrgetter("started_at"), lambda r: r.stabilized_at or r.ended_at()),
        generations=generations,
        pauses=Lasting(pauses_of(cast, starts, events), attrgetter("started_at"), attrgetter("ended_at")),
        coordinators=coordinators_of(grouped),
        clocks=tuple(clocks[place] for place in sorted(clocks, key=lambda p: (p[0], p[1] or ""))),
        coverage=coverage_of(cast, events, said_by_brokers, around.logs, clocks),
        settings=settings_of(events, said_by_brokers),
    )


def _replayed(
    cast: Cast, starts: Sequence[Start], events: Sequence[Event]
) -> tuple[Lives, list[Rebalance], list[Generation]]:
    lives, classic, epochs = Lives(cast, starts), Generations(cast), GroupEpochs(cast)
    absent = deque(sorted([*missed(cast, events), *taken_over(cast, starts, events)], key=attrgetter("joined_at")))
    for event in events:
        while absent and event.at is not None and event.at >= absent[0].joined_at:
            lives.miss(absent.popleft())
        lives.hear(event)
        if event.group is not None or isinstance(event, StreamsParticipants):
            classic.hear(event, lives.live)
            epochs.hear(event, lives.live)
    slots = [s for s in classic.finished() if not epochs.takes_in(s)]
    generations: list[Generation] = []
    for index, slot in enumerate(slots):
        following = slots[index + 1] if index + 1 < len(slots) else None
        generations.append(generation_of(slot, generations[-1] if generations else None, following, cast))
    bumps = epochs.finished()
    rebalances = [rebalance_of(slot) for slot in slots if slot.stabilized or slot.joined or slot.prepared]
    rebalances += [Rebalance(generation=None, started_at=p.at or 0, events=[p]) for p in classic.unfinished]
    at = {id(g): s.first_at() for g, s in zip(generations, slots, strict=True)}
    epoch_generations = generations_of(bumps)
    at |= {id(g): s.first_at or 0 for g, s in zip(epoch_generations, bumps, strict=True)}
    generations = sorted([*generations, *epoch_generations], key=lambda g: (at[id(g)], g.generation))
    rebalances += rebalances_of(bumps)
    for rebalance in rebalances:
        if any(out - NEAR_MS <= rebalance.started_at <= back + NEAR_MS for out, back in lives.rejoins):
            rebalance.followup = "rejoin"
    rebalances.sort(key=lambda r: (r.started_at, r.generation or 0))
    return lives, rebalances, generations
