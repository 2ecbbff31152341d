"""The errors that a member logs shortly before it leaves."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.orders_to_stop import ordered_at
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clients import SINK_CLIENTS, SINK_GROUPS
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.names import is_counted_client_id, streams_thread
from rebalance_forensics.timeline.identity.own_process import BACKGROUND
from rebalance_forensics.timeline.identity.participants import Participant, may_have_written
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import AT_ONCE_MS, HEARTBEAT_MS, PROCESS_START_MS

# A consumer rethrows an exception of its rebalance listener from poll() (ConsumerCoordinator, since 2.4).
_EXCEPTION_EVENTS = (ev.ExceptionLogged, ev.ThreadFailed, ev.ListenerFailed)
_FAILURE_EVENTS = (*_EXCEPTION_EVENTS, ev.WorkChanged)
_Part = Literal["made it close", "may have", "nothing"]
# Exceptions by which a loop ends on request, and where they come from: not failures, however they are logged.
ENDED_AS_ASKED = {
    "WakeupException": "KafkaConsumer.poll() after wakeup(), which another thread may call",
    "InterruptException": "KafkaConsumer.poll() on a thread that was interrupted",
    "InterruptedException": "Thread.sleep(), BlockingQueue.take() and the like after Thread.interrupt()",
    "ClosedByInterruptException": "a channel of java.nio after Thread.interrupt()",
    "CancellationException": "Future.get() after Future.cancel(); coroutines of Kotlin after Job.cancel()",
    "JobCancellationException": "coroutines of Kotlin after Job.cancel()",
    "CancelledError": "asyncio after Task.cancel()",
    "ConsumerStoppedError": "getone() and getmany() of aiokafka after stop()",
    "KeyboardInterrupt": "Python at SIGINT",
    "OperationCanceledException": "Consume(CancellationToken) of Confluent.Kafka after Cancel()",
    "context canceled": "the error of a context of Go after cancel()",
}
_END_ON_REQUEST = re.compile(rf"(?<!\w)(?:{'|'.join(ENDED_AS_ASKED)})(?!\w)")
# Matches anywhere in the name, because Spring Boot's layout prints only the last 15 characters of a thread's name.
_SHUTDOWN_HOOK = re.compile(r"shutdown-?hook", re.IGNORECASE)
# The words in which an application logs an error after which it continues.
_CONTINUES = re.compile(
    r"\A(?!.*\b(?:exhausted|giving up|gave up|no more|not? retry\w*|without retry\w*|(?:no|0|zero) (?:\w+ )?"
    r"(?:retries|attempts|tries)|(?:retries|attempts|limit|tries) (?:was |were )?(?:reached|exceeded))\b)"
    r".*\b(?:(?P<retries>retrying|will (?:be )?retr(?:y|ied)|(?:will )?try(?:ing)? again)"
    r"|skipp(?:ing|ed)|ignor(?:ing|ed))\b",
    re.IGNORECASE,
)
# The last of counted attempts: "retrying (3/3)", "attempt 3 of 3, retrying"; urllib3 logs "total=0" instead.
_LAST_TRY = re.compile(
    r"\b(?:retr\w+|tr(?:y|ies)|attempts?)\b[\s(\[#:=-]{0,3}(\d+)(?:/| of | out of )\1(?![\w/.:-])"
    r"|(?<![\w/.:-])(\d+)(?:/| of | out of )\2 (?:retr\w+|tr(?:y|ies)|attempts?)\b|\btotal=0\b",
    re.IGNORECASE,
)
# A KafkaJS consumer stops after it has retried a request long enough, whatever the application does.
_OF_A_CONNECTION = re.compile(
    r"Not connected|ECONN\w+|Connection (?:error|timeout|closed)|Closed connection|Failed to connect"
    r"|not found in the cached metadata",
    re.IGNORECASE,
)


def exception_before(timeline: Timeline, absence: Absence) -> list[Event]:
    """The errors in the member's own log that made it close, nearest first."""
    return [e for e, part in _errors_before(timeline, absence) if part == "made it close"]


