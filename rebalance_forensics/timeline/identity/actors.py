"""Who is who: one actor per client, Streams instance, Connect worker; every name it goes by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import WorkerAssigned
from rebalance_forensics.events.epochs import GroupHeartbeatFailed, MemberTransitioned
from rebalance_forensics.events.membership import (
    LeaveSent,
    MemberDescribed,
    MemberLeft,
    MemberLoaded,
    PollTimeoutExpired,
    StaticMemberFenced,
)
from rebalance_forensics.events.rebalancing import (
    HeartbeatFailed,
    JoinFailed,
    JoinRequested,
    JoinSucceeded,
    RebalanceStarted,
    SyncFailed,
    SyncSucceeded,
)
from rebalance_forensics.timeline.identity.names import (
    is_bare_member_id,
    name_in_member_id,
    process_of_streams_client,
    streams_client,
    streams_thread,
)

ActorKind = Literal["client", "instance", "worker"]


@dataclass(slots=True, eq=False)
class Actor:
    """One party to the group, over all its lives. `name` is what an operator calls it."""

    kind: ActorKind
    name: str
    client_ids: set[str] = field(default_factory=set)
    instance_ids: set[str] = field(default_factory=set)
    member_ids: set[str] = field(default_factory=set)
    threads: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    processes: set[str] = field(default_factory=set)
    endpoints: set[str] = field(default_factory=set)
    has_log: bool = False
    places: set[str] = field(default_factory=set)
    """What sets its process apart from others on the same host."""
    has_namesakes: bool = False
    """Others of the group have the same client id: only its place or its member ids name it."""

    @property
    def lives_once(self) -> bool:
        """An instance known by its Streams client alone: the next life of its process has another."""
        return self.kind == "instance" and self.name in self.client_ids

    def number_of_names(self) -> int:
        """How many names it goes by, some counted twice."""
        names = (
            self.client_ids, self.instance_ids, self.member_ids, self.threads, self.hosts, self.files,
            self.processes, self.endpoints,
        )  # fmt: skip
        return sum(map(len, names))

    def every_name(self) -> tuple[str, ...]:
        """All other names, sorted, directories and stems of its files included."""
        return tuple(sorted((self.lasting_names() | self.member_ids) - {self.name, ""}))

    def lasting_names(self) -> set[str]:
        """All names but the member ids, of which it gets another each time it joins anew."""
        return (
            self.client_ids | self.instance_ids | self.threads | self.hosts | self.files | self.processes
            | self.endpoints | {self.name}
        )  # fmt: skip


class Cast:
    """The actors of one group and how ids lead to them."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.actors: list[Actor] = []
        self._by_key: dict[tuple[str, str], Actor] = {}
        self._place_of: dict[Actor, int] = {}
        self._named_so: dict[str, Actor] = {}
        self._first_of_client: dict[str, Actor] = {}
        self._by_member: dict[str, Actor] = {}
        self._by_client: dict[str, list[Actor]] = defaultdict(list)
        self._by_instance: dict[str, Actor] = {}
        self._client_of: dict[str, str] = {}
        self._thread_of: dict[str, str] = {}
        self._by_place: dict[str, list[Actor]] = defaultdict(list)

    def of_member(self, member_id: str | None) -> Actor | None:
        """The actor behind a member id; a new one when nobody is known by it."""
        if not member_id:
            return None
        if member_id.startswith("?"):
            name = member_id[1:]
            found = [who for first in (self._named_so, self._first_of_client) if (who := first.get(name)) is not None]
            return min(found, key=self._place_of.__getitem__, default=None)
        known = self._by_member.get(member_id)
        return known or self._met_by_member_id(member_id)

    def called(self, client_id: str) -> Sequence[Actor]:
        """Everybody known by a client id."""
        return self._by_client.get(client_id, ())

    def known_by(self, member_id: str) -> Actor | None:
        """The actor behind a member id, if somebody is known by it."""
        return self._by_member.get(member_id)

    def of_instance(self, instance_id: str | None) -> Actor | None:
        """The actor behind a group.instance.id."""
        if not instance_id:
            return None
        if instance_id not in self._by_instance:
            actor = self._add(("instance", instance_id), "instance", instance_id)
            self._by_instance[instance_id] = actor
            actor.instance_ids.add(instance_id)
        return self._by_instance[instance_id]

    def of_speaker(self, event: Event) -> Actor | None:
        """The actor whose log this line is in; None for brokers and lines of nobody in particular."""
        speaker = event.speaker
        if speaker.role == "broker":
            return None
        place = place_name(event)
        client = speaker.client_id
        if self.kind in ("streams", "connect", "schema-registry"):
            return self._by_key.get((self.kind, place))
        if client is not None and (client, place) in self._by_key:
            return self._by_key[client, place]
        here = self._by_place[place]
        return here[0] if len(here) == 1 else None

    def at_place(self, event: Event) -> list[Actor]:
        """Every actor that lives where this line was written."""
        return self._by_place[place_name(event)]

    def learn(self, event: Event) -> None:
        """Take in whatever names this line of a client tells."""
        speaker = event.speaker
        if speaker.role == "broker" or (event.group is None and not speaker.client_id and not speaker.thread):
            return
        if event.group is None and self.kind == "consumer":
            return
        actor = self._speaking(event)
        if actor is None:
            return
        actor.has_log = True
        actor.files.add(speaker.file)
        if speaker.host:
            actor.hosts.add(speaker.host)
        if speaker.place:
            actor.places.add(speaker.place)
        self._learn_ids(actor, event)

    def _learn_ids(self, actor: Actor, event: Event) -> None:
        speaker = event.speaker
        if speaker.client_id and event.group is not None:
            self._owns_client(actor, speaker.client_id)
        if speaker.instance_id:
            actor.instance_ids.add(speaker.instance_id)
            self._by_instance.setdefault(speaker.instance_id, actor)
            if actor.kind == "instance" and speaker.client_id:
                self._thread_of[speaker.instance_id] = speaker.client_id
        thread = streams_thread(speaker.client_id or speaker.thread or "")
        if thread:
            actor.threads.add(thread)
            client = streams_client(thread)
            if client:
                self._goes_by(actor, client)
                process = process_of_streams_client(client)
                if process:
                    actor.processes.add(process)
        member = own_member_id(event)
        if member:
            self._owns_member(actor, member)
            if speaker.client_id:
                self._client_of[member] = speaker.client_id

    def client_of(self, member_id: str) -> str | None:
        """The client id of a member: classic ids begin with it, of others only the client's own log tells it.

        A static thread's member id begins with its group.instance.id instead (`{instance}-{number of the thread}`).
        """
        if member_id.startswith("?"):
            return member_id[1:]
        name = name_in_member_id(member_id)
        return self._client_of.get(member_id) if name is None else self._thread_of.get(name, name)

    def _speaking(self, event: Event) -> Actor | None:
        place = place_name(event)
        if self.kind in ("streams", "connect", "schema-registry"):
            kind: ActorKind = "instance" if self.kind == "streams" else "worker"
            return self._add((self.kind, place), kind, place, place)
        client = event.speaker.client_id
        return self._add((client, place), "client", client, place) if client else None

    def _add(self, key: tuple[str, str], kind: ActorKind, name: str, place: str | None = None) -> Actor:
        actor = self._by_key.get(key)
        if actor is None:
            actor = Actor(kind=kind, name=name)
            self._by_key[key] = actor
            self._place_of[actor] = len(self.actors)
            self.actors.append(actor)
            self._named_so.setdefault(name, actor)
            if place is not None:
                self._by_place[place].append(actor)
        return actor

    def _owns_client(self, actor: Actor, client_id: str) -> None:
        self._goes_by(actor, client_id)
        if actor not in self._by_client[client_id]:
            self._by_client[client_id].append(actor)

    def _goes_by(self, actor: Actor, client_id: str) -> None:
        """Take in a client id of an actor; whoever was met first is found by it."""
        actor.client_ids.add(client_id)
        first = self._first_of_client.setdefault(client_id, actor)
        if self._place_of[actor] < self._place_of[first]:
            self._first_of_client[client_id] = actor

    def _owns_member(self, actor: Actor, member_id: str) -> None:
        actor.member_ids.add(member_id)
        self._by_member.setdefault(member_id, actor)

    def _met_by_member_id(self, member_id: str) -> Actor:
        name = name_in_member_id(member_id)
        actor = self._add(("member", member_id), "client", member_id) if name is None else self._named(name)
        self._owns_member(actor, member_id)
        return actor

    def _named(self, name: str) -> Actor:
        if name in self._by_instance:
            return self._by_instance[name]
        known = self._by_client.get(name, [])
        if len(known) == 1:
            return known[0]
        client = streams_client(name)
        if client is not None:
            actor = self._by_streams_client(client)
            actor.threads.add(streams_thread(name) or name)
            process = process_of_streams_client(client)
            if process:
                actor.processes.add(process)
        else:
            actor = self._add(("name", name), "worker" if self.kind == "connect" else "client", name)
        self._owns_client(actor, name)
        return actor

    def _by_streams_client(self, client: str) -> Actor:
        if (known := self._first_of_client.get(client)) is not None:
            return known
        actor = self._add(("streams-client", client), "instance", client)
        self._goes_by(actor, client)
        return actor

    def seat(self, client_id: str, member_ids: Sequence[str]) -> None:
        """Take in that these member ids belong to one of several members with the same client id."""
        owners = {a for m in member_ids if (a := self._by_member.get(m)) is not None}
        if len(owners) == 1:
            actor = owners.pop()
        else:
            kind: ActorKind = "worker" if self.kind == "connect" else "client"
            actor = self._add(("seat", member_ids[0]), kind, client_id)
            self._owns_client(actor, client_id)
        for member in member_ids:
            if member not in self._by_member:
                self._owns_member(actor, member)

    def tell_apart(self) -> None:
        """Call those who share a name by where they run, else by their first member id."""
        by_name: dict[str, list[Actor]] = defaultdict(list)
        for actor in self.actors:
            by_name[actor.name].append(actor)
        for namesakes in by_name.values():
            if len(namesakes) > 1:
                places = [a.places or a.hosts or a.endpoints or a.files for a in namesakes]
                apart = all(len(p) == 1 for p in places) and len(set().union(*places)) == len(namesakes)
                for actor, place in zip(namesakes, places, strict=True):
                    actor.has_namesakes = True
                    actor.name = next(iter(place)) if apart else min(actor.member_ids, default=actor.name)
        self._name_anew()

    def _name_anew(self) -> None:
        """Find everybody by the name that they have now."""
        self._named_so = {actor.name: actor for actor in reversed(self.actors)}

    def link(self, event: Event) -> None:
        """Take in what the coordinator tells of a member: its client id, host and instance."""
        if isinstance(event, MemberDescribed):
            self._described(event)
        instance, member = getattr(event, "instance_id", None), getattr(event, "member", None)
        if isinstance(event, RebalanceStarted) and len(event.members) == 1:
            member = event.members[0]
        if event.speaker.role == "broker" and instance and member and not isinstance(event, StaticMemberFenced):
            self._owns_instance(instance, member)
        match event:
            case MemberLeft() | MemberLoaded():
                actor = self.of_member(event.member)
                if actor is not None and event.client_host:
                    actor.endpoints.add(event.client_host.lstrip("/"))
                if actor is not None and event.client_id and is_bare_member_id(event.member or ""):
                    self._owns_client(actor, event.client_id)
                    if actor.name == event.member:
                        self._rename(actor, event.client_id)

    def _rename(self, actor: Actor, name: str) -> None:
        if self._named_so.get(actor.name) is actor:
            del self._named_so[actor.name]
        actor.name = name
        first = self._named_so.setdefault(name, actor)
        if self._place_of[actor] < self._place_of[first]:
            self._named_so[name] = actor

    def _described(self, event: MemberDescribed) -> None:
        """The member ids of KIP-1071 name nobody; the coordinator says once whose stream thread is behind each."""
        if event.member is None or event.client_id is None:
            return
        actor = self._by_member.get(event.member) or self._named(event.client_id)
        self._owns_member(actor, event.member)
        self._client_of.setdefault(event.member, event.client_id)
        if event.process:
            actor.processes.add(event.process)
        if event.client_host:
            actor.endpoints.add(event.client_host)

    def _owns_instance(self, instance: str, member: str) -> None:
        actor = self._by_member.get(member) or self.of_instance(instance)
        if actor is not None:
            actor.instance_ids.add(instance)
            self._by_instance.setdefault(instance, actor)
            self._owns_member(actor, member)


def unnamed(actor: Actor, client_id: str | None) -> str:
    """What stands for a member whose id no line tells: each thread of an instance is a member of its own."""
    return f"?{client_id}" if actor.kind == "instance" and client_id else f"?{actor.name}"


def own_member_id(event: Event) -> str | None:
    """The member id that a client line says of its own speaker."""
    match event:
        case JoinSucceeded() | SyncSucceeded() | LeaveSent() | MemberTransitioned():
            return event.member
        case JoinFailed() | SyncFailed() | HeartbeatFailed() | GroupHeartbeatFailed() | PollTimeoutExpired():
            return event.member
        case JoinRequested(why="member-id-required"):
            return event.member
    return None


def place_name(event: Event) -> str:
    """Where a line was written: the process where a host has several, else the host if known, else the file."""
    speaker = event.speaker
    return speaker.place or speaker.host or speaker.file


def is_connect(events: Iterable[Event]) -> bool:
    """True when workers speak in this group."""
    return any(e.speaker.role == "connect" or isinstance(e, WorkerAssigned) for e in events)
