"""Who is who: one participant per client, Streams instance, Connect worker; every name it goes by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import GroupHeartbeatFailed, MemberTransitioned
from rebalance_forensics.events.membership import LeaveSent, PollTimeoutExpired
from rebalance_forensics.events.rebalances import (
    HeartbeatFailed,
    JoinFailed,
    JoinReported,
    JoinRequested,
    JoinSucceeded,
    SyncFailed,
    SyncSucceeded,
)
from rebalance_forensics.timeline.identity.names import name_in_member_id

ParticipantKind = Literal["client", "instance", "worker"]
NONE: frozenset[str] = frozenset()
BY_PROCESS = ("streams", "connect", "schema-registry")
"""Groups in which a process takes part as one, whatever clients it has."""
_WITH_ITS_OWN_ID = (
    JoinSucceeded, JoinReported, SyncSucceeded, LeaveSent, MemberTransitioned, JoinFailed, SyncFailed, HeartbeatFailed,
    GroupHeartbeatFailed, PollTimeoutExpired,
)  # fmt: skip
"""What a client says of its own membership, its member id among it."""
P = TypeVar("P")


class Participant(Struct, frozen=True, eq=False):
    """One party to the group, over all its lives. `name` is what an operator calls it."""

    kind: ParticipantKind
    name: str
    client_ids: frozenset[str] = NONE
    instance_ids: frozenset[str] = NONE
    member_ids: frozenset[str] = NONE
    threads: frozenset[str] = NONE
    hosts: frozenset[str] = NONE
    files: frozenset[str] = NONE
    processes: frozenset[str] = NONE
    endpoints: frozenset[str] = NONE
    has_log: bool = False
    has_namesakes: bool = False
    """Others of the group have the same client id: only its place or its member ids name it."""

    @property
    def has_one_process(self) -> bool:
        """An instance known by its Streams client alone: the next life of its process has another."""
        return self.kind == "instance" and self.name in self.client_ids

    def every_name(self) -> tuple[str, ...]:
        """All other names, sorted, directories and stems of its files included."""
        return tuple(sorted((self.lasting_names() | self.member_ids) - {self.name, ""}))

    def lasting_names(self) -> frozenset[str]:
        """All names but the member ids, of which it gets another each time it joins anew."""
        return self.client_ids.union(
            self.instance_ids, self.threads, self.hosts, self.files, self.processes, self.endpoints, (self.name,)
        )


class Participants(Struct, frozen=True, eq=False, kw_only=True):
    """The participants of one group and how ids lead to them."""

    kind: str
    everybody: tuple[Participant, ...]
    """In the order in which the logs show them."""
    by_key: Mapping[tuple[str, str], Participant]
    """By client id, or by kind of group, and where they run."""
    by_place: Mapping[str, Sequence[Participant]]
    by_name: Mapping[str, Participant]
    """By name or client id the first who has it."""
    by_member: Mapping[str, Participant]
    """By every member id that a line of the group names."""
    by_instance: Mapping[str, Participant]
    client_of_member: Mapping[str, str]
    thread_of_instance: Mapping[str, str]
    """By the group.instance.id of a stream thread its client id."""

    def of_member(self, member_id: str | None) -> Participant | None:
        """The participant behind a member id, or behind what stands for one (`placeholder_id`)."""
        if not member_id:
            return None
        return self.by_name.get(member_id[1:]) if member_id.startswith("?") else self.by_member.get(member_id)

    def of_instance(self, instance_id: str | None) -> Participant | None:
        """The participant behind a group.instance.id."""
        return self.by_instance.get(instance_id) if instance_id else None

    def of_speaker(self, event: Event) -> Participant | None:
        """The participant whose log this line is in; None for brokers and lines of nobody in particular."""
        return speaking(self.kind, self.by_key, self.by_place, event)

    def at_place(self, event: Event) -> Sequence[Participant]:
        """Every participant that lives where this line was written."""
        return self.by_place.get(place_name(event), ())

    def client_of(self, member_id: str) -> str | None:
        """The client id of a member: classic ids begin with it, of others only the client's own log tells it.

        A static thread's member id begins with its group.instance.id instead (`{instance}-{number of the thread}`).
        """
        if member_id.startswith("?"):
            return member_id[1:]
        name = name_in_member_id(member_id)
        return self.client_of_member.get(member_id) if name is None else self.thread_of_instance.get(name, name)


def speaking(
    kind: str, by_key: Mapping[tuple[str, str], P], by_place: Mapping[str, Sequence[P]], event: Event
) -> P | None:
    """Whose log a line is in, by client id and place; whoever is alone at a place speaks there."""
    speaker = event.speaker
    if speaker.role == "broker":
        return None
    place = place_name(event)
    client = speaker.client_id
    if kind in BY_PROCESS:
        return by_key.get((kind, place))
    if client is not None and (client, place) in by_key:
        return by_key[client, place]
    present = by_place.get(place, ())
    return present[0] if len(present) == 1 else None


def placeholder_id(participant: Participant, client_id: str | None) -> str:
    """What stands for a member whose id no line tells: each thread of an instance is a member of its own."""
    return f"?{client_id}" if participant.kind == "instance" and client_id else f"?{participant.name}"


def own_member_id(event: Event) -> str | None:
    """The member id that a client line says of its own speaker."""
    if isinstance(event, _WITH_ITS_OWN_ID):
        return event.member
    return event.member if isinstance(event, JoinRequested) and event.why == "member-id-required" else None


def place_name(event: Event) -> str:
    """Where a line was written: the process where a host has several, else the host if known, else the file."""
    speaker = event.speaker
    return speaker.place or speaker.host or speaker.file
