"""The errors that a member logs just before it leaves."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clients import SINK_CLIENTS
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.log_names import may_have_written
from rebalance_forensics.timeline.identity.names import streams_thread
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, PROCESS_START_MS

# A consumer rethrows an exception of its rebalance listener from poll() (ConsumerCoordinator, since 2.4).
_THROWN = (ev.ExceptionLogged, ev.ThreadFailed, ev.ListenerFailed)
_FAILING = (*_THROWN, ev.WorkChanged)
# KafkaJS' consumer stops when it has tried a request in vain for long enough, whatever the application does.
_OF_A_CONNECTION = re.compile(
    r"Not connected|ECONN\w+|Connection (?:error|timeout|closed)|Closed connection|Failed to connect"
    r"|not found in the cached metadata",
    re.IGNORECASE,
)


def exception_before(timeline: Timeline, absence: Absence) -> list[Event]:
    """The errors in the member's own log just before it closed, nearest first."""
    if not timeline.shows_any(_FAILING):
        return []
    begin = absence.stop.at if absence.stop is not None else absence.at
    # What fails once the process was asked to stop (SIGTERM, "Kafka Connect stopping") did not make it stop.
    asked = absence.stop is not None and any(
        isinstance(e, ev.ProcessStopping | ev.WorkerStopped) for e in absence.stop.events
    )
    since, until = begin - PROCESS_START_MS, begin if asked else absence.at + HEARTBEAT_MS
    found = thrown_by(timeline, absence.participant, since, until) + _failures_of_its_task(
        timeline, absence, since, until
    )
    found = found or _exceptions_of_only_departure(timeline, absence.participant, begin, until)
    if not found:
        return []
    threads = _stream_threads(timeline, absence)
    # An exception names the stream thread that it ended, or its thread logged it.
    named = ((e, streams_thread(getattr(e, "thread", None) or e.speaker.thread or "")) for e in found)
    found = [e for e, thread in named if not threads or thread is None or thread in threads]
    return sorted(found, key=lambda e: abs(time_of(e) - begin))


def thrown_by(timeline: Timeline, participant: Participant | None, begin: int, end: int) -> list[Event]:
    """The exceptions of one member, without those of others that write to the same file."""
    exceptions = timeline.of(*_THROWN).between(begin, end)
    return [e for e in exceptions if participant is None or participant in _throwers_of(timeline, e)]


def exception_name(event: Event) -> str:
    """The exception that a line names, or its text."""
    if isinstance(event, ev.WorkChanged):
        return f"its task {event.what} failed"
    return str(getattr(event, "exception", None) or getattr(event, "detail", None) or "an exception")


def is_of_a_connection(event: Event) -> bool:
    """True if the client gave up because it reached no broker; the application's code did not fail."""
    by_kafkajs = isinstance(event, ev.ExceptionLogged) and (event.exception or "").startswith("KafkaJS")
    return by_kafkajs and _OF_A_CONNECTION.search(event.text) is not None


def _failures_of_its_task(timeline: Timeline, absence: Absence, begin: int, end: int) -> list[Event]:
    # A sink task that throws closes its consumer, whose client id is named after the task (Connect's Worker).
    if absence.participant.kind != "client" or not timeline.of(ev.WorkChanged):
        return []
    failed = (e for e in timeline.of(ev.WorkChanged).between(begin, end) if e.change == "failed")
    return [e for e in failed if f"{SINK_CLIENTS}{e.what}" in absence.participant.client_ids]


def _exceptions_of_only_departure(timeline: Timeline, participant: Participant, begin: int, until: int) -> list[Event]:
    """Exceptions in a file of several consumers, without a thread name, as the only one of them that left closed."""
    since = begin - HEARTBEAT_MS
    exceptions = timeline.of(ev.ExceptionLogged).between(since, until)
    exceptions = [e for e in exceptions if e.speaker.thread is None and e.speaker.client_id is None]
    return [
        e
        for e in exceptions
        if ((neighbors := authors_of(timeline, e)) or e.group is not None)
        and _is_only_departure(timeline, participant, neighbors, since, until)
    ]


def _is_only_departure(
    timeline: Timeline, participant: Participant, neighbors: Sequence[Participant], since: int, until: int
) -> bool:
    # KafkaJS names its group in a crash and neither client nor member: no participant is known at that place.
    if participant.kind != "client" or (neighbors and participant not in neighbors):
        return False
    departed = {d.participant for d in timeline.departures.between(since, until)}
    return departed.intersection(neighbors or departed) == {participant}


def _throwers_of(timeline: Timeline, event: Event) -> Sequence[Participant]:
    """The members that may have thrown it: by client id or thread, else the only member at that place."""
    neighbors = authors_of(timeline, event)
    if neighbors and neighbors[0].kind != "client":
        return neighbors  # every thread of a process belongs to its instance or worker
    if event.speaker.client_id is not None:
        return [a for a in neighbors if event.speaker.client_id in a.client_ids]
    owners = timeline.cached(_owners_of_threads).get((event.speaker.file, event.speaker.thread))
    if owners is not None:
        return [a for a in neighbors if a in owners]
    return neighbors if len(neighbors) == 1 else []


def authors_of(timeline: Timeline, event: Event) -> Sequence[Participant]:
    """The members to whose log a line of an application belongs; none where its file is named after another program."""
    neighbors = timeline.participants.at_place(event)
    speaker = event.speaker
    in_its_log = [each for each in neighbors if speaker.file in each.files]
    return in_its_log or [each for each in neighbors if may_have_written(each, speaker.file, speaker.pid)]


def _owners_of_threads(timeline: Timeline) -> dict[tuple[str, str | None], frozenset[Participant]]:
    """The participants that log on each thread; none of this group on another consumer's thread."""
    found: dict[tuple[str, str | None], set[Participant]] = defaultdict(set)
    for event in timeline.own.by_clients:
        speaker = event.speaker
        if speaker.client_id is None or speaker.thread is None:
            continue
        owners = found[speaker.file, speaker.thread]
        if (participant := timeline.participants.of_speaker(event)) is not None:
            owners.add(participant)
    return {thread: frozenset(participants) for thread, participants in found.items()}


def _stream_threads(timeline: Timeline, absence: Absence) -> set[str]:
    """The stream threads that left, as far as member names show them."""
    clients = (timeline.participants.client_of(d.member) for d in absence.departures if d.member)
    return {thread for client in clients if client and (thread := streams_thread(client))}
