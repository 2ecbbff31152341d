"""The participants of a group: one for each client, Streams instance or Connect worker, with all its names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeVar

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.identity.log_names import (
    OF_ANY_PROGRAM,
    THREADS_OF_A_START,
    application_words,
    process_id_in,
    words_of,
)
from rebalance_forensics.timeline.identity.names import name_in_member_id, process_of_streams_client, streams_thread

ParticipantKind = Literal["client", "instance", "worker"]
NONE: frozenset[str] = frozenset()
BY_PROCESS = ("streams", "connect", "schema-registry")
"""Kinds of groups in which a process is one participant, regardless of its number of clients."""
# Lines in which a client logs its own member id.
_WITH_ITS_OWN_ID = (
    ev.JoinSucceeded, ev.JoinReported, ev.SyncSucceeded, ev.LeaveSent, ev.MemberTransitioned, ev.JoinFailed,
    ev.SyncFailed, ev.HeartbeatFailed, ev.GroupHeartbeatFailed, ev.PollTimeoutExpired,
)  # fmt: skip
P = TypeVar("P")


LOWEST_OF_A_HOST = 300
"""After a wrap-around Linux gives no process id below this again (RESERVED_PIDS in kernel/pid.c): a lower number was
printed inside a container, and the kernel knows that process by another."""


class Participant(Struct, frozen=True, eq=False):
    """A participant across all restarts; `name` is its name in reports."""

    kind: ParticipantKind
    name: str
    client_ids: frozenset[str] = NONE
    worker_clients: frozenset[str] = NONE
    """The clients of a Connect worker for its internal topics, which are not members."""
    instance_ids: frozenset[str] = NONE
    member_ids: frozenset[str] = NONE
    threads: frozenset[str] = NONE
    hosts: frozenset[str] = NONE
    files: frozenset[str] = NONE
    processes: frozenset[str] = NONE
    endpoints: frozenset[str] = NONE
    pids: frozenset[int] = frozenset()
    """The process ids in its own log."""
    has_log: bool = False
    has_namesakes: bool = False
    """Others of the group have the same client id: only its place or its member ids name it."""
    is_several: bool = False
    """Several members with this client id write to the same log, and no name in its lines distinguishes them."""

    def has_pid(self, pid: int | None, *, of_the_kernel: bool = False) -> bool | None:
        """True for a process id that its log prints, False for another's; None if that is not shown.

        Every container has a process 1, so equal low numbers tie nothing; the kernel calls such a process by another.
        """
        if pid is None or not self.pids:
            return None
        if pid in self.pids:
            return True if pid >= LOWEST_OF_A_HOST else None
        return None if of_the_kernel and min(self.pids) < LOWEST_OF_A_HOST else False

    @property
    def has_one_process(self) -> bool:
        """True for an instance known by its generated Streams client id alone: a restarted process has another."""
        return self.name in self.client_ids and process_of_streams_client(self.name) is not None

    def every_name(self) -> tuple[str, ...]:
        """All other names, sorted, including directories and stems of its files."""
        return tuple(sorted((self.lasting_names() | self.member_ids) - {self.name, ""}))

    def lasting_names(self) -> frozenset[str]:
        """All names except the member ids, which change with each new join."""
        return self.client_ids.union(
            self.worker_clients,
            self.instance_ids,
            self.threads,
            self.hosts,
            self.files,
            self.processes,
            self.endpoints,
            (self.name,),
        )


class Participants(Struct, frozen=True, eq=False, kw_only=True):
    """The participants of a group, with their lookup by ids."""

    kind: str
    everybody: tuple[Participant, ...]
    """All participants, in the order in which they appear in the logs."""
    by_key: Mapping[tuple[str, str], Participant]
    """By client id, or kind of group, and place."""
    by_place: Mapping[str, Sequence[Participant]]
    by_name: Mapping[str, Participant]
    """By name or client id the first participant that has it."""
    by_member: Mapping[str, Participant]
    """By every member id that a line of the group names."""
    by_instance: Mapping[str, Participant]
    client_of_member: Mapping[str, str]
    thread_of_instance: Mapping[str, str]
    """The group.instance.id of a stream thread -> its client id."""

    def of_member(self, member_id: str | None) -> Participant | None:
        """The participant with a member id or a `placeholder_id`, or None."""
        if not member_id:
            return None
        return self.by_name.get(member_id[1:]) if member_id.startswith("?") else self.by_member.get(member_id)

    def of_instance(self, instance_id: str | None) -> Participant | None:
        """The participant with a group.instance.id, or None."""
        return self.by_instance.get(instance_id) if instance_id else None

    def of_speaker(self, event: Event) -> Participant | None:
        """The participant that wrote this line; None for brokers and for lines that several may have written."""
        found = speaking(self.kind, self.by_key, self.by_place, event)
        speaker = event.speaker
        if (
            found is None
            or event.group is not None
            or speaker.file in found.files
            or speaker.client_id in found.client_ids
        ):
            return found
        return found if may_have_written(found, speaker.file, speaker.pid) else None

    def at_place(self, event: Event) -> Sequence[Participant]:
        """The participants in the place of this line."""
        return self.by_place.get(place_name(event), ())

    def client_of(self, member_id: str) -> str | None:
        """The client id of a member: classic member ids begin with it, for others it stands in the client's own log."""
        # A static thread's member id begins with its group.instance.id instead ({instance}-{number of the thread}).
        if member_id.startswith("?"):
            return member_id[1:]
        name = name_in_member_id(member_id)
        return self.client_of_member.get(member_id) if name is None else self.thread_of_instance.get(name, name)

    def thread_of(self, member_id: str | None) -> str | None:
        """The stream thread of a member, by its client id: member ids of KIP-1071 are random."""
        return streams_thread(self.client_of(member_id) or "") if member_id else None


