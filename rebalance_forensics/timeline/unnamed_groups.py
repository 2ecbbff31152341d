"""Clients whose lines name no group: finds the group of each, or creates an unnamed group for it.

librdkafka, Sarama, franz-go, KafkaJS, Spring and the first Java clients log a poll timeout or a lost session without
the group. If a coordinator's log is available, the member ids in it start with the client id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event, member_ids_in
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.answers import denied_resource, error_of, failed_request
from rebalance_forensics.timeline.group_attribution import (
    OF_A_MEMBER,
    group_in,
    streams_client_of,
    without_answers_to_namesakes,
)
from rebalance_forensics.timeline.identity.log_writers import log_stem
from rebalance_forensics.timeline.identity.names import (
    application_of,
    is_default_client_id,
    librdkafka_handle,
    name_in_member_id,
)
from rebalance_forensics.timeline.identity.participants import place_name
from rebalance_forensics.timeline.identity.printed_answers import is_an_administrators
from rebalance_forensics.timeline.time_index import TimeIndex, grouped
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, ROUND_TRIP_MS, TICK_MS

SpeakerKey = tuple[str | None, str, str | None]
"""Host, log without rotation numbers, client id: lines with the same key belong together."""

# Lines that only a member of a group writes.
_BY_MEMBERS = (
    *OF_A_MEMBER, ev.AssignmentFailed, ev.CoordinatorFound, ev.CoordinatorLost, ev.FollowUpRequested,
    ev.FollowUpScheduled, ev.FollowUpTriggered, ev.GroupHeartbeatFailed, ev.InstanceFenced, ev.ListenerFailed,
    ev.MemberTransitioned, ev.OffsetCommitFailed, ev.RegistryLeaderElected, ev.ShutdownRequested, ev.ThreadAdded,
    ev.ThreadFailed, ev.ThreadFenced,
)  # fmt: skip
_BY_STREAMS = (
    ev.ShutdownRequested, ev.StreamsStateChanged, ev.StreamThreadStateChanged, ev.ThreadAdded, ev.ThreadFailed,
    ev.ThreadFenced,
)  # fmt: skip
# Lines that librdkafka and similar clients log only for group members; Java logs them for consumers without a group
# too.
_BY_OTHER_CLIENTS = (ev.ConsumerClosed, ev.NodeDisconnected, ev.TopicChanged)
# GroupAuthorizationException.forGroupId, the only exception that names the group.
_NOT_NAMED = "group not named, "
_NO_CLIENT = ""


class UnnamedGroup(Struct, frozen=True):
    """A group that the lines of its member do not name, and these lines with a generated name as their group.

    The name is the real one if the configuration of the process or the client id of Streams shows it, which starts with
    the application id; otherwise it is derived from the member.
    """

    name: str
    events: tuple[Event, ...]


def is_named(group: str) -> bool:
    """True for the real name of a group, False for a name derived from its member."""
    return not group.startswith(_NOT_NAMED)


def in_words(group: str) -> str:
    """A group as part of a sentence: `group payments`, `the group of client rdkafka#consumer-1`."""
    return f"group {group}" if is_named(group) else f"the group of {its_member(group)}"


def its_member(group: str) -> str:
    """The member from which the name of an unnamed group is derived: `client rdkafka#consumer-1`."""
    member = group.removeprefix(_NOT_NAMED)
    return f"the {member}" if member.startswith(("client in ", "client on ")) else member


def speaker_key(event: Event) -> SpeakerKey:
    """The writer of a line, by the line and its log."""
    speaker = event.speaker
    return speaker.host, log_stem(speaker.file), speaker.client_id


def unnamed_groups(shared: Iterable[Event]) -> list[UnnamedGroup]:
    """The groups of clients that log lines of members without a group, sorted by name."""
    by_client: dict[_Client, list[Event]] = defaultdict(list)
    configured: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for event in shared:
        host, log, _ = speaker_key(event)
        if isinstance(event, ev.SettingsReported) and (group := group_in(event)) is not None:
            configured[host, log].add(group)
        elif (client := _client_of(event)) is not None:
            by_client[client].append(event)
    by_group: dict[str, list[Event]] = defaultdict(list)
    by_client = _nameless_lines_joined(by_client)
    labels = _labels(by_client)
    for client, events in by_client.items():
        names = configured.get((client.host, client.log), set()) or _denied_groups(events)
        group = client.application or (min(names) if len(names) == 1 else labels[client])
        by_group[group] += (replace(event, group=group) for event in events)
    return [UnnamedGroup(name, tuple(events)) for name, events in sorted(by_group.items())]


def _denied_groups(events: Iterable[Event]) -> set[str]:
    return {name for resource, names in map(denied_resource, events) if resource == "group" for name in names}


def keeps_all_groups_out(event: Event) -> bool:
    """True for a broker that cannot create the offsets topic: no group finds a coordinator, so no line names one."""
    return isinstance(event, ev.ReplicasInsufficient) and event.partition == "__consumer_offsets"


def _only_of_a_java_member(event: Event) -> bool:
    """True for lines that only a consumer with a coordinator logs, and for the end of a worker, which is a member."""
    ended = isinstance(event, ev.ExceptionLogged) and event.speaker.role == "connect" and event.speaker.task is None
    return ended or isinstance(event, ev.PollTimeoutExpired | ev.LeaveSent)


def _was_thrown_at_a_member(event: Event) -> bool:
    if isinstance(event, ev.AuthorizationFailed):
        return event.resource == "group"
    if not isinstance(event, ev.ExceptionLogged):
        return False
    # KafkaJS logs the crash of a consumer like this; exceptions of producers and admin clients are thrown in the
    # program.
    by_kafkajs = (event.exception or "").startswith("KafkaJS")
    return by_kafkajs or error_of(event) is not None or failed_request(event) is not None


class _Client(Struct, frozen=True, order=True):
    """A client whose lines belong together; `application` is the application.id in the name of a Streams client."""

    host: str
    log: str
    name: str
    application: str
    noun: str = "client"


_ANY_CLIENT = _Client("", "", "", "", "any client")


def _client_of(event: Event) -> _Client | None:
    """The client that wrote a line without a group, if only members log such lines; else None."""
    speaker = event.speaker
    host, log, client_id = speaker_key(event)
    if keeps_all_groups_out(event):
        return _ANY_CLIENT
    if event.group is not None or speaker.role == "broker":
        # The classic coordinator logs the member that it fences without the group (GroupMetadata, ClassicGroup).
        fenced = event.instance_id if isinstance(event, ev.StaticMemberFenced) and event.group is None else None
        return _Client(host or "", log, fenced, "", "instance") if fenced else None
    if (streams := streams_client_of(event)) is not None:
        application = application_of(streams)
        return _Client(host or "", log, streams, application) if isinstance(event, _BY_STREAMS) else None
    handle = librdkafka_handle(speaker.thread)
    if handle is not None and handle["kind"] == "producer":
        return None
    # Consumers without a group also have a prefix with a client id, and people cut the group off the prefix of a
    # member.
    java_without_a_group = client_id is not None and speaker.role != "other" and not _only_of_a_java_member(event)
    kinds = (*_BY_MEMBERS, *_BY_OTHER_CLIENTS) if handle is not None else _BY_MEMBERS
    if java_without_a_group or is_an_administrators(event):
        return None
    if not (isinstance(event, kinds) or _was_thrown_at_a_member(event) or _only_of_a_java_member(event)):
        return None
    return _Client(host or "", log, handle[0] if handle is not None else client_id or "", "")


def _nameless_lines_joined(by_client: Mapping[_Client, list[Event]]) -> dict[_Client, list[Event]]:
    """The lines by client; lines without a client id go to the client in the same log that may have written them.

    That is the only client in the log, or the only one with the same message at that time, since a program may log the
    error that its client returned.
    """
    by_log = grouped((client for client in by_client if client.name), lambda client: (client.host, client.log))
    found: dict[_Client, list[Event]] = defaultdict(list)
    for client, events in by_client.items():
        others = by_log.get((client.host, client.log), []) if not client.name else []
        for event in events:
            fitting = others if len(others) == 1 else [each for each in others if _logs_it_too(event, by_client[each])]
            found[fitting[0] if len(fitting) == 1 else client].append(event)
    return found


def _logs_it_too(event: Event, others: Iterable[Event]) -> bool:
    at = event.at
    return at is not None and any(
        type(each) is type(event) and each.at is not None and abs(each.at - at) <= TICK_MS for each in others
    )


def _labels(clients: Iterable[_Client]) -> dict[_Client, str]:
    """The names of the groups, from the client id and, if that is not unique, the host or the log."""
    by_name = grouped(sorted(clients), attrgetter("name"))
    return {client: _label(client, same) for same in by_name.values() for client in same}


def _label(client: _Client, same: Sequence[_Client]) -> str:
    who = f"{client.noun} {client.name}" if client.name else client.noun
    if client == _ANY_CLIENT or (client.name and len(same) == 1):
        return f"{_NOT_NAMED}{who}"
    if [namesake.host for namesake in same].count(client.host) == 1 and client.host:
        return f"{_NOT_NAMED}{who} on {client.host}"
    logs = [namesake.log.rpartition("/")[2] for namesake in same]
    log = client.log.rpartition("/")[2]
    return f"{_NOT_NAMED}{who} in {log if logs.count(log) == 1 else client.log}"


_MEMBER_EVENTS = (*OF_A_MEMBER, ev.CoordinatorLost, ev.NodeDisconnected)
Lost = tuple[int, str]
"""The time when the coordinator removed a member, and its member id."""
Losses = dict[str, TimeIndex[Lost]]
"""Client id -> removed members."""


class UnnamedClients:
    """The lines of clients in a cluster about their membership that name no group."""

    def __init__(self) -> None:
        self._events: dict[str, dict[str, list[Event]]] = defaultdict(lambda: defaultdict(list))

    def add(self, event: Event) -> None:
        """Add a client's line that names no group."""
        client = event.speaker.client_id
        by_a_member = isinstance(event, ev.PollTimeoutExpired) or (
            isinstance(event, _MEMBER_EVENTS) and event.speaker.role == "other"
        )
        if client and by_a_member:
            self._events[client][place_name(event)].append(event)

    def of_group(self, group: str, group_events: Sequence[Event]) -> Iterator[Event]:
        """The lines of clients that are members of this group by the coordinator's lines."""
        if not self._events:
            return
        by_broker = [event for event in group_events if event.speaker.role == "broker"]
        known = {name for event in by_broker for member in member_ids_in(event) if (name := name_in_member_id(member))}
        losses = _losses(by_broker)
        times = [event.at for event in by_broker if event.at is not None]
        heard = (min(times), max(times)) if times else None
        left = losses.pop(_NO_CLIENT, None)
        nameless = self._members_without_a_client(left) if left is not None else {}
        tied = {client for client, _ in nameless}
        for client in sorted(self._events.keys() & (known | losses.keys() | tied)):
            for logged in self._events[client].values():
                events = [*without_answers_to_namesakes(group_events, logged)]
                lost = [
                    _member_lost_then(event, losses.get(client)) or nameless.get((client, event.at)) for event in events
                ]
                if not any(lost) and is_default_client_id(client):
                    continue
                for event, member in zip(events, lost, strict=True):
                    if not isinstance(event, ev.PollTimeoutExpired):
                        yield replace(event, group=group)
                    # A poll timeout that the coordinator's log covers but does not show belongs to another group.
                    elif member is not None or not (heard and event.at and heard[0] <= event.at <= heard[1]):
                        yield replace(event, group=group, member=member)

    def _members_without_a_client(self, left: TimeIndex[Lost]) -> dict[tuple[str | None, EpochMs | None], str]:
        """Client id and time -> the member that left when only that client's poll timeout expired.

        The member ids of KIP-848 are random, and the coordinator logs no client id with them.
        """
        found: dict[tuple[str | None, EpochMs | None], str] = {}
        timeouts = [e for logs in self._events.values() for events in logs.values() for e in events if _timed_out(e)]
        for event in timeouts:
            at = event.at or 0
            members = {member for _, member in left.between(at - ROUND_TRIP_MS, at + ROUND_TRIP_MS)}
            rivals = {e.speaker.client_id for e in timeouts if abs((e.at or 0) - at) <= 2 * ROUND_TRIP_MS}
            if len(members) == len(rivals) == 1:
                found[event.speaker.client_id, event.at] = min(members)
        return found


