"""Attribution of events that name no group, by file, host and Streams client; broker lines concern all groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import CLIENT_ROLES, Event, member_ids_in
from rebalance_forensics.events.dialects import words_of
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.identity.names import application_of, librdkafka_handle, streams_client
from rebalance_forensics.timeline.identity.participants import place_name
from rebalance_forensics.timeline.identity.printed_answers import without_answers_to_others
from rebalance_forensics.timeline.process_logs import ProcessLog
from rebalance_forensics.timeline.time_index import TimeIndex, grouped, sets_by_key
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS

OF_A_MEMBER = (
    ev.JoinStarted, ev.JoinRequested, ev.JoinSucceeded, ev.JoinReported, ev.JoinFailed, ev.SyncSucceeded,
    ev.SyncFailed, ev.HeartbeatFailed, ev.GenerationReset, ev.AssignmentComputed, ev.LeaveSent, ev.LeaveFailed,
    ev.PollTimeoutExpired, ev.Unsubscribed, ev.PartitionsAssigned, ev.PartitionsRevoked, ev.PartitionsLost,
    ev.ListenerCalled, ev.OwnershipGivenUp,
)  # fmt: skip
_STREAM_CLIENT = re.compile(r"\bstream-client \[([^\]\s]+)\]")
_CLIENT_MARK = "stream-client ["

# Place and client id.
_Client = tuple[str, str | None]


_OF_A_PROCESS = frozenset({
    ev.NodeDisconnected, ev.ClusterReported, ev.GrouplessClientReported, ev.StartTimeReported, ev.VersionReported,
})  # fmt: skip


def is_of_a_process(event: Event) -> bool:
    """True for a line of Kafka's Java client about its process and not a member: a connection, a version."""
    # A stream thread's client names its instance, and lines of other libraries may be a member's by their handle.
    speaker = event.speaker
    return (
        type(event) in _OF_A_PROCESS
        and event.group is None
        and event.at is not None
        and speaker.role in CLIENT_ROLES
        and speaker.instance_id is None
        and streams_client_of(event) is None
    )


def concerning(
    group: str, group_events: Sequence[Event], shared: Sequence[Event], logs: Sequence[ProcessLog] = ()
) -> tuple[list[Event], tuple[ProcessLog, ...]]:
    """The events of `shared` that concern this group, and the logs of its members' processes."""
    if not shared and not logs:
        return [], ()
    places, clients = places_and_clients(group_events)
    clients |= {c for e in shared if (c := streams_client_of(e)) is not None and application_of(c) == group}
    by_clients = (e for e in shared if e.speaker.role != "broker")
    places |= {place_name(e) for e in by_clients if streams_client_of(e) in clients or place_name(e) in clients}
    foreign = _of_other_groups(group, group_events, shared)
    gathered = {e.speaker.file for e in group_events if e.speaker.role in ("broker", "connect")}
    found = [
        e
        for e in without_other_clients(group_events, shared)
        if e.speaker.file not in foreign
        and (_concerns(e, group, places, clients) or (_is_banner(e, group) and e.speaker.file in gathered))
    ]
    return found, tuple([log for log in logs if log.place_name in places and log.place[0] not in foreign])


def places_and_clients(group_events: Sequence[Event]) -> tuple[set[str], set[str]]:
    """The places of a group's clients by its own lines, and the Streams clients in these lines."""
    by_clients = (e for e in group_events if e.speaker.role != "broker")
    places = {name for e in by_clients for name in (place_name(e), e.speaker.host or "")}
    return places, {c for e in group_events for name in names_in(e) if (c := streams_client(name))}


def without_other_clients(group_events: Sequence[Event], lines: Sequence[Event]) -> list[Event]:
    """The lines without those of other programs' clients, which use another library or got other responses."""
    # Another program next to a member may have a client that gets errors (an exporter), or the application may log the
    # errors of another client.
    spoken = sets_by_key((place_name(e), words) for e in group_events if (words := words_of(e)) is not None)
    alike = [e for e in lines if (known := spoken.get(place_name(e))) is None or words_of(e) in (None, *known)]
    return without_answers_to_others(group_events, alike)


def _is_banner(event: Event, group: str) -> bool:
    # True for the start of a client's process of this or an unknown group, and for starts and stops of workers. Compose
    # and similar tools combine the containers of a deployment into one stream with the container's name in each line.
    if event.speaker.role == "broker":
        return False
    if isinstance(event, ev.SettingsReported):
        return group_in(event) in (None, group)
    return isinstance(event, ev.WorkerStarted | ev.WorkerStopped)


