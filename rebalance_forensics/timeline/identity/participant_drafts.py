"""The participants of a group while its lines are read: each line may show a new participant or another name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeVar

from msgspec import Struct, field

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event, member_ids_in
from rebalance_forensics.records import input_name
from rebalance_forensics.timeline.identity.log_writers import instance_of
from rebalance_forensics.timeline.identity.names import (
    is_thread_cut_off,
    name_in_member_id,
    process_of_streams_client,
    streams_client,
    streams_thread,
)
from rebalance_forensics.timeline.identity.participants import (
    BY_PROCESS,
    NONE,
    Participant,
    ParticipantKind,
    Participants,
    own_member_id,
    place_name,
    speaking,
    static_name,
)
from rebalance_forensics.timeline.time_index import grouped

K = TypeVar("K")


class ParticipantDraft(Struct, eq=False):
    """A participant with the names found so far; `places` are those of its process, if a host runs several."""

    kind: ParticipantKind
    name: str
    client_ids: set[str] = field(default_factory=set)
    worker_clients: set[str] = field(default_factory=set)
    instance_ids: set[str] = field(default_factory=set)
    member_ids: set[str] = field(default_factory=set)
    first_id: str = ""
    threads: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    processes: set[str] = field(default_factory=set)
    endpoints: set[str] = field(default_factory=set)
    pids: set[int] = field(default_factory=set)
    has_log: bool = False
    has_namesakes: bool = False
    is_several: bool = False
    has_slot: bool = False
    places: set[str] = field(default_factory=set)

    def note(self, **names: str | int | None) -> None:
        """Add the names that are not None to these fields."""
        for field_name, name in names.items():
            if name:
                getattr(self, field_name).add(name)

    def finished(self) -> Participant:
        """The finished participant."""
        found: dict[str, Any] = {}
        for name in Participant.__struct_fields__:
            known = getattr(self, name)
            # Most have no worker, no instance, no thread: an empty set of its own would be 216 bytes for each.
            found[name] = (frozenset(known) if known else NONE) if isinstance(known, set) else known
        return Participant(**found)


class ParticipantDrafts:
    """The participants of a group, with their lookup by the ids found so far."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.everybody: list[ParticipantDraft] = []
        self._by_key: dict[tuple[str, str], ParticipantDraft] = {}
        self._place_of: dict[ParticipantDraft, int] = {}
        self._first_of_client: dict[str, ParticipantDraft] = {}
        self._by_member: dict[str, ParticipantDraft] = {}
        self._by_client: dict[str, list[ParticipantDraft]] = defaultdict(list)
        self._by_instance: dict[str, ParticipantDraft] = {}
        self._client_of: dict[str, str] = {}
        self._thread_of: dict[str, str] = {}
        self._by_place: dict[str, list[ParticipantDraft]] = defaultdict(list)

    def of_member(self, member_id: str) -> ParticipantDraft:
        """The participant with a member id; created if unknown."""
        return self._by_member.get(member_id) or self._add_by_member_id(member_id)

    def with_client_id(self, client_id: str) -> Sequence[ParticipantDraft]:
        """The participants with a client id."""
        return self._by_client.get(client_id, ())

    def knows_member(self, member_id: str) -> bool:
        """True if a participant with this member id is known."""
        return member_id in self._by_member

    def of_instance(self, instance_id: str) -> ParticipantDraft:
        """The participant with a group.instance.id; created if unknown."""
        if instance_id not in self._by_instance:
            participant = self._add(("instance", instance_id), "instance", instance_id)
            self._by_instance[instance_id] = participant
            participant.instance_ids.add(instance_id)
        return self._by_instance[instance_id]

    def of_speaker(self, event: Event) -> ParticipantDraft | None:
        """The participant that wrote this line, or None."""
        return speaking(self.kind, self._by_key, self._by_place, event)

    def add_speaker(self, event: Event) -> None:
        """Add the client that wrote a line, with the names in it."""
        speaker = event.speaker
        instance = instance_of(event) if self.kind == "streams" else None
        named = speaker.client_id or speaker.thread or speaker.place or instance
        if self.kind == "connect" and type(event) is ev.WorkerStopped:
            named = named or speaker.host  # the stop may be the only line of a worker
        if speaker.role == "broker" or isinstance(event, ev.OF_THE_HOST) or (event.group is None and not named):
            return
        if event.group is None and self.kind == "consumer":
            return
        participant = self._speaking(event)
        if participant is None:
            return
        participant.has_log = True
        participant.note(files=speaker.file, hosts=speaker.host, places=speaker.place, pids=speaker.pid)
        if instance is not None:
            self._add_client_id(participant, instance)
        self._learn_ids(participant, event)

    def add_nameless(self, event: Event) -> None:
        """Add a client that logs its group and no client id, under the name of its log.

        Only where no coordinator names it, and no other participant writes to its log.
        """
        speaker, place = event.speaker, place_name(event)
        nobody = event.group is None or speaker.role == "broker" or speaker.client_id is not None
        if self.kind != "consumer" or nobody:
            return
        member = own_member_id(event)
        if known := self._by_place.get(place):
            if member and known == [self._by_key.get(("log", place))]:
                self._add_member_id(known[0], member)
            return
        client = (name_in_member_id(member) or member) if member else place.rpartition("/")[2]
        participant = self._add(("log", place), "client", client, place)
        if member:
            self._add_member_id(participant, member)
        participant.has_log = True
        participant.note(files=speaker.file, hosts=speaker.host, pids=speaker.pid)

    def _learn_ids(self, participant: ParticipantDraft, event: Event) -> None:
        speaker = event.speaker
        if speaker.client_id and self.kind == "connect" and speaker.role != "connect":
            # KafkaBasedLog reads the config, offset and status topics with consumers that have the worker's group.id
            # and assign partitions to themselves: no members of any group.
            participant.worker_clients.add(speaker.client_id)
        elif speaker.client_id and event.group is not None:
            self._add_owned_client_id(participant, speaker.client_id)
        if speaker.instance_id:
            participant.instance_ids.add(speaker.instance_id)
            self._by_instance.setdefault(speaker.instance_id, participant)
            if participant.kind == "instance" and speaker.client_id:
                self._thread_of[speaker.instance_id] = speaker.client_id
        thread = streams_thread(speaker.client_id or speaker.thread or "")
        if thread and (client := streams_client(thread)):
            self._add_client_id(participant, client)
            participant.note(threads=thread, processes=process_of_streams_client(client))
        member = own_member_id(event)
        if member:
            self._add_member_id(participant, member)
            if speaker.client_id:
                self._client_of[member] = speaker.client_id

    def _speaking(self, event: Event) -> ParticipantDraft | None:
        place = place_name(event)
        if self.kind in BY_PROCESS:
            kind: ParticipantKind = "instance" if self.kind == "streams" else "worker"
            return self._add((self.kind, place), kind, place, place)
        client, instance = event.speaker.client_id, event.speaker.instance_id
        if not client:
            return None
        first = self._by_key.get((client, place))
        of_another = instance is not None and first is not None and bool(first.instance_ids - {instance})
        return self._add((static_name(event) if of_another else client, place), "client", client, place)

    def _add(
        self, key: tuple[str, str], kind: ParticipantKind, name: str, place: str | None = None
    ) -> ParticipantDraft:
        participant = self._by_key.get(key)
        if participant is None:
            participant = ParticipantDraft(kind=kind, name=input_name(name))
            self._by_key[key] = participant
            self._place_of[participant] = len(self.everybody)
            self.everybody.append(participant)
            if place is not None:
                self._by_place[place].append(participant)
        return participant

    def _add_owned_client_id(self, participant: ParticipantDraft, client_id: str) -> None:
        self._add_client_id(participant, client_id)
        if participant not in self._by_client[client_id]:
            self._by_client[client_id].append(participant)

    def _add_client_id(self, participant: ParticipantDraft, client_id: str) -> None:
        """Add a client id of a participant; the first participant with it is found by it."""
        participant.client_ids.add(client_id)
        first = self._first_of_client.setdefault(client_id, participant)
        if self._place_of[participant] < self._place_of[first]:
            self._first_of_client[client_id] = participant

    def _add_member_id(self, participant: ParticipantDraft, member_id: str) -> None:
        participant.member_ids.add(member_id)
        participant.first_id = participant.first_id or member_id
        self._by_member.setdefault(member_id, participant)

    def _add_by_member_id(self, member_id: str) -> ParticipantDraft:
        name = name_in_member_id(member_id)
        participant = self._add(("member", member_id), "client", member_id) if name is None else self._named(name)
        self._add_member_id(participant, member_id)
        return participant

    def _named(self, name: str) -> ParticipantDraft:
        if name in self._by_instance:
            return self._by_instance[name]
        known = self._by_client.get(name, [])
        if len(known) == 1:
            return known[0]
        client = streams_client(name)
        if client is not None:
            first = self._first_of_client.get(client)
            participant = first or self._add(("streams-client", client), "instance", client)
            if first is None:
                self._add_client_id(participant, client)
            if is_thread_cut_off(name):
                return participant
            participant.note(threads=streams_thread(name) or name, processes=process_of_streams_client(client))
        else:
            participant = self._add(("name", name), self._kind_without_log, name)
        self._add_owned_client_id(participant, name)
        return participant

    @property
    def _kind_without_log(self) -> ParticipantKind:
        return "worker" if self.kind == "connect" else "client"

    def add_namesake(self, client_id: str, member_ids: Sequence[str]) -> None:
        """Add one of several members with the same client id, by its member ids."""
        owners = {a for m in member_ids if (a := self._by_member.get(m)) is not None}
        if len(owners) == 1:
            participant = owners.pop()
            participant.is_several = participant.has_slot
            participant.has_slot = True
        else:
            participant = self._add(("namesake", member_ids[0]), self._kind_without_log, client_id)
            self._add_owned_client_id(participant, client_id)
        for member in member_ids:
            if member not in self._by_member:
                self._add_member_id(participant, member)

    def name_participants(self) -> None:
        """Name a Streams instance by the client.id that it was given, and participants that share a name apart.

        Those go by their place, else their group.instance.id or first member id.
        """
        for participant in self.everybody:
            clients = {streams_client(thread) for thread in participant.threads} - {None}
            if participant.kind == "instance" and len(clients) == 1:
                (client,) = clients
                # A generated id says no more than the place, and is another one where the state directory is lost.
                if client is not None and process_of_streams_client(client) is None:
                    participant.name = client
        for namesakes in grouped(self.everybody, attrgetter("name")).values():
            if len(namesakes) > 1:
                places = [a.places or a.hosts or a.endpoints or a.files for a in namesakes]
                apart = all(len(p) == 1 for p in places) and len(set().union(*places)) == len(namesakes)
                for participant, place in zip(namesakes, places, strict=True):
                    participant.has_namesakes = True
                    own = min(participant.instance_ids, default=participant.first_id)
                    participant.name = min(place) if apart else own or participant.name

    def link_ids(self, event: Event) -> None:
        """Link the ids in a coordinator's line about one member: client id, host, group.instance.id."""
        if type(event) is ev.MemberDescribed:
            self._link_described(event)
        instance: str | None = getattr(event, "instance_id", None)
        if instance and event.speaker.role == "broker" and type(event) is not ev.StaticMemberFenced:
            member: str | None = getattr(event, "member", None)
            if isinstance(event, ev.RebalanceStarted | ev.MemberFailed) and len(event.members) == 1:
                member = event.members[0]
            if member:
                self._add_instance_id(instance, member)
        match event:
            case ev.MemberLeft(member=str(of)) | ev.MemberLoaded(member=of) if of:
                self.of_member(of).note(endpoints=(event.client_host or "").lstrip("/"))

    def _link_described(self, event: ev.MemberDescribed) -> None:
        # Link a KIP-1071 member id, a bare uuid, with the client id and process that the coordinator prints.
        if event.member is None or event.client_id is None:
            return
        participant = self._by_member.get(event.member) or self._named(event.client_id)
        self._add_member_id(participant, event.member)
        self._client_of.setdefault(event.member, event.client_id)
        participant.note(processes=event.process, endpoints=event.client_host)

    def _add_instance_id(self, instance: str, member: str) -> None:
        participant = self._by_member.get(member) or self.of_instance(instance)
        participant.instance_ids.add(instance)
        self._by_instance.setdefault(instance, participant)
        self._add_member_id(participant, member)

    def add_named(self, event: Event) -> None:
        """Add the other participants that a line names by a member id or a group.instance.id."""
        instance: str | None = getattr(event, "instance_id", None)
        if instance and isinstance(event, ev.MemberIdIssued | ev.MemberJoined | ev.MemberLeft):
            self.of_instance(instance)
        elif type(event) is ev.StaticMemberReplaced:
            participant = self.of_instance(event.instance_id)
            participant.member_ids.update(filter(None, (event.old_member, event.member)))
        for member in member_ids_in(event):
            if member and not member.startswith("?"):  # that is a placeholder (`placeholder_id`)
                self.of_member(member)

    def add_log_of_only_member(self, events: Sequence[Event]) -> None:
        """Give the only member the only log that names its group and no client, as KafkaJS' consumers do."""
        named = [event for event in events if event.group is not None and event.speaker.role != "broker"]
        places = {place_name(event) for event in named}
        is_nameless = all(event.speaker.client_id is None and own_member_id(event) is None for event in named)
        if self.kind != "consumer" or len(self.everybody) != 1 or len(places) != 1 or not is_nameless:
            return
        only, place = self.everybody[0], places.pop()
        if not only.has_log and only not in self._by_place[place]:
            self._add_log(only, place, named)

    def add_logs_of_leaders(self, lines: Sequence[Event]) -> None:
        """Give logs that name their group and neither client nor member to the members that led their generations.

        kafka-python 2.0 and Java 0.11 at DEBUG print that they lead the generation that they then join
        (base.py, _on_join_leader); the coordinator prints who led it.
        """
        led: dict[str, list[int]] = defaultdict(list)
        joined: dict[str, list[int]] = defaultdict(list)
        leaders: dict[int, str] = {}
        named: dict[str, list[Event]] = defaultdict(list)
        leading: set[str] = set()
        for event in lines if self.kind == "consumer" else ():
            place = place_name(event)
            match event:
                case ev.AssignmentReceived(leader=str(leader)):
                    leaders[event.generation] = leader
                case ev.JoinStarted():
                    leading.discard(place)
                case ev.AssignmentComputed():
                    leading.add(place)
                case ev.JoinSucceeded():
                    joined[place].append(event.generation)
                    if place in leading:
                        led[place].append(event.generation)
            if event.speaker.role != "broker" and event.group is not None:
                named[place].append(event)
        for place, generations in led.items():
            members = {self._by_member.get(leaders[n]) for n in generations if n in leaders} - {None}
            # Two members of one log both join a generation.
            if len(members) == 1 and not self._by_place.get(place) and len({*joined[place]}) == len(joined[place]):
                (member,) = members
                if member is not None and not member.has_log and not member.has_namesakes:
                    self._add_log(member, place, named[place])

    def add_logs_of_hosts(self, lines: Sequence[Event]) -> None:
        """Give logs that name their group and neither client nor member to the members called like their hosts.

        A client id is often the name of the host or pod (`client.id=$HOSTNAME`); kafka-python 2.0 logs neither id.
        """
        named: dict[str, list[Event]] = defaultdict(list)
        for event in lines if self.kind == "consumer" else ():
            if event.speaker.role != "broker" and event.group is not None:
                named[place_name(event)].append(event)
        for place, of_place in named.items():
            called = self._by_client.get(of_place[0].speaker.host or "", [])
            joined = [event.generation for event in of_place if isinstance(event, ev.JoinSucceeded)]
            if len(called) == 1 and not self._by_place.get(place) and len({*joined}) == len(joined) > 0:
                (member,) = called
                if not member.has_log and not member.has_namesakes:
                    self._add_log(member, place, of_place)

    def _add_log(self, participant: ParticipantDraft, place: str, lines: Sequence[Event]) -> None:
        self._by_place[place].append(participant)
        participant.has_log = True
        for event in lines:
            participant.note(files=event.speaker.file, hosts=event.speaker.host, pids=event.speaker.pid)

    def finished(self) -> Participants:
        """The finished participants."""
        done = {draft: draft.finished() for draft in self.everybody}
        by_place = {place: tuple([done[a] for a in drafts]) for place, drafts in self._by_place.items()}
        return Participants(
            kind=self.kind,
            everybody=tuple(done.values()),
            by_key=_frozen(self._by_key, done),
            by_place=MappingProxyType(by_place),
            by_name=_frozen(self._by_name(), done),
            by_member=_frozen(self._by_member, done),
            by_instance=_frozen(self._by_instance, done),
            client_of_member=MappingProxyType(self._client_of),
            thread_of_instance=MappingProxyType(self._thread_of),
        )

    def _by_name(self) -> dict[str, ParticipantDraft]:
        """Name or client id -> the first participant with it."""
        found = dict(self._first_of_client)
        for name, participant in {draft.name: draft for draft in reversed(self.everybody)}.items():
            first = found.setdefault(name, participant)
            if self._place_of[participant] < self._place_of[first]:
                found[name] = participant
        return found


def _frozen(
    known: Mapping[K, ParticipantDraft], done: Mapping[ParticipantDraft, Participant]
) -> Mapping[K, Participant]:
    return MappingProxyType({key: done[draft] for key, draft in known.items()})