def inconclusive_errors(timeline: Timeline, absence: Absence) -> list[Event]:
    """The errors before its close that need not have caused it, nearest first.

    Another thread than its poll loop logged them, or the process had logged the same error before and continued.
    """
    return [e for e, part in _errors_before(timeline, absence) if part == "may have"]


def _errors_before(timeline: Timeline, absence: Absence) -> list[tuple[Event, _Part]]:
    """The errors that made it close, or may have, nearest first."""
    if not timeline.shows_any((*_FAILURE_EVENTS, ev.StreamsStateChanged)):
        return []
    begin = absence.stop.at if absence.stop is not None else absence.at
    # Errors after the process was asked to stop (SIGTERM, "Kafka Connect stopping") did not make it stop.
    stopped = absence.stop.events if absence.stop is not None else ()
    asked = [e for e in stopped if isinstance(e, ev.ProcessStopping | ev.WorkerStopped)]
    since, until = begin - PROCESS_START_MS, begin if asked else absence.at + HEARTBEAT_MS
    found = thrown_by(timeline, absence.participant, since, until) + _failures_of_its_task(
        timeline, absence, since, until
    )
    found = found or _exceptions_of_only_departure(timeline, absence.participant, begin, until)
    found = found or _exceptions_by_process_id(timeline, absence.participant, since, until)
    # A close does not end a Streams client in this state: an exception ended its threads, logged or not.
    found = found or [e for e in stopped if isinstance(e, ev.StreamsStateChanged) and e.after == "ERROR"]
    if not found:
        return []
    threads = _stream_threads(timeline, absence)
    # An exception names the stream thread that it ended, or that thread logged it.
    named = ((e, streams_thread(getattr(e, "thread", None) or e.speaker.thread or "")) for e in found)
    found = [e for e, thread in named if not threads or thread is None or thread in threads]
    # A process that was asked to stop stops for that reason, even if another error precedes the request.
    parts: tuple[_Part, ...] = ("made it close",) if asked else ("made it close", "may have")
    ordered = ordered_at(timeline, absence)
    failed = ((e, _part_of(timeline, absence, e, asked=bool(asked))) for e in found if not _is_end_on_request(e))
    judged = ((e, _after_order(ordered, e, part)) for e, part in failed)
    errors = ((e, part) for e, part in judged if part in parts)
    return sorted(errors, key=lambda error: abs(time_of(error[0]) - begin))


def _is_end_on_request(event: Event) -> bool:
    """True for exceptions by which a loop ends on request, however wrapped, and for errors of a shutdown hook."""
    if _SHUTDOWN_HOOK.search(event.speaker.thread or ""):
        return True
    exception, detail = getattr(event, "exception", None), getattr(event, "detail", None) or ""
    if exception is None:
        return _END_ON_REQUEST.search(event.text) is not None
    names = (exception, detail.partition(":")[0])
    return any(name.rpartition(".")[2] in ENDED_AS_ASKED for name in names)


def _after_order(ordered: int | None, error: Event, part: _Part) -> _Part:
    """The role of an error in a close, corrected if an orchestrator or a supervisor had ordered the stop."""
    if ordered is None:
        return part
    # Errors before the order, or while the process closes its resources, are not the reason. If the process continues
    # for longer, the order may have been for a unit with a similar name, or a preStop hook runs first.
    if time_of(error) <= ordered + AT_ONCE_MS:
        return "nothing"
    return "may have" if part == "made it close" else part


def _part_of(timeline: Timeline, absence: Absence, error: Event, *, asked: bool) -> _Part:
    """The role of an error in the member's close; `asked` is true if the process logged a request to stop."""
    who = absence.participant
    if not isinstance(error, ev.ExceptionLogged):
        return "made it close"
    if _continues_after(error.text, asked=asked) or _joined_after(timeline, who, error, absence.at):
        return "nothing"
    loop, thread = loop_threads(timeline, who) if who.kind == "client" else set(), error.speaker.thread
    if timeline.participants.at_place(error) and not authors_of(timeline, error):
        return "may have"
    if thread is not None and loop == {thread} and error.level != "WARN":
        return "made it close"
    is_anothers = thread is not None and len(loop) == 1 and thread not in loop
    if is_anothers or _was_survived_before(timeline, who, error):
        return "nothing" if error.level == "WARN" else "may have"
    return "made it close"


