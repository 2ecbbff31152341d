"""The behavior of the client libraries: the only module that knows how they differ.

`CLIENTS` describes what each client library does, based on its source code; events/dialects.yaml describes what it
logs. The functions below ("would it have logged that?", "does a slow record stop its heartbeats?") combine both with
the release that the client logs. A rule that depends on another difference adds a field here, or a fact there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from heapq import merge
from operator import attrgetter
from typing import Literal

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.dialects import events_at_debug, logged_since, never_happens, unlogged_levels, words_of
from rebalance_forensics.timeline.coverage import DETAILED, covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
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
"""What sends heartbeats: a separate thread or goroutine; the event loop of the application, which a blocking handler
stops; or the loop that passes records to the handler, which sends none until the handler returns."""


class Client(Struct, frozen=True, kw_only=True, eq=False):
    """The properties of a client library that a diagnosis depends on."""

    name: str
    wording: str
    """The folder in patterns/ with its log messages."""
    component: str | None = None
    """The module that logs, if two clients share a folder."""
    patterns: tuple[str, ...] = ()
    """The patterns of such a folder that only this client logs, which lines without a module show as well."""
    heartbeats: Heartbeats = "own thread"
    default_session: str = ""
    """The default of its session timeout, in words; Java's is in timeouts.py."""
    default_id: str | None = None
    """Its default client id, or the name that it begins with."""
    leaves_to_reset: bool = False
    """Logs a LeaveGroup when it drops its member id after an error. The consumer was not closed, and if the request
    does not reach the coordinator, its session expires."""


CLIENTS = (
    Client(name="Java", wording="consumer"),
    # rdkafka_conf.c
    Client(name="librdkafka", wording="librdkafka", default_id="rdkafka", default_session="10 or 45 s, by release"),
    # consumer_group_session.go, consumer_group.go and consumergroup.go: a goroutine, independent of record processing.
    Client(name="Sarama", wording="sarama", default_id="sarama", default_session="10 s"),
    Client(name="franz-go", wording="franz-go", default_id="kgo", default_session="10 or 45 s, by release"),
    Client(name="kafka-go", wording="kafka-go", default_session="30 s", leaves_to_reset=True),  # consumergroup.go, run
    # runner.js
    Client(name="KafkaJS", wording="node", default_id="kafkajs", default_session="30 s", heartbeats="between records"),
    # group_coordinator.py: a coroutine in the application's event loop.
    Client(
        name="aiokafka",
        wording="python",
        component="group_coordinator",
        patterns=("python/aiokafka-coordinator-lost",),
        heartbeats="event loop",
        default_session="10 or 30 s, by release",
        default_id="aiokafka",
    ),
    Client(name="kafka-python", wording="python", default_id="kafka-python", default_session="10 to 45 s, by release"),
    # consumer.rb
    Client(
        name="ruby-kafka", wording="ruby", default_id="ruby-kafka", default_session="30 s", heartbeats="between records"
    ),
    Client(name="brod", wording="erlang", default_session="30 s in current releases"),
)

STATIC_POLL_TIMEOUT_LOGGED_SINCE = (3, 0)
"""Java: a static member sends no LeaveGroup on a poll timeout, and did not log the poll timeout before this release."""
CONNECT_LOG4J2_SINCE = (4, 0)
"""Connect ships with Log4j 2 (KIP-653), whose shutdown hook may end the log before the worker closes."""
_JOINS_AT_DEBUG = "consumer/heartbeat-failed-in-0-9"
ANSWERS_TO_NOTICE = (
    ev.JoinStarted, ev.JoinSucceeded, ev.JoinReported, ev.JoinFailed, ev.SyncSucceeded, ev.PartitionsAssigned,
    ev.LeaveSent, ev.PollTimeoutExpired, ev.ConsumerClosed,
)  # fmt: skip
"""The lines of a member that reacts to the notice of a rebalance."""


def client_of(event: Event) -> Client | None:
    """The client library that wrote a line; None for brokers, frameworks and processes."""
    folder, words = event.pattern.partition("/")[0], words_of(event)
    # Streams and Connect use the Java client. Lines from the modules of kafka-python and aiokafka that log Java's newer
    # wording do not distinguish the two.
    if folder not in (words, "python"):
        return None
    clients = _BY_WORDING.get(words or "", ())
    named = (c for c in clients if event.pattern in c.patterns or c.component in (None, event.speaker.component))
    return next(named, None)


def is_java(event: Event) -> bool:
    """True for a line of Kafka's Java consumer."""
    return client_of(event) is _JAVA


def is_not_kafkas(event: Event) -> bool:
    """True for a line of a client library other than Kafka's, which includes Connect and Streams."""
    return event.speaker.role == "other"


_BY_WORDING = grouped(CLIENTS, attrgetter("wording"))
_JAVA = CLIENTS[0]


