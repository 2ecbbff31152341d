"""From the events of one group to its timeline; the order in which events come does not matter."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter, itemgetter
from typing import TypeVar
from typing import cast as as_type

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import StreamsParticipants
from rebalance_forensics.timeline.absentees import missed
from rebalance_forensics.timeline.actors import Actor, Cast, cast_of, settings_of
from rebalance_forensics.timeline.clocks import FileClock, on_one_clock, read_clocks
from rebalance_forensics.timeline.coordinators import coordinators_of
from rebalance_forensics.timeline.facts import Arrival, Departure, Rebalance, Request, Start, StaticReturn, Stop
from rebalance_forensics.timeline.generations import Generations, generation_of, rebalance_of
from rebalance_forensics.timeline.group_epochs import GroupEpochs, generations_of, rebalances_of
from rebalance_forensics.timeline.in_time import InTime, Lasting
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
from rebalance_forensics.timeline.pauses import pauses_of
from rebalance_forensics.timeline.processes import starts_of, stops_of
from rebalance_forensics.timeline.requests import requests_of
from rebalance_forensics.timeline.roles import with_roles
from rebalance_forensics.timeline.shared import adopted, concerning
from rebalance_forensics.timeline.writing_order import with_times

T = TypeVar("T")
E = TypeVar("E", bound=Event)
Move = Departure | Arrival | Stop


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
    events: list[Event]
    """The group's own events and the shared ones that concern it, oldest first."""
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
    settings: dict[str, str] = field(default_factory=dict)
    answers: dict[object, object] = field(default_factory=dict, repr=False, compare=False)
    """What was asked of this timeline before; many rules ask the same, each at the price of a pass over all events."""

    def once(self, question: object, answer: Callable[[], T]) -> T:
        """The answer to a question about this timeline, worked out when it is first asked."""
        if question not in self.answers:
            self.answers[question] = answer()
        return as_type("T", self.answers[question])

    def remembered(self, answer: Callable[[Timeline], T]) -> T:
        """What a function says of this timeline, worked out when it is first asked."""
        return self.once(answer, lambda: answer(self))

    @property
    def first(self) -> int:
        """When the group's own lines begin."""
        return self.once(
            "first", lambda: next((e.at for e in self.events if e.group is not None and e.at is not None), 0)
        )

    @property
    def last(self) -> int:
        """The last instant any of its logs shows."""
        return self.once("last", lambda: max((e.at for e in self.events if e.at is not None), default=0))

    @property
    def has_coordinator_log(self) -> bool:
        """True when a broker speaks of this group."""
        return self.once(
            "has_coordinator_log",
            lambda: any(e.speaker.role == "broker" and e.group is not None for e in self.events),
        )

    def of(self, *kinds: type[E]) -> InTime[E]:
        """The events of these types."""
        return self.once(kinds, lambda: InTime(_of(kinds, self.once("by type", self._by_type)), time_of))

    def said_by(self, actor: Actor | None, *kinds: type[E]) -> InTime[E]:
        """What an actor's own log says: events of these types, all of it for `Event`."""
        return self.once(("said by", kinds), lambda: self._by_speaker(kinds)).get(actor) or InTime()

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

    def _by_type(self) -> dict[type[Event], list[tuple[int, Event]]]:
        """The events of each type, with their places among all."""
        found: dict[type[Event], list[tuple[int, Event]]] = defaultdict(list)
        for place, event in enumerate(self.events):
            found[type(event)].append((place, event))
        return found

    def _by_speaker(self, kinds: tuple[type[E], ...]) -> dict[Actor | None, InTime[E]]:
        found: dict[Actor | None, list[E]] = defaultdict(list)
        for event in as_type("list[E]", self.events) if Event in kinds else self.of(*kinds):
            found[self.cast.of_speaker(event)].append(event)
        return {actor: InTime(said, time_of) for actor, said in found.items()}


def _of(kinds: Iterable[type[E]], by_type: Mapping[type[Event], list[tuple[int, Event]]]) -> list[E]:
    found = [by_type[kind] for kind in dict.fromkeys(kinds) if kind in by_type]
    placed = found[0] if len(found) == 1 else sorted(chain.from_iterable(found), key=itemgetter(0))
    return [as_type("E", event) for _, event in placed]


def time_of(event: Event) -> int:
    """When it was; what has no time comes before everything."""
    return event.at or 0


def by_time_then_origin(event: Event) -> tuple[int, str, int]:
    """A total order: the time, then the place in the files."""
    return event.at if event.at is not None else 0, event.origin.path, event.origin.byte_offset


def build(cluster: str, group: str, own: Iterable[Event], shared: Iterable[Event]) -> Timeline:
    """Rebuild one group's history from its own events and those that name no group."""
    spoken, around = distinct(own), tuple(shared)
    mine = with_roles(spoken, around)
    theirs = adopted(group, mine, distinct(concerning(group, mine, with_roles(around, spoken))))
    clocks = read_clocks([*mine, *theirs])
    events = sorted(on_one_clock(with_times([*mine, *theirs]), clocks), key=lambda e: e.at or 0)
    grouped = [e for e in events if e.group is not None]
    kind = kind_of(grouped)
    cast = cast_of(kind, events)
    protocols = protocols_of(grouped, kind)
    protocol: Protocol = protocols[-1].protocol if protocols else "unknown"
    starts = starts_of(cast, events)
    lives, rebalances, generations = _replayed(cast, starts, events)
    stops = stops_of(cast, events)
    close_for_good(lives.departures, stops)
    return Timeline(
        group=group,
        cluster=cluster,
        kind=kind,
        protocol=protocol,
        protocols=protocols,
        mode=rebalance_mode_of(events, kind, protocol),
        cast=cast,
        events=events,
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
        settings=settings_of(events),
    )


def _replayed(
    cast: Cast, starts: Sequence[Start], events: Sequence[Event]
) -> tuple[Lives, list[Rebalance], list[Generation]]:
    lives, classic, epochs = Lives(cast, starts), Generations(cast), GroupEpochs(cast)
    absent = deque(missed(cast, events))
    for event in events:
        while absent and event.at is not None and event.at >= absent[0].joined_at:
            lives.miss(absent.popleft())
        lives.hear(event)
        if event.group is not None or isinstance(event, StreamsParticipants):
            classic.hear(event, lives.live)
            epochs.hear(event, lives.live)
    slots = classic.finished()
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
    rebalances.sort(key=lambda r: (r.started_at, r.generation or 0))
    return lives, rebalances, generations


def distinct(events: Iterable[Event]) -> list[Event]:
    """Each line once, also when a file or a block of lines was given twice."""
    found: dict[tuple[object, ...], Event] = {}
    for event in sorted(events, key=by_time_then_origin):
        broker_or_client = event.speaker.broker if event.speaker.role == "broker" else event.speaker.client_id
        key: tuple[object, ...] = (event.at, type(event), event.text, event.group, broker_or_client, event.speaker.host)
        if event.at is None:
            key = (*key, event.origin)
        found.setdefault(key, event)
    return list(found.values())
