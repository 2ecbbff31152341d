"""What stopped a member's process, by the logs of its JVM, of the kernel and of its supervisor.

The process itself logs nothing of it: a JVM writes how long its threads stood still into a log of its own, the kernel
and systemd write whom they killed. Such a line is tied to a member by its place (host, process) and by time, never by
nearness alone: a stop has to fill the session that ran out, and after a kill the same process may log nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rebalance_forensics.diagnosis.cause import Link
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.seen import host_place, seen
from rebalance_forensics.diagnosis.sign import Answer, Present, Subject, sign
from rebalance_forensics.diagnosis.signs.heartbeats import log_continues
from rebalance_forensics.diagnosis.wording.durations import seconds
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import ProcessDied, ProcessKilled, ThreadsStopped
from rebalance_forensics.timeline.clients import is_java_member
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.log_writers import log_stem
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms, session_timeout_ms
from rebalance_forensics.timeline.windows import AT_ONCE_MS, ROUND_TRIP_MS

# After a full collection this share of the heap is still in use: the next collection follows soon.
_FULL_IN_TENTHS = 9
_KIB_A_GIB = 1 << 20
# Words in the names of logs and units that tell nothing of the application.
_OF_ANY_LOG = frozenset({"gc", "log", "current", "pid", "jvm", "safepoint", "service", "gz", "txt", "app", "old"})


@sign("its JVM logged that all its threads stood still while its session ran out")
def threads_stopped(timeline: Timeline, subject: Subject) -> Answer:
    """A stop of the JVM stops its heartbeats as well; without a GC log nobody knows of it."""
    silent = (a for a in subject.absences if is_java_member(timeline, a.participant))
    return seen(
        (e for absence in subject.absences for e in stops_of_threads(timeline, absence)),
        (host_place(timeline, a, "the GC log of {} (-Xlog:gc*,safepoint)") for a in silent),
    )


@sign("the kernel or a supervisor logged that its process was killed")
def was_killed(timeline: Timeline, subject: Subject) -> Answer:
    """Another log than its own shows the end of its process; SIGKILL leaves no time to log anything."""
    return seen(
        (e for absence in subject.absences for e in kills_of(timeline, absence)),
        (
            host_place(timeline, a, "the logs of the kernel and of the supervisor on the host of {}")
            for a in subject.absences
        ),
    )


def stops_of_threads(timeline: Timeline, absence: Absence) -> tuple[ThreadsStopped, ...]:
    """The stops of its JVM in which its session ran out, the longest first; none where they explain only part of it."""
    # The coordinator counts from the last heartbeat, which may have come up to an interval before the stop.
    session = session_timeout_ms(timeline)
    needed = session - heartbeat_interval_ms(timeline)
    stops = [
        e
        for e in timeline.of(ThreadsStopped).between(absence.at - session, absence.at + 2 * session)
        if absence.participant in timeline.participants.at_place(e) and _began(e) <= absence.at
        if _may_be_named_after(absence.participant, e.speaker.file)
    ]
    if len({log_stem(e.speaker.file) for e in stops}) > 1:
        return ()  # several JVMs run there, and nothing shows which of them is the member's
    spans = sorted((max(_began(e), absence.at - session), min(_ended(e), absence.at)) for e in stops)
    covered, until = 0, absence.at - session
    for begin, end in spans:
        covered += max(end - max(begin, until), 0)
        until = max(until, end)
    if covered < needed - ROUND_TRIP_MS:
        return ()
    # A collection stands in the GC log and, as a safepoint, beside it: the line that names the heap says more.
    return tuple(sorted(stops, key=lambda e: (-e.stopped_ms // AT_ONCE_MS, e.what != "gc-pause", -e.stopped_ms)))


def _began(event: ThreadsStopped) -> int:
    return time_of(event) - (0 if event.as_it_began else event.stopped_ms)


def _ended(event: ThreadsStopped) -> int:
    return _began(event) + event.stopped_ms


def _may_be_named_after(participant: Participant, name: str) -> bool:
    """False for a file or a unit that is named after another application: it shares no word with the member's names."""
    words = _words(name.rpartition("/")[2]) - _OF_ANY_LOG
    return not words or not words.isdisjoint(_names_of(participant))


def _names_of(participant: Participant) -> set[str]:
    names = (participant.name, *participant.client_ids, *participant.files, *participant.hosts)
    return {word for name in names for word in _words(name)}


