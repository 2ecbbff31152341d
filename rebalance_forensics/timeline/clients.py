"""What each client does and logs: the one place that knows how clients differ.

`CLIENTS` holds what each client library does, from its own source; what it logs stands in events/dialects.yaml. The
questions below ("would it have logged that?", "does a slow record silence it?") are answered from both and from the
release that the client prints. A rule that needs to know more of a client adds a field here, or a fact there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from heapq import merge
from operator import attrgetter
from typing import Literal

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.dialects import events_at_debug, logged_since, never_happens, unlogged_levels, words_of
from rebalance_forensics.timeline.coverage import DETAILED, covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline, answered_once
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.membership.lost_membership import NOT_KNOWN
from rebalance_forensics.timeline.releases import latest_releases, release_range
from rebalance_forensics.timeline.time_index import TimeIndex, grouped, lists_by_key
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS

SINK_CLIENTS = "connector-consumer-"
"""Prefix of a Connect sink task's client id, unless `consumer.override.client.id` is set (Worker)."""
SINK_GROUPS = "connect-"
"""Prefix of a Connect sink connector's group, unless `consumer.override.group.id` is set (SinkUtils)."""

Heartbeats = Literal["own thread", "event loop", "between records"]
"""The sender of heartbeats: a thread or goroutine of its own; the loop that the application shares, so that a blocking
handler stops them; the loop that hands out records, so that none is sent before a handler returns."""


class Client(Struct, frozen=True, kw_only=True, eq=False):
    """How one client library differs from the others, as far as a diagnosis depends on it."""

    name: str
    wording: str
    """The folder of patterns/ with its messages."""
    component: str | None = None
    """The module that logs, where two clients share a folder."""
    heartbeats: Heartbeats = "own thread"
    leaves_to_reset: bool = False
    """Logs a LeaveGroup when it drops its member id after an error. The consumer was not closed, and the request may
    not reach the coordinator, which then expires the session."""


CLIENTS = (
    Client(name="Java", wording="consumer"),
    Client(name="librdkafka", wording="librdkafka"),
    # consumer_group_session.go, consumer_group.go and consumergroup.go: a goroutine, however long a record takes.
    Client(name="Sarama", wording="sarama"),
    Client(name="franz-go", wording="franz-go"),
    Client(name="kafka-go", wording="kafka-go", leaves_to_reset=True),  # consumergroup.go, run
    Client(name="KafkaJS", wording="node", heartbeats="between records"),  # runner.js
    # group_coordinator.py: a coroutine of the application's own event loop.
    Client(name="aiokafka", wording="python", component="group_coordinator", heartbeats="event loop"),
    Client(name="kafka-python", wording="python"),
    Client(name="ruby-kafka", wording="ruby", heartbeats="event loop"),  # consumer.rb
    Client(name="brod", wording="erlang"),
)

STATIC_POLL_TIMEOUT_LOGGED_SINCE = (3, 0)
"""Java: a static member sends no LeaveGroup on a poll timeout, and logged nothing of it before."""
CONNECT_LOG4J2_SINCE = (4, 0)
"""Connect ships with Log4j 2 (KIP-653), whose shutdown hook may end the log before the worker has closed."""
_JOINS_AT_DEBUG = "consumer/heartbeat-failed-in-0-9"
ANSWERS_TO_NOTICE = (
    ev.JoinStarted, ev.JoinSucceeded, ev.JoinReported, ev.JoinFailed, ev.SyncSucceeded, ev.PartitionsAssigned,
    ev.LeaveSent, ev.PollTimeoutExpired, ev.ConsumerClosed,
)  # fmt: skip
"""What a member logs once it acts on the notice of a rebalance."""


def client_of(event: Event) -> Client | None:
    """The client library that wrote a line; None for a broker, a framework and a process."""
    folder, words = event.pattern.partition("/")[0], words_of(event)
    # Streams and Connect are no client of their own. The modules of kafka-python and aiokafka that log Java's newer
    # words do not tell the two apart.
    if folder not in (words, "python"):
        return None
    clients = _BY_WORDING.get(words or "", ())
    return next((client for client in clients if client.component in (None, event.speaker.component)), None)