# Lines of Kafka's Java client about its process, with its client id (timeline/process_logs.py).
_BY_JAVA = (ev.NodeDisconnected, ev.ClusterReported)


def is_error_before_reset(event: Event) -> bool:
    """True for an error after which the client drops its member id; a LeaveGroup that follows is not a departure."""
    if not isinstance(event, ev.CoordinatorLost | ev.JoinFailed | ev.SyncFailed):
        return False
    client = client_of(event)
    return client is not None and client.leaves_to_reset


def library_of(timeline: Timeline, participant: Participant) -> Client | None:
    """The client library in a participant's log; None if it has no log."""
    return _libraries(timeline).get(participant)


@cached_answer
def _libraries(timeline: Timeline) -> Mapping[Participant | None, Client]:
    # Only aiokafka has a module `group_coordinator`; kafka-python has modules with the same names as its others.
    known = _first_lines(timeline).items()
    return {who: max(lines, key=lambda client: client.component is not None) for who, lines in known}


def probable_library(timeline: Timeline, participant: Participant) -> Client:
    """The client library in a participant's log, else the one with its client id for a default, else Java's."""
    return library_of(timeline, participant) or _library_with_default_id(participant.name)


@lru_cache(maxsize=1 << 12)
def _library_with_default_id(name: str) -> Client:
    by_id = (c for c in CLIENTS if c.default_id and f"{name}-".startswith(f"{c.default_id}-"))
    return next(by_id, _JAVA)


@cached_answer
def _first_lines(timeline: Timeline) -> Mapping[Participant | None, Mapping[Client, Event]]:
    """The first line of each client library in each participant's log."""
    lines: dict[Participant | None, dict[Client, Event]] = defaultdict(dict)
    parts = (part for parts in timeline.process_events.spoken(timeline.participants).values() for part in parts)
    firsts = TimeIndex((event for part in parts for event in part.of_type(*_BY_JAVA)[:1]), time_of)
    for event in merge(timeline.group_events.by_clients, firsts, key=time_of):
        if (client := client_of(event)) is not None:
            lines[timeline.participants.of_speaker(event)].setdefault(client, event)
    return lines


def is_java_member(timeline: Timeline, participant: Participant) -> bool:
    """True if a member uses Kafka's Java consumer by its log; assumed for a member without a log or a telling id."""
    return probable_library(timeline, participant) is _JAVA


@cached_answer
def every_client_is_java(timeline: Timeline) -> bool:
    """True if no line of another client library is known; members without a log are assumed to be like the others."""
    return all(who is None or lines.keys() <= {_JAVA} for who, lines in _first_lines(timeline).items())


def shared_loop_line(timeline: Timeline, participant: Participant) -> Event | None:
    """A line that shows a client whose handlers block its heartbeats; None if a separate thread sends heartbeats."""
    return _shared_loops(timeline).get(participant)


def shared_loop_lines(timeline: Timeline, participants: Iterable[Participant]) -> tuple[Event, ...]:
    """A `shared_loop_line` for each of these participants; empty if one of them has another client, or no log."""
    if not _shared_loops(timeline):
        return ()
    lines = [shared_loop_line(timeline, participant) for participant in dict.fromkeys(participants)]
    return tuple(line for line in lines if line is not None) if all(lines) else ()


def between_records_lines(timeline: Timeline, participants: Iterable[Participant]) -> tuple[Event, ...]:
    """`shared_loop_lines` for clients that send no heartbeat until a handler returns; empty for other clients."""
    lines = shared_loop_lines(timeline, participants)
    profiles = [client_of(line) for line in lines]
    return lines if all(p is not None and p.heartbeats == "between records" for p in profiles) else ()


def heartbeats_from_poll(timeline: Timeline, participant: Participant) -> bool:
    """True for a Java consumer before KIP-62, which sends heartbeats in poll() and has no poll timer."""
    return participant in _before_kip_62(timeline)


def lacks_poll_timer(timeline: Timeline, participant: Participant) -> bool:
    """True for a client without a poll timer: a slow record alone ends no membership if a thread sends heartbeats."""
    known = _first_lines(timeline).get(participant, ())
    return any(never_happens(c.name, "poll timeout") for c in known)


def logs_leave_group(timeline: Timeline, participant: Participant) -> bool:
    """True if the logs would show a LeaveGroup of this member."""
    # Depends on the release that it logs, or else on lines that appear only since or until some release.
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
    """True if the logs would show that the poll timeout of this member expired."""
    if not _writes(timeline, participant, ev.PollTimeoutExpired):
        return False
    # Until 2.8 the poll timeout is logged in the line about the LeaveGroup.
    if participant.instance_ids:
        releases = latest_releases(timeline).get(participant)
        return releases is not None and releases.oldest >= STATIC_POLL_TIMEOUT_LOGGED_SINCE
    return logs_leave_group(timeline, participant)