def may_be_its_log(participant: Participant, path: str, number: int | None = None) -> bool:
    """False for the log of another JVM, by the process id in its name or the `number` of a process or thread in it.

    So is one that is named after another application: it has words that the member's names lack.
    """
    same = participant.has_pid(number)
    # Decorations of unified logging do not tell a process id from that of a thread.
    if same is False and any(0 <= (number or 0) - pid <= THREADS_OF_A_START for pid in participant.pids):
        same = None
    return _may_be_its_log(participant, path, application_words(path), same=same)


@lru_cache(maxsize=1 << 12)
def may_have_written(participant: Participant, path: str, pid: int | None = None) -> bool:
    """False for a log beside that of the member which is another application's, by its name or its process id."""
    if path in participant.files or not participant.files:
        return True
    return _may_be_its_log(participant, path, application_words(path) - OF_ANY_PROGRAM, same=participant.has_pid(pid))


def _may_be_its_log(participant: Participant, path: str, words: set[str], *, same: bool | None) -> bool:
    if participant.pids and (pid := process_id_in(path)) is not None:
        return pid in participant.pids
    if same is not None:
        return same
    names = (participant.name, *participant.client_ids, *participant.hosts)
    own = {word for name in names for word in words_of(name)}
    own.update(word for file in participant.files for word in words_of("/".join(file.split("/")[-2:])))
    return not words or (not words.isdisjoint(own) and words - OF_ANY_PROGRAM <= own)


def speaking(
    kind: str, by_key: Mapping[tuple[str, str], P], by_place: Mapping[str, Sequence[P]], event: Event
) -> P | None:
    """The participant whose log a line is in: by client id and place, or the only one at the place."""
    speaker = event.speaker
    if speaker.role == "broker" or isinstance(event, ev.OF_THE_HOST):
        return None
    place = place_name(event)
    client = speaker.client_id
    if kind in BY_PROCESS:
        return by_key.get((kind, place))
    if client is not None and (client, place) in by_key:
        return by_key.get((static_name(event), place)) or by_key[client, place]
    present = by_place.get(place, ())
    return present[0] if len(present) == 1 else None


def static_name(event: Event) -> str:
    """A client id with the group.instance.id in the line: static members of one client id are apart by it (KIP-345)."""
    return f"{event.speaker.client_id} {event.speaker.instance_id}"


def placeholder_id(participant: Participant, client_id: str | None) -> str:
    """A stand-in for a member id that no line prints: `?` and the participant's name, or a thread's client id."""
    return f"?{client_id}" if participant.kind == "instance" and client_id else f"?{participant.name}"


def is_placeholder(member_id: str) -> bool:
    """True if a member id is a `placeholder_id`."""
    return member_id.startswith("?")


def own_member_id(event: Event) -> str | None:
    """The member id of the client that wrote the line, if the line shows it; else None."""
    if isinstance(event, _WITH_ITS_OWN_ID):
        return event.member
    return event.member if isinstance(event, ev.JoinRequested) and event.why == "member-id-required" else None


def place_name(event: Event) -> str:
    """The place of a line: the process if its host runs several, else the host, else the file."""
    speaker = event.speaker
    return speaker.place or speaker.host or speaker.file


def home_of(event: Event) -> str:
    """The host on which a line was written, else the directory of its file: several logs of one process lie there."""
    return event.speaker.host or event.speaker.file.rpartition("/")[0]