def _words(name: str) -> set[str]:
    return {word for word in re.split(r"[^a-z]+", name.lower()) if len(word) > 1}


def kills_of(timeline: Timeline, absence: Absence) -> tuple[ProcessKilled, ...]:
    """What the kernel or a supervisor logged of the end of its process; none where it may have been another one's."""
    participant = absence.participant
    # Syslog cuts the time to whole seconds.
    begin = absence.at - session_timeout_ms(timeline) - heartbeat_interval_ms(timeline) - ROUND_TRIP_MS
    kills = [
        e
        for e in timeline.of(ProcessKilled).between(begin, absence.at + ROUND_TRIP_MS)
        if [*timeline.participants.at_place(e)] == [participant] and _may_have_killed(timeline, participant, e)
    ]
    if kills and absence.start is None and isinstance(log_continues(timeline, absence), Present):
        return ()
    own = timeline.events_from(participant, Event)
    return tuple(e for e in kills if not own.any_between(time_of(e) + ROUND_TRIP_MS, absence.at - 1))


def _may_have_killed(timeline: Timeline, participant: Participant, kill: ProcessKilled) -> bool:
    # A unit that ends by SIGTERM was stopped by somebody.
    if kill.signal is not None and kill.signal.startswith("15/"):
        return False
    if kill.command is None:
        return kill.unit is None or _may_be_named_after(participant, kill.unit)
    return (kill.command == "java") == is_java_member(timeline, participant)


def behind_pause(stops: Sequence[ThreadsStopped]) -> tuple[Link, ...]:
    """Why the process stood still: its JVM's stop, and the full heap behind that."""
    if not stops:
        return ()
    longest = stops[0]
    stood = sum(e.stopped_ms for e in stops if e.what == longest.what)
    times = f", {len(stops)} stops in a row" if stood > longest.stopped_ms else ""
    why = f"Its JVM stopped all threads for {seconds(stood)}{operation_of(longest)}{times}."
    links = [Link(longest.what, why, 0.97, stops[:4])]
    if (heap := heap_after(longest)) and is_full(longest):
        links.append(Link("heap-full", f"Its heap was full: {heap} were in use after the collection.", 0.9, (longest,)))
    return tuple(links)


def behind_end(kills: Sequence[ProcessKilled], died: ProcessDied | None) -> tuple[Link, ...]:
    """Why the process ended: who killed it, and for what, or what its JVM died of."""
    if not kills:
        if died is None or not died.reason:
            return ()
        what = "out-of-memory" if died.reason.startswith("OutOfMemoryError") else "crashed"
        return (Link(what, f"Its JVM ended with {died.reason}.", 0.97, (died,)),)
    by_memory = next((e for e in kills if e.why == "oom-kill"), None)
    first = by_memory or kills[0]
    who = f"{first.command} (pid {first.pid})" if first.pid else first.unit or "the process"
    if by_memory is not None:
        killer = "The kernel" if first.by == "kernel" else "systemd reports that the kernel"
        return (Link("oom-kill", f"{killer} killed {who}: out of memory.", 0.95, kills[:4]),)
    what = "killed" if first.why == "killed" else "crashed"
    return (Link(what, f"systemd logged that {who} was ended by signal {first.signal}.", 0.9, kills[:4]),)


def operation_of(stop: ThreadsStopped) -> str:
    """` (Full GC)`: what the threads were stopped for; empty where the line does not name it."""
    return f" ({stop.operation})" if stop.operation else ""


def is_full(stop: ThreadsStopped) -> bool:
    """True where a collection left nearly the whole heap in use."""
    return bool(stop.size_kib) and (stop.after_kib or 0) * 10 >= (stop.size_kib or 0) * _FULL_IN_TENTHS


def heap_after(stop: ThreadsStopped) -> str | None:
    """`3.8 of 4.0 GiB`, below a GiB in MiB: the heap in use after a collection."""
    if stop.after_kib is None or not stop.size_kib:
        return None
    if stop.size_kib >= _KIB_A_GIB:
        return f"{stop.after_kib / _KIB_A_GIB:.1f} of {stop.size_kib / _KIB_A_GIB:.1f} GiB"
    return f"{stop.after_kib >> 10:,} of {stop.size_kib >> 10:,} MiB"