def expires_unlogged(timeline: Timeline, participant: Participant, *, leave_logged: bool) -> bool:
    """True if the poll timeout of this member may expire unlogged; `leave_logged`: its log shows the LeaveGroup."""
    library = library_of(timeline, participant)
    if library is not None and never_happens(library.name, "poll timeout"):
        return False
    # Java prints the group in each line. Lines of other clients are missing from logs that were filtered by group.
    return not (leave_logged and is_java_member(timeline, participant) and logs_poll_timeout(timeline, participant))


def logs_joins(timeline: Timeline, participant: Participant) -> bool:
    """True if the logs would show a JoinGroup: Java logs it at INFO; most others only log a rebalance at WARN."""
    # A log at WARN shows a warning for each rebalance, hours apart, but not that the member rejoined. Neither does the
    # log of a Java client of 0.9, which logs joins at DEBUG.
    if not (_writes(timeline, participant, ev.JoinStarted) or _writes(timeline, participant, ev.JoinSucceeded)):
        return False
    notices = timeline.events_from(participant, ev.HeartbeatFailed, ev.JoinRequested)
    if any(e.pattern == _JOINS_AT_DEBUG for e in notices):
        return bool(timeline.events_from(participant, ev.JoinStarted))
    return bool(timeline.events_from(participant, *ANSWERS_TO_NOTICE)) or any(
        is_java(e) or e.level in DETAILED for e in notices
    )


def logs_leadership(joined: Event) -> bool:
    """True if the client that logged this join would log at the same level that it is the leader."""
    library = client_of(joined)
    if library is None or library is _JAVA:
        return False
    return unlogged_levels(library.name, "AssignmentComputed") <= unlogged_levels(library.name, "JoinSucceeded")


@cached_answer
def leaders_log_assignments(timeline: Timeline) -> bool:
    """True if some member would log that it is the leader: Java does since 2.4, other clients always or never."""
    joined = filter(is_not_kafkas, timeline.of(ev.JoinSucceeded))
    return bool(timeline.of(ev.AssignmentComputed, ev.SyncSucceeded)) or any(map(logs_leadership, joined))


def logs_sync_apart(joined: ev.JoinSucceeded) -> bool:
    """True if the client logs the responses to JoinGroup and SyncGroup separately: Java does since 2.6.1."""
    return not joined.after_sync and not is_not_kafkas(joined)


def would_log(timeline: Timeline, participant: Participant, kind: type[Event]) -> bool:
    """True if the logs would show events of this type, by the client library, its log level and its release."""
    question = _LOGGED_BY_RELEASE.get(kind)
    return _writes(timeline, participant, kind) if question is None else question(timeline, participant)


def _writes(timeline: Timeline, participant: Participant, kind: type[Event]) -> bool:
    """True if a participant's library logs events of this type at a level that its log has; assumed for Java."""
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
    """True if the logger may stop before the client closes, as the loggers of applications and Connect may."""
    releases = latest_releases(timeline).get(participant)
    return participant.kind != "worker" or releases is None or releases.newest >= CONNECT_LOG4J2_SINCE


def closes_without_leave_group(timeline: Timeline, participant: Participant) -> bool:
    """True for a Streams instance without a log at INFO: internal.leave.group.on.close is false (StreamsConfig)."""
    return participant.kind == "instance" and not timeline.coverage.detailed(participant)


def closes_unlogged(timeline: Timeline, participant: Participant) -> bool:
    """True for a consumer before 2.1 with a log at INFO: it does not log its close at INFO (AbstractCoordinator)."""
    if participant.kind == "instance" or not timeline.coverage.detailed(participant):
        return False
    return not logs_leave_group(timeline, participant)


@cached_answer
def _shared_loops(timeline: Timeline) -> dict[Participant | None, Event]:
    """The first line of each participant whose client sends heartbeats from a loop that handlers block."""
    lines = {
        participant: line
        for participant, firsts in _first_lines(timeline).items()
        for client, line in reversed([*firsts.items()])  # the first counts
        if client.heartbeats != "own thread"
    }
    return lines | _before_kip_62(timeline)


@cached_answer
def _before_kip_62(timeline: Timeline) -> dict[Participant, Event]:
    """The release lines of Java consumers before KIP-62, without consumers that were upgraded later."""
    if timeline.kind != "consumer":
        return {}
    reported = (e for e in timeline.versions if e.speaker.role != "broker" and e.product == "kafka")
    versions = lists_by_key((who, e) for e in reported for who in timeline.participants.at_place(e))
    return {who: events[0] for who, events in versions.items() if all(map(_is_before_kip_62, events))}


def _is_before_kip_62(event: ev.VersionReported) -> bool:
    spread = release_range(event.version)
    # KIP-62 introduced both the poll timer and the heartbeat thread.
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
