"""What stopped a member's process, by the logs of its JVM, of the kernel and of its supervisor.

The process itself logs nothing of it: a JVM writes how long its threads stood still into a log of its own, the kernel
and systemd write whom they killed. Such a line is tied to a member by its place (host, process) and by time, never by
nearness alone: a stop has to fill the session that ran out, and after a kill the same process may log nothing more.
"""

from __future__ import annotations

from rebalance_forensics.diagnosis import behind
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.seen import host_place, seen
from rebalance_forensics.diagnosis.sign import Answer, Present, Subject, sign
from rebalance_forensics.diagnosis.signs.heartbeats import log_continues
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import ProcessKilled, ThreadsStopped
from rebalance_forensics.timeline.clients import is_java_member
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.log_writers import log_stem
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms, session_timeout_ms
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS


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
        if absence.participant in timeline.participants.at_place(e) and behind.began(e) <= absence.at
        if _may_be_named_after(absence.participant, e.speaker.file)
    ]
    if len({log_stem(e.speaker.file) for e in stops}) > 1:
        return ()  # several JVMs run there, and nothing shows which of them is the member's
    spans = sorted((max(behind.began(e), absence.at - session), min(behind.ended(e), absence.at)) for e in stops)
    covered, until = 0, absence.at - session
    for begin, end in spans:
        covered += max(end - max(begin, until), 0)
        until = max(until, end)
    if covered < needed - ROUND_TRIP_MS:
        return ()
    return behind.longest_first(stops)


def _may_be_named_after(participant: Participant, name: str) -> bool:
    """False for a file or a unit that is named after another application: it shares no word with the member's names."""
    words = behind.application_words(name)
    return not words or not words.isdisjoint(_names_of(participant))


def _names_of(participant: Participant) -> set[str]:
    names = (participant.name, *participant.client_ids, *participant.files, *participant.hosts)
    return {word for name in names for word in behind.words_of(name)}


def kills_of(timeline: Timeline, absence: Absence) -> tuple[ProcessKilled, ...]:
    """What the kernel or a supervisor logged of the end of its process; none where it may have been another one's."""
    if not timeline.shows_any((ProcessKilled,)):
        return ()
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
    if behind.ended_by_sigterm(kill):
        return False
    if kill.command is None:
        return kill.unit is None or _may_be_named_after(participant, kill.unit)
    return (kill.command == "java") == is_java_member(timeline, participant)