def _continues_after(text: str, *, asked: bool) -> bool:
    """True if the application logs that it continues after the error: it skips the record, or retries."""
    found = _CONTINUES.search(text)
    if found is None:
        return False
    is_last = found["retries"] is not None and _LAST_TRY.search(text.partition("\n")[0]) is not None
    return asked or not is_last


def _was_survived_before(timeline: Timeline, who: Participant, error: ev.ExceptionLogged) -> bool:
    """True if the process had logged the same error before and did not stop after it."""
    ends = (timeline.stops.of(who), timeline.departures.of(who))
    for same in _exceptions_by_kind(timeline)[_kind_of(error)].between(0, time_of(error) - 1):
        at = time_of(same)
        ended_at = min((end.at for each in ends if (end := each.first(at)) is not None), default=time_of(error))
        if ended_at - at > PROCESS_START_MS or _joined_after(timeline, who, same, ended_at):
            return True
    return False


def _joined_after(timeline: Timeline, who: Participant, error: Event, until: int) -> bool:
    """True if the member's loop continued after an error: it polled, because it received an assignment."""
    joined = timeline.events_from(who, ev.JoinSucceeded, ev.PartitionsAssigned)
    return who.kind == "client" and joined.any_between(time_of(error) + 1, until - 1)


def _kind_of(error: ev.ExceptionLogged) -> tuple[str, str | None, str | None, str]:
    """The key that two lines about the same failure share; numbers in their text may differ."""
    speaker = error.speaker
    return speaker.file, speaker.component, error.exception, re.sub(r"\d+", "0", error.text.partition("\n")[0])


@cached_answer
def _exceptions_by_kind(
    timeline: Timeline,
) -> dict[tuple[str, str | None, str | None, str], TimeIndex[ev.ExceptionLogged]]:
    return timeline.of(ev.ExceptionLogged).by(_kind_of)


def loop_threads(timeline: Timeline, participant: Participant) -> set[str]:
    """The threads on which partitions were assigned, which happens in poll(); empty if no line has a thread name."""
    threads = {e.speaker.thread or "" for e in timeline.events_from(participant, ev.PartitionsAssigned)}
    return {thread for thread in threads if thread and not thread.startswith(BACKGROUND)}


def thrown_by(timeline: Timeline, participant: Participant | None, begin: int, end: int) -> list[Event]:
    """The exceptions of one member, without those of other members that write to the same file; of all if None."""
    exceptions = timeline.of(*_EXCEPTION_EVENTS).between(begin, end)
    return [e for e in exceptions if participant is None or participant in _throwers_of(timeline, e)]


def exception_name(event: Event) -> str:
    """The exception that a line names, or its text."""
    if isinstance(event, ev.WorkChanged):
        return f"its task {event.what} failed"
    if isinstance(event, ev.ListenerFailed):
        return f"its rebalance listener threw an exception{f' in {event.during}' if event.during else ''}"
    return str(getattr(event, "exception", None) or getattr(event, "detail", None) or "an exception")


def is_of_a_connection(event: Event) -> bool:
    """True if the client gave up because it reached no broker; the application's code did not fail."""
    by_kafkajs = isinstance(event, ev.ExceptionLogged) and (event.exception or "").startswith("KafkaJS")
    return by_kafkajs and _OF_A_CONNECTION.search(event.text) is not None


def _failures_of_its_task(timeline: Timeline, absence: Absence, begin: int, end: int) -> list[Event]:
    # A sink task that throws closes its consumer, whose client id is named after the task (Connect's Worker).
    if absence.participant.kind != "client" or not timeline.of(ev.WorkChanged):
        return []
    failed = [e for e in timeline.of(ev.WorkChanged).between(begin, end) if e.change == "failed" and e.what]
    named = [e for e in failed if f"{SINK_CLIENTS}{e.what}" in absence.participant.client_ids]
    # Up to 2.2, such a consumer has a default client id, and its group is named after the connector.
    unnamed = all(is_counted_client_id(client, timeline.group) for client in absence.participant.client_ids)
    of_group = [e for e in failed if f"{SINK_GROUPS}{(e.what or '').rpartition('-')[0]}" == timeline.group]
    return [*(named or (of_group if unnamed and len({e.what for e in of_group}) == 1 else ()))]


