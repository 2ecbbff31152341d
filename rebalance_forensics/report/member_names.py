"""Short names for members: `node-2/T1` for a Streams thread, the client id for any other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.report.lanes import member_name
from rebalance_forensics.timeline.identity.names import (
    letters_of_its_own,
    process_of_streams_client,
    streams_client,
    streams_thread,
)
from rebalance_forensics.timeline.model import GroupHistory, Member

UUID_SHOWN = 8


def short_names(history: GroupHistory) -> Mapping[str, str]:
    """The short name for each client id and member id of the group's members, as generations and pauses name them."""
    members = [member for generation in history.generations for member in generation.members]
    places, shared = _places(members), _shared_client_ids(history)
    short: dict[str, str] = {}
    for member in members:
        if member.member_id and member.client_id in shared:
            letters = letters_of_its_own(member.member_id)
            short[member.member_id] = f"{member.client_id}-{letters[:UUID_SHOWN]}" if letters else member.member_id
            continue
        name = _short(member_name(member), places)
        short |= {key: name for key in (member.client_id, member.member_id) if key}
    for pause in history.pauses:
        if pause.client_id and pause.client_id not in short:
            short[pause.client_id] = _short(pause.client_id, places)
    return short


def short_name(member: Member, short: Mapping[str, str]) -> str:
    """Name a member by its short name, or as its lane is named."""
    return short.get(member.client_id or "") or short.get(member.member_id or "") or member_name(member)


def with_short_readings(history: GroupHistory) -> GroupHistory:
    """The history with short names in the sentences about rebalances: leaders, members, missing members."""
    short, reading = short_names(history), history.reading

    def named(name: str) -> str:
        return short.get(name, name)

    def all_named(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(named, names))

    participants = tuple(
        replace(
            participation,
            leader=participation.leader and named(participation.leader),
            members=None if participation.members is None else all_named(participation.members),
            missing=all_named(participation.missing),
            new=all_named(participation.new),
            renewed=all_named(participation.renewed),
        )
        for participation in reading.participants
    )
    bursts = tuple(
        replace(burst, failures=tuple(replace(each, who=each.who and named(each.who)) for each in burst.failures))
        for burst in reading.close_together
    )
    return replace(history, reading=replace(reading, participants=participants, close_together=bursts))


def with_short_names(text: str, short: Mapping[str, str], members: Sequence[str]) -> str:
    """A reason with these member ids replaced by short names."""
    for member in members:
        if member in short:
            text = text.replace(member, short[member])
    return text


def _shared_client_ids(history: GroupHistory) -> frozenset[str]:
    # Client ids that several members of a generation share: consumers of one process, or Kafka's default.
    return frozenset(
        client
        for generation in history.generations
        for client, number in Counter(member.client_id for member in generation.members).items()
        if client is not None and number > 1
    )


def _places(members: Sequence[Member]) -> dict[str, str]:
    # The client.id of each instance of Streams; where none is set, where it runs, or its process where several run
    # there or the place is unknown.
    processes: dict[str, set[str]] = defaultdict(set)
    where: dict[str, str] = {}
    for member in members:
        client = streams_client(member.client_id or "")
        if client is not None:
            where.setdefault(client, member.host or "")
            processes[member.host or ""].add(client)
    return {
        client: host if host and len(processes[host]) == 1 and process_of_streams_client(client) else _process(client)
        for client, host in where.items()
    }


def _process(client: str) -> str:
    process = process_of_streams_client(client)
    return client if process is None else process[:UUID_SHOWN]


def _short(name: str, places: Mapping[str, str]) -> str:
    client, thread = streams_client(name), streams_thread(name)
    if client is None or thread is None:
        return name
    return f"{places.get(client) or _process(client)}/T{thread.rpartition('-')[2]}"


def hosts_of(members: Sequence[Member], short: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The host of each name, if every name has a single one."""
    hosts: dict[str, set[str]] = defaultdict(set)
    for member in members:
        if member.host:
            hosts[short_name(member, short)].add(member.host)
    alone = {name: next(iter(found)) for name, found in hosts.items() if len(found) == 1}
    names = {short_name(member, short) for member in members}
    if len(set(alone.values())) == len(names) == len(alone):
        yield from alone.items()