def is_java(event: Event) -> bool:
    """A line of Kafka's own consumer."""
    return client_of(event) is _JAVA


def is_not_kafkas(event: Event) -> bool:
    """A line of a client library other than Kafka's own, of which Connect and Streams make part."""
    return event.speaker.role == "other"


_BY_WORDING = grouped(CLIENTS, attrgetter("wording"))
_JAVA = CLIENTS[0]


# What Kafka's own client logs of its process under its own name (timeline/process_logs.py).
_BY_JAVA = (ev.NodeDisconnected, ev.ClusterReported)


def is_error_before_reset(event: Event) -> bool:
    """An error in the group loop of a client that drops its member id for it; a LeaveGroup after it is no departure."""
    if not isinstance(event, ev.CoordinatorLost | ev.JoinFailed | ev.SyncFailed):
        return False
    client = client_of(event)
    return client is not None and client.leaves_to_reset


def library_of(timeline: Timeline, participant: Participant) -> Client | None:
    """The client library whose lines a participant's log holds; None without such a log."""
    # Only aiokafka has a module `group_coordinator`; the names of its others are kafka-python's, too.
    known = _first_lines(timeline).get(participant, ())
    return max(known, key=lambda client: client.component is not None, default=None)


@answered_once
def _first_lines(timeline: Timeline) -> Mapping[Participant | None, Mapping[Client, Event]]:
    """The first line of each client library in each participant's log."""
    lines: dict[Participant | None, dict[Client, Event]] = defaultdict(dict)
    parts = (part for parts in timeline.nearby.spoken(timeline.participants).values() for part in parts)
    firsts = TimeIndex((event for part in parts for event in part.of_type(*_BY_JAVA)[:1]), time_of)
    for event in merge(timeline.own.by_clients, firsts, key=time_of):
        if (client := client_of(event)) is not None:
            lines[timeline.participants.of_speaker(event)].setdefault(client, event)
    return lines


def is_java_member(timeline: Timeline, participant: Participant) -> bool:
    """Kafka's own consumer, as far as its log shows; a member without a log is taken for one."""
    return library_of(timeline, participant) in (None, _JAVA)


@answered_once
def every_client_is_java(timeline: Timeline) -> bool:
    """No line of another client library is known; a member that logs nothing is taken for what the others are."""
    return all(who is None or lines.keys() <= {_JAVA} for who, lines in _first_lines(timeline).items())


def shared_loop_line(timeline: Timeline, participant: Participant) -> Event | None:
    """A line that shows a client whose handlers hold up its heartbeats; None for a thread of their own."""
    return _shared_loops(timeline).get(participant)


def shared_loop_lines(timeline: Timeline, participants: Iterable[Participant]) -> tuple[Event, ...]:
    """Such a line of each of these participants; none if one of them has another client, or no log."""
    if not _shared_loops(timeline):
        return ()
    lines = [shared_loop_line(timeline, participant) for participant in dict.fromkeys(participants)]
    return tuple(line for line in lines if line is not None) if all(lines) else ()


def between_records_lines(timeline: Timeline, participants: Iterable[Participant]) -> tuple[Event, ...]:
    """`shared_loop_lines` for clients that send no heartbeat before a handler has returned; none for other clients."""
    lines = shared_loop_lines(timeline, participants)
    profiles = [client_of(line) for line in lines]
    return lines if all(p is not None and p.heartbeats == "between records" for p in profiles) else ()


def heartbeats_from_poll(timeline: Timeline, participant: Participant) -> bool:
    """A Java consumer before KIP-62: poll() sends its heartbeats, and it has no poll timer."""
    return participant in _before_kip_62(timeline)


def lacks_poll_timer(timeline: Timeline, participant: Participant) -> bool:
    """A client with a heartbeat thread and no poll timer: a slow record never ends its membership by itself."""
    known = _first_lines(timeline).get(participant, ())
    return any(c.heartbeats == "own thread" and never_happens(c.name, "poll timeout") for c in known)