def _of_other_groups(group: str, group_events: Sequence[Event], shared: Sequence[Event]) -> set[str]:
    """The files of processes that are configured only for other groups and have no lines of this group."""
    configured = (event for event in shared if isinstance(event, ev.SettingsReported))
    groups = sets_by_key((event.speaker.file, named) for event in configured if (named := group_in(event)))
    return {file for file, named in groups.items() if group not in named} - {e.speaker.file for e in group_events}


def adopted(group: str, group_events: Sequence[Event], shared: Sequence[Event]) -> list[Event]:
    """The shared events; lines of a client about its membership get the group that its other lines name."""
    # librdkafka logs the group with its requests, but only the client with the responses.
    of_others = [e for e in group_events if e.speaker.client_id and e.speaker.role == "other"]
    if not of_others:
        return list(shared)
    known = {(place_name(e), e.speaker.client_id) for e in of_others}
    handles = sets_by_key((place_name(e), librdkafka_handle(e.speaker.thread) and e.speaker.thread) for e in of_others)
    without_siblings = (e for e in shared if not _is_of_a_sibling(handles.get(place_name(e), set()), e))
    return [
        replace(e, group=group) if isinstance(e, OF_A_MEMBER) and (place_name(e), e.speaker.client_id) in known else e
        for e in without_answers_to_namesakes(group_events, without_siblings)
    ]


def without_answers_to_namesakes(group_events: Sequence[Event], lines: Iterable[Event]) -> Iterator[Event]:
    """The lines without error responses of KafkaJS, unless a member of the group logs the error too, or rejoins.

    Consumers of several groups may have the same client id; each logs its rejoin with its group (runner.js).
    """
    acts = (e for e in group_events if isinstance(e, ev.HeartbeatFailed | ev.JoinReported) and words_of(e) == "node")
    acted = {
        place: TimeIndex(sorted(there, key=time_of), time_of) for place, there in grouped(acts, place_name).items()
    }
    for event in lines:
        if isinstance(event, ev.HeartbeatFailed | ev.OffsetCommitFailed) and event.error in _ACTED_UPON_BY_KAFKAJS:
            at, there = event.at or 0, acted.get(place_name(event))
            if words_of(event) == "node" and (there is None or not there.any_between(at, at + ONE_REBALANCE_MS)):
                continue
        yield event


_ACTED_UPON_BY_KAFKAJS = ("REBALANCE_IN_PROGRESS", "NOT_COORDINATOR", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID")


def _is_of_a_sibling(handles: set[str | None], event: Event) -> bool:
    # True for a line of another consumer in the same process, independent of its client id: its librdkafka handle does
    # not occur in the group's lines in this place.
    thread = event.speaker.thread
    return bool(handles) and librdkafka_handle(thread) is not None and handles.isdisjoint((thread, None))


def names_in(event: Event) -> list[str]:
    """The ids in a line that may contain a Streams client: the speaker's client id and the member ids."""
    client = event.speaker.client_id
    return member_ids_in(event) if client is None else [client, *member_ids_in(event)]


def streams_client_of(event: Event) -> str | None:
    """The Streams client of a line, by its thread, its consumer's client id, or its name in the text; or None."""
    speaker = event.speaker
    thread = speaker.thread or (event.thread if isinstance(event, ev.ThreadFailed) else None)
    if (known := streams_client(thread or "") or streams_client(speaker.client_id or "")) is not None:
        return known
    return streams_client_in(event.text) if speaker.role == "streams" else None


def streams_client_in(text: str) -> str | None:
    """The Streams client that a text names, or None."""
    found = _STREAM_CLIENT.search(text) if _CLIENT_MARK in text else None
    return found[1] if found else None


def _concerns(event: Event, group: str, places: set[str], clients: set[str]) -> bool:
    if event.speaker.role == "broker":
        return True
    if place_name(event) not in places:
        return False
    if isinstance(event, ev.SettingsReported):
        return group_in(event) in (None, group)
    client = streams_client_of(event)
    return client is None or not clients or client in clients


def group_in(event: ev.SettingsReported) -> str | None:
    """The group in the configuration of a process, or None."""
    return ev.configured_group(dict(event.settings))