def _timed_out(event: Event) -> bool:
    return isinstance(event, ev.PollTimeoutExpired) and event.at is not None


def _losses(events: Iterable[Event]) -> Losses:
    found: dict[str, list[Lost]] = defaultdict(list)
    for event in events:
        lost = isinstance(event, ev.MemberLeft | ev.MemberFailed)
        lost |= isinstance(event, ev.RebalanceStarted) and event.trigger in ("member-left", "heartbeat-expired")
        if lost and event.at is not None:
            for member in member_ids_in(event):
                client = getattr(event, "client_id", None) or name_in_member_id(member)
                if client or isinstance(event, ev.MemberLeft):
                    found[client or _NO_CLIENT].append((event.at, member))
    return {client: TimeIndex(lost, itemgetter(0)) for client, lost in found.items()}


def _member_lost_then(event: Event, losses: TimeIndex[Lost] | None) -> str | None:
    """The member that the coordinator removed when the client logged that it lost its membership, or None."""
    lost = isinstance(event, ev.PollTimeoutExpired) or (
        isinstance(event, ev.CoordinatorLost) and event.for_ms is not None
    )
    if not lost or event.at is None or losses is None:
        return None
    first = losses.first(event.at - HEARTBEAT_MS)
    return first[1] if first is not None and first[0] <= event.at + HEARTBEAT_MS else None