def logs_leave_group(timeline: Timeline, participant: Participant) -> bool:
    """The log at hand would show a LeaveGroup of this member."""
    # The release that it prints decides; where it prints none, other lines of that age do.
    if not participant.has_log or not timeline.coverage.detailed(participant):
        return False
    if not _writes(timeline, participant, ev.LeaveSent):
        return False
    releases = latest_releases(timeline).get(participant)
    if releases is not None:
        return releases.oldest >= logged_since("Java 1.0 to 2.6", "leaves the group")
    if timeline.of(ev.LeaveSent, ev.AssignmentComputed, ev.SyncSucceeded):
        return True
    return not any(e.after_sync for e in timeline.of(ev.JoinSucceeded))


def logs_poll_timeout(timeline: Timeline, participant: Participant) -> bool:
    """The log at hand would show that the poll timeout of this member expired."""
    if not _writes(timeline, participant, ev.PollTimeoutExpired):
        return False
    # Until 2.8 it stands in the line about its LeaveGroup.
    if participant.instance_ids:
        releases = latest_releases(timeline).get(participant)
        return releases is not None and releases.oldest >= STATIC_POLL_TIMEOUT_LOGGED_SINCE
    return logs_leave_group(timeline, participant)


def expires_unlogged(timeline: Timeline, participant: Participant, *, leave_logged: bool) -> bool:
    """The poll timeout of this member may expire without a line; `leave_logged`: its log shows the LeaveGroup."""
    library = library_of(timeline, participant)
    if library is not None and never_happens(library.name, "poll timeout"):
        return False
    # Java prints the group before each line; in lines that were filtered by group, other clients' timeouts are missing.
    return not (leave_logged and is_java_member(timeline, participant) and logs_poll_timeout(timeline, participant))


def logs_joins(timeline: Timeline, participant: Participant) -> bool:
    """The log at hand would show a JoinGroup: Java logs both at INFO, most others warn of a rebalance alone."""
    # A log of warnings repeats such a warning for each rebalance, hours apart, and never shows that the member
    # rejoined; no more does the log of a Java client 0.9, which joins at DEBUG.
    if not (_writes(timeline, participant, ev.JoinStarted) or _writes(timeline, participant, ev.JoinSucceeded)):
        return False
    notices = timeline.events_from(participant, ev.HeartbeatFailed, ev.JoinRequested)
    if any(e.pattern == _JOINS_AT_DEBUG for e in notices):
        return bool(timeline.events_from(participant, ev.JoinStarted))
    return bool(timeline.events_from(participant, *ANSWERS_TO_NOTICE)) or any(
        is_java(e) or e.level in DETAILED for e in notices
    )


def logs_leadership(joined: Event) -> bool:
    """The client that logged this join would also have logged, at the same level, that it leads."""
    library = client_of(joined)
    if library is None or library is _JAVA:
        return False
    return unlogged_levels(library.name, "AssignmentComputed") <= unlogged_levels(library.name, "JoinSucceeded")


@answered_once
def leaders_log_assignments(timeline: Timeline) -> bool:
    """Some member's client would have logged that it leads: Java does from 2.4 on, others always or never."""
    joined = filter(is_not_kafkas, timeline.of(ev.JoinSucceeded))
    return bool(timeline.of(ev.AssignmentComputed, ev.SyncSucceeded)) or any(map(logs_leadership, joined))


def logs_sync_apart(joined: ev.JoinSucceeded) -> bool:
    """The client that logged this answer to its JoinGroup logs that to its SyncGroup as well: Java from 2.6.1 on."""
    return not joined.after_sync and not is_not_kafkas(joined)


def would_log(timeline: Timeline, participant: Participant, kind: type[Event]) -> bool:
    """The log at hand would show events of this type, as far as the client, its level and its release decide it."""
    question = _LOGGED_BY_RELEASE.get(kind)
    return _writes(timeline, participant, kind) if question is None else question(timeline, participant)


def _writes(timeline: Timeline, participant: Participant, kind: type[Event]) -> bool:
    """The library of a participant logs events of this type at a level that its log shows; granted of Java."""
    library = library_of(timeline, participant)
    if library is None or library is _JAVA:
        return True
    levels = unlogged_levels(library.name, kind.__name__)
    if "INFO" in levels:
        shown = (ev.EVENT_TYPES[name] for name in events_at_debug(library.name))
        return bool(timeline.events_from(participant, *shown))
    return "any" not in levels