def _exceptions_of_only_departure(timeline: Timeline, participant: Participant, begin: int, until: int) -> list[Event]:
    """Exceptions without a thread name in a file of several consumers, if only this consumer left at that time."""
    since = begin - HEARTBEAT_MS
    exceptions = timeline.of(ev.ExceptionLogged).between(since, until)
    exceptions = [e for e in exceptions if e.speaker.thread is None and e.speaker.client_id is None]
    return [
        e
        for e in exceptions
        if ((neighbors := authors_of(timeline, e)) or e.group is not None)
        and _is_only_departure(timeline, participant, neighbors, since, until)
    ]


def _exceptions_by_process_id(timeline: Timeline, who: Participant, since: int, until: int) -> list[Event]:
    """Exceptions in another log in the member's place, attributed by process id and thread."""
    # An application may name its log after its purpose. The thread is needed too: in containers, most processes have
    # the same low process id.
    loop = loop_threads(timeline, who) if who.kind == "client" and who.pids else set()
    return [
        e
        for e in timeline.of(ev.ExceptionLogged).between(since, until)
        if e.speaker.thread in loop and e.speaker.pid in who.pids and who in timeline.participants.at_place(e)
        if who.has_pid(e.speaker.pid) is None and not authors_of(timeline, e)
    ]


def _is_only_departure(
    timeline: Timeline, participant: Participant, neighbors: Sequence[Participant], since: int, until: int
) -> bool:
    # KafkaJS logs a crash with the group but neither the client nor the member: no participant is known there.
    if participant.kind != "client" or (neighbors and participant not in neighbors):
        return False
    departed = {d.participant for d in timeline.departures.between(since, until)}
    return departed.intersection(neighbors or departed) == {participant}


def _throwers_of(timeline: Timeline, event: Event) -> Sequence[Participant]:
    """The members that may have thrown it: by client id or thread, else the only member in that place."""
    neighbors = authors_of(timeline, event)
    if neighbors and neighbors[0].kind != "client":
        return neighbors  # every thread of a process belongs to its instance or worker
    if event.speaker.client_id is not None:
        return [a for a in neighbors if event.speaker.client_id in a.client_ids]
    owners = _owners_of_threads(timeline).get((event.speaker.file, event.speaker.thread))
    if owners is not None:
        return [a for a in neighbors if a in owners]
    return neighbors if len(neighbors) == 1 else []


def authors_of(timeline: Timeline, event: Event) -> Sequence[Participant]:
    """The members whose application may have logged the line; empty if its file is named after another program."""
    neighbors = timeline.participants.at_place(event)
    speaker = event.speaker
    in_its_log = [each for each in neighbors if speaker.file in each.files]
    return in_its_log or [each for each in neighbors if may_have_written(each, speaker.file, speaker.pid)]


@cached_answer
def _owners_of_threads(timeline: Timeline) -> dict[tuple[str, str | None], frozenset[Participant]]:
    """File and thread -> the participants that log there; an empty set if only consumers of other groups do."""
    found: dict[tuple[str, str | None], set[Participant]] = defaultdict(set)
    for event in timeline.group_events.by_clients:
        speaker = event.speaker
        if speaker.client_id is None or speaker.thread is None:
            continue
        owners = found[speaker.file, speaker.thread]
        if (participant := timeline.participants.of_speaker(event)) is not None:
            owners.add(participant)
    return {thread: frozenset(participants) for thread, participants in found.items()}


def _stream_threads(timeline: Timeline, absence: Absence) -> set[str]:
    """The stream threads that left, according to the names of their members."""
    clients = (timeline.participants.client_of(d.member) for d in absence.departures if d.member)
    return {thread for client in clients if client and (thread := streams_thread(client))}