_LOGGED_BY_RELEASE: Mapping[type[Event], Callable[[Timeline, Participant], bool]] = {
    ev.LeaveSent: logs_leave_group, ev.PollTimeoutExpired: logs_poll_timeout, ev.JoinStarted: logs_joins,
}  # fmt: skip


def may_lose_closing_lines(timeline: Timeline, participant: Participant) -> bool:
    """Its logger may stop before the client has closed: applications choose theirs, Connect ships with one."""
    releases = latest_releases(timeline).get(participant)
    return participant.kind != "worker" or releases is None or releases.newest >= CONNECT_LOG4J2_SINCE


def closes_without_leave_group(timeline: Timeline, participant: Participant) -> bool:
    """A Streams instance whose log at INFO is not at hand: internal.leave.group.on.close is false (StreamsConfig)."""
    return participant.kind == "instance" and not timeline.coverage.detailed(participant)


def closes_unlogged(timeline: Timeline, participant: Participant) -> bool:
    """A consumer before 2.1 writes nothing at INFO when it closes (AbstractCoordinator), though it logs at INFO."""
    if participant.kind == "instance" or not timeline.coverage.detailed(participant):
        return False
    return not logs_leave_group(timeline, participant)


@answered_once
def _shared_loops(timeline: Timeline) -> dict[Participant | None, Event]:
    """The first line of each participant whose client sends heartbeats from a loop that handlers hold up."""
    lines = {
        participant: line
        for participant, firsts in _first_lines(timeline).items()
        for client, line in reversed([*firsts.items()])  # the first counts
        if client.heartbeats != "own thread"
    }
    return lines | _before_kip_62(timeline)


@answered_once
def _before_kip_62(timeline: Timeline) -> dict[Participant, Event]:
    """The release lines of Java consumers before KIP-62, without consumers that were upgraded since."""
    if timeline.kind != "consumer":
        return {}
    reported = (e for e in timeline.versions if e.speaker.role != "broker" and e.product == "kafka")
    versions = lists_by_key((who, e) for e in reported for who in timeline.participants.at_place(e))
    return {who: events[0] for who, events in versions.items() if all(map(_is_before_kip_62, events))}


def _is_before_kip_62(event: ev.VersionReported) -> bool:
    spread = release_range(event.version)
    # KIP-62 brought the poll timer and the heartbeat thread together.
    return spread is not None and spread[1] < logged_since("Java before 1.0", "poll timeout")


_ASKING = (
    ev.CoordinatorLost,
    ev.GenerationReset,
    ev.HeartbeatFailed,
    ev.JoinFailed,
    ev.SyncFailed,
    ev.PollTimeoutExpired,
)


def given_up_unasked(timeline: Timeline, participant: Participant, lost: int, until: int) -> ev.OwnershipGivenUp | None:
    """The line in which a static member, removed at `lost`, reports the reset; it had not rejoined before `until`."""
    # Until 2.8 a static member whose poll timer expires logs only later that its generation has been reset.
    # ConsumerCoordinator resets a generation after an answer of the coordinator, which is logged, or when the member
    # leaves (AbstractCoordinator.maybeLeaveGroup), which is not logged for a static member.
    if not participant.instance_ids:
        return None
    begin = lost - 2 * ROUND_TRIP_MS
    given_up = timeline.events_from(participant, ev.OwnershipGivenUp).first(begin)
    if not isinstance(given_up, ev.OwnershipGivenUp) or time_of(given_up) > until or given_up.error is not None:
        return None
    if not covering(timeline.coverage.of(participant), begin, time_of(given_up)):
        return None
    asked = timeline.events_from(participant, *_ASKING).any_between(begin, time_of(given_up))
    commits = timeline.events_from(participant, ev.OffsetCommitFailed).between(begin, time_of(given_up))
    refused = any(isinstance(e, ev.OffsetCommitFailed) and e.error in NOT_KNOWN for e in commits)
    return None if asked or refused else given_up
