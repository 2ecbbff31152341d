"""What stopped a member's process, by its own log or by those of its JVM, of the kernel and of its supervisor.

Most processes log nothing of it: a JVM writes how long its threads stood still into a log of its own, the kernel and
systemd which process they killed. Such a line is tied to a member by its place (host, process) and by time, never by
nearness alone: a stop has to fill the session that ran out, and after a kill the same process may log nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis import behind
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import authors_of, loop_threads
from rebalance_forensics.diagnosis.episodes.members.pods import is_kill, reports_of
from rebalance_forensics.diagnosis.seen import host_place, seen
from rebalance_forensics.diagnosis.sign import Answer, Need, Present, Subject, shown, sign
from rebalance_forensics.diagnosis.signs.heartbeats import log_continues
from rebalance_forensics.diagnosis.wording.durations import seconds, some
from rebalance_forensics.events.base import Event, own_fields
from rebalance_forensics.records import SECOND_MS
from rebalance_forensics.timeline.clients import is_java_member
from rebalance_forensics.timeline.coverage import CoveredLog, covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline, answered_once
from rebalance_forensics.timeline.identity.log_names import THREADS_OF_A_START, process_id_in, words_of
from rebalance_forensics.timeline.identity.log_writers import log_stem
from rebalance_forensics.timeline.identity.own_process import (
    BACKGROUND,
    HEARTBEATS,
    ended_with,
    is_named_after,
    may_run_in,
)
from rebalance_forensics.timeline.identity.participants import Participant, home_of, may_be_its_log
from rebalance_forensics.timeline.orchestration import is_unique
from rebalance_forensics.timeline.timeouts import (
    POLL,
    heartbeat_interval_ms,
    known_session_ms,
    session_timeout_ms,
    setting_ms,
    shown_poll_ms,
)
from rebalance_forensics.timeline.windows import AT_ONCE_MS, ONE_STEP_MS, REQUEST_TIMEOUT_MS, ROUND_TRIP_MS

_SPRING_PRINTS = 15
_GC_LOG = "the GC log{s} of {who} (-Xlog:gc*,safepoint)"
_DUMPS = "any thread dumps taken of {who} (jcmd PID Thread.print)"
_OF_ITS_KERNEL = "the kernel log{s} from the host{s} of {who} (journalctl -o short-iso, dmesg -T)"
_UNTIMED = "has no time of day"
# Threads of a consumer that run whether or not the application polls.
_BESIDE_THE_LOOP = (HEARTBEATS, BACKGROUND, "kafka-producer-network-thread")


@sign(
    "its JVM logged that all its threads stood still while its session ran out",
    "its GC log continues and shows no pause as long as its session",
)
def threads_stopped(timeline: Timeline, subject: Subject) -> Answer:
    """A stop of the JVM stops its heartbeats as well; without a GC log nobody knows of it."""
    silent = (a for a in subject.absences if is_java_member(timeline, a.participant))
    return seen(
        (e for absence in subject.absences for e in stops_of_threads(timeline, absence)),
        (host_place(timeline, a, _gc_log_that_decides(timeline, a), gc_logs(timeline, a)) for a in silent),
    )


@shown("its GC log ends in a full collection")
def ends_in_a_collection(timeline: Timeline, subject: Subject) -> Iterator[Event]:
    """Whether its process was killed in that collection, or is still in it, no log of its own can show."""
    return (e for a in subject.absences for e in stops_of_threads(timeline, a) if e.stopped_ms == 0)


def gc_logs(timeline: Timeline, absence: Absence) -> tuple[CoveredLog, ...]:
    """The GC log of its JVM, where it covers the time in which its session ran out; empty where several JVMs run."""
    near = _gc_logs_near(timeline, absence)
    if not near or gc_logs_of_several(timeline, absence):
        return ()
    return covering(near, absence.at - session_timeout_ms(timeline), absence.at)


def _gc_log_that_decides(timeline: Timeline, absence: Absence) -> str:
    """The GC log of its JVM in words, and what those that lie beside it lack."""
    if several := gc_logs_of_several(timeline, absence):
        which = f"of {some(several)} is the GC log" if len(several) > 1 else f"JVM in {several[0]} is that"
        return f"which {which} of {{who}} (its process id: file=gc-%p.log)"
    own = [log.path for log in _gc_logs_near(timeline, absence)]
    others = [log.path for log in timeline.coverage.of_its_jvm(absence.participant) if log.path not in own]
    for logs, lack in (
        (own, "does not reach that far"),
        (_untimed(timeline, absence, ev.ThreadsStopped), _UNTIMED),
        (others, "is named as if it were another application's"),
    ):
        if logs:
            return f"{_GC_LOG}; {some(sorted(logs))} {lack}"
    return _GC_LOG


def _untimed(timeline: Timeline, absence: Absence, kind: type[Event]) -> set[str]:
    """The files beside a member with such lines of a JVM that have no time."""
    found = (e for e in timeline.untimed_of_hosts if isinstance(e, kind))
    return {e.speaker.file for e in found if absence.participant in timeline.participants.at_place(e)}


def _gc_logs_near(timeline: Timeline, absence: Absence) -> list[CoveredLog]:
    logs = timeline.coverage.of_its_jvm(absence.participant)
    return [log for log in logs if may_be_its_log(absence.participant, log.path)]


def gc_logs_of_several(timeline: Timeline, absence: Absence) -> tuple[str, ...]:
    """The GC logs that reach into its session, where they are of several JVMs and nothing shows which is its own.

    One alone is a log to which several JVMs wrote at the same time.
    """
    # A restarted JVM gets another process id, and its log begins after that of the one before.
    begin = absence.at - session_timeout_ms(timeline)
    ran = [log for log in _gc_logs_near(timeline, absence) if log.begin <= absence.at and log.end >= begin]
    jvms: list[CoveredLog] = []
    for log in sorted(ran, key=lambda log: log.path):
        if not any(_are_copies(timeline, log, other) for other in jvms):
            jvms.append(log)
    logs = {process_id_in(log.path) or log_stem(log.path) for log in jvms}
    if len(logs) > 1:
        return tuple(log.path for log in jvms)
    return tuple(log.path for log in jvms if _has_lines_of_several(timeline, absence.participant, log.path))


def _has_lines_of_several(timeline: Timeline, participant: Participant, path: str) -> bool:
    """True where JVMs that may be the member's take turns in a GC log, by when each started or by its process id.

    One that was started again comes after the one before, and a clock that is set moves the start once.
    """
    stops = [e for e in timeline.of(ev.ThreadsStopped) if e.speaker.file == path and e.what != "stall"]
    own = [e for e in stops if _may_be_its_jvm(timeline, participant, e)]
    started = [(time_of(e) - e.uptime_ms, time_of(e)) for e in own if e.uptime_ms is not None]
    numbered = [(pid, time_of(e)) for e in own if (pid := e.speaker.pid) is not None]
    return _take_turns(started, ROUND_TRIP_MS) or _take_turns(numbered, THREADS_OF_A_START)


def _take_turns(found: Iterable[tuple[int, int]], apart: int) -> bool:
    """True where times of one JVM, whose numbers are no further `apart` than the next, lie among those of another."""
    last: int | None = None
    jvms: list[list[int]] = []
    for number, at in sorted(found):
        if last is None or number - last > apart:
            jvms.append([])
        jvms[-1].append(at)
        last = number
    return any(min(jvm) <= max(other) and min(other) <= max(jvm) for jvm, other in combinations(jvms, 2))


def _are_copies(timeline: Timeline, log: CoveredLog, other: CoveredLog) -> bool:
    """True for two GC logs that begin or end in the same millisecond and show the same stops of a JVM of one age."""
    if process_id_in(log.path) != process_id_in(other.path) or (log.begin != other.begin and log.end != other.end):
        return False
    both = timeline.of(ev.ThreadsStopped).between(max(log.begin, other.begin), min(log.end, other.end))
    shown, of_other = (
        [(time_of(e), *own_fields(e).values()) for e in both if e.speaker.file == path]
        for path in (log.path, other.path)
    )
    # The lines of a whole copy are left out of the timeline; a JVM that ran well beside this one has none either.
    return shown == of_other if shown and of_other else (log.begin, log.end) == (other.begin, other.end)


@sign("thread dumps show its polling thread in one call while it did not poll")
def stuck_in_a_call(timeline: Timeline, subject: Subject) -> Answer:
    """Two dumps with the same frames show what a poll loop waited for; one of a thread in poll() shows nothing."""
    slow = [a for a in subject.absences if is_java_member(timeline, a.participant)]
    return seen(
        (e for a in slow for e in slow_calls(timeline, a)),
        (host_place(timeline, a, _dumps_that_decide(timeline, a)) for a in slow),
    )


def _dumps_that_decide(timeline: Timeline, absence: Absence) -> str:
    """Dumps of its threads in words, and what one that lies beside it lacks."""
    untimed = _untimed(timeline, absence, ev.ThreadStack)
    return f"{_DUMPS}; {some(sorted(untimed))} {_UNTIMED}" if untimed else _DUMPS


def slow_calls(timeline: Timeline, absence: Absence) -> tuple[ev.ThreadStack, ...]:
    """Where its polling thread was, dump by dump, while it did not poll; empty where a dump shows it in poll()."""
    if not timeline.of(ev.ThreadStack):
        return ()
    limit = _poll_limit_ms(timeline, absence)
    until = absence.back_at or absence.at + limit
    stacks = [
        e
        for e in timeline.of(ev.ThreadStack).between(absence.at - limit, until)
        if absence.participant in timeline.participants.at_place(e) and _is_polling(timeline, absence.participant, e)
    ]
    return () if any(e.in_poll for e in stacks) else tuple(e for e in stacks if e.frames)


def errors_of_its_loop(timeline: Timeline, absence: Absence) -> tuple[ev.ExceptionLogged, ...]:
    """What its polling thread logged as errors since it may have polled last; without names of threads, what it did."""
    limit, participant = _poll_limit_ms(timeline, absence), absence.participant
    # An application may log through other threads as well.
    threads: set[str | None] = {*loop_threads(timeline, participant)} or {None}
    near = timeline.of(ev.ExceptionLogged).between(absence.at - limit, absence.at + ROUND_TRIP_MS)
    found = [(e, authors_of(timeline, e)) for e in near if e.speaker.thread in threads]
    return tuple(e for e, authors in found if participant in authors and (e.speaker.thread or len(authors) == 1))


def _poll_limit_ms(timeline: Timeline, absence: Absence) -> int:
    """How long it may take between two calls of poll(), by the lines of its loss or by its settings."""
    return shown_poll_ms(timeline, absence.departure_lines) or setting_ms(timeline, POLL)


def _is_polling(timeline: Timeline, participant: Participant, stack: ev.ThreadStack) -> bool:
    """True for the thread that polls this consumer: by its client id or as its own lines name it, or the only one."""
    thread = stack.speaker.thread or ""
    if thread.startswith(_BESIDE_THE_LOOP):
        return False
    assigned = timeline.events_from(participant, ev.PartitionsAssigned)
    logged = {e.speaker.thread for e in assigned}
    # `payments-1` is no name of the thread `payments-10`.
    if any(re.search(rf"(?<!\w){re.escape(client)}(?!\w)", thread) for client in participant.client_ids):
        return True
    if thread in logged | participant.threads or any(name and _is_cut_to(name, thread) for name in logged):
        return _shows_its_consumer(timeline, participant, stack)
    alone = [*timeline.participants.at_place(stack)] == [participant]
    alone = alone and may_be_its_log(participant, stack.speaker.file)
    return alone and logged <= {None} and (stack.drives_consumer or thread in _threads_in_poll(timeline))


def _shows_its_consumer(timeline: Timeline, participant: Participant, stack: ev.ThreadStack) -> bool:
    """True for a dump of the process of the consumer: every JVM has a thread `main`."""
    if stack.speaker.file in participant.files:
        return True
    # Dumps of a series are numbered, and not in each of them the thread is in poll().
    series = words_of(stack.speaker.file)
    dumped = [e for e in timeline.of(ev.ThreadStack) if words_of(e.speaker.file) == series]
    dumped = [e for e in dumped if home_of(e) == home_of(stack)]
    names = [e.speaker.thread or "" for e in dumped]
    of_client = any(client in re.split(r"[ |]+", name) for name in names for client in participant.client_ids)
    return of_client or any(e.in_poll or e.drives_consumer for e in dumped)


def _is_cut_to(logged: str, thread: str) -> bool:
    """True for the last 15 characters of a thread's name, which is what Spring Boot's logs print (`%15.15t`)."""
    return len(logged) == _SPRING_PRINTS and thread.endswith(logged)


@answered_once
def _threads_in_poll(timeline: Timeline) -> frozenset[str | None]:
    return frozenset(e.speaker.thread for e in timeline.of(ev.ThreadStack) if e.in_poll)


@shown("the kernel killed a java process on its host at the moment its heartbeats stopped")
def java_was_killed(timeline: Timeline, subject: Subject) -> Iterator[Event]:
    """Neither a unit nor a process id ties that process to the member, so it may be another and rules nothing out.

    A process id that its log prints inside a container is unlike the kernel's either way, which shows nothing at all.
    """
    unnumbered = (absence for absence in subject.absences if not absence.participant.pids)
    return (e for absence in unnumbered for e in likely_kills_of(timeline, absence))


@sign("the kernel, a supervisor or an orchestrator logged that its process was killed")
def was_killed(timeline: Timeline, subject: Subject) -> Answer:
    """Another log than its own shows the end of its process; SIGKILL leaves no time to log anything."""
    return seen(
        (e for absence in subject.absences for e in kills_of(timeline, absence)),
        (host_place(timeline, a, _logs_of_its_end(a.participant)) for a in subject.absences),
    )


def host_unseen(timeline: Timeline, absence: Absence) -> Need:
    """The log of its host that would show whether that was suspended, lost its link or had a CPU stuck."""
    return host_place(timeline, absence, _OF_ITS_KERNEL).need


def _logs_of_its_end(participant: Participant) -> str:
    """Where the end of its process is logged: on its host, by Docker, or for a pod in its events and its status."""
    pod = next((name for name in sorted(participant.hosts) if is_unique(name)), None)
    if pod is None and (container := _container_of_docker(participant)) is not None:
        return (
            f"what Docker shows of the container of {{who}} (docker inspect {container} > inspect.json, docker events "
            "--since 2h --until 0s > docker-events.log), and the kernel log of its host (journalctl -k -o short-iso)"
        )
    if pod is None:
        return "the kernel and supervisor logs from the host{s} of {who} (journalctl -o short-iso, dmesg -T)"
    return (
        "the events and the status of the pod of {who} (kubectl get events -A -o json > events.json, "
        f"kubectl get pods -A -o json --field-selector metadata.name={pod} > pod.json)"
    )


# Docker names a container's host by the first half of the short id; its logs are in containers/ID/ID-json.log.
_OF_DOCKER = re.compile(r"([0-9a-f]{12})(?:[0-9a-f]{52}-json\.log.*)?")


def _container_of_docker(participant: Participant) -> str | None:
    names = (*sorted(participant.hosts), *sorted(participant.files))
    found = (_OF_DOCKER.fullmatch(name.rpartition("/")[2]) for name in names)
    return next((match[1] for match in found if match and not match[1].isdigit()), None)


@shown("the end of its process was logged", name="said-to-have-died")
def death_logged(timeline: Timeline, subject: Subject) -> Iterator[Event]:
    """A JVM logged the end of the member's process; most processes die without a line."""
    return (e for a in subject.absences if (e := death_of(timeline, a)) is not None)


def death_of(timeline: Timeline, absence: Absence) -> ev.ProcessDied | None:
    """The death that ended a member's heartbeats: the last one within a session before the group lost it."""
    deaths = timeline.of(ev.ProcessDied)
    if not deaths:
        return None
    begin = absence.at - session_timeout_ms(timeline) - ROUND_TRIP_MS
    own_deaths = [
        e
        for e in deaths.between(0, absence.at + ROUND_TRIP_MS)
        if absence.participant in ended_with(timeline.group, timeline.participants, e)
    ]
    last = own_deaths[-1] if own_deaths else None
    if last is None or time_of(last) >= begin:
        return last
    # The JVM prints no time: the process ended at some time after the line above, and nobody had written since.
    own = timeline.events_from(absence.participant, Event)
    return last if last.or_later and not own.any_between(time_of(last) + 1, absence.at - 1) else None


def stops_of_threads(timeline: Timeline, absence: Absence) -> tuple[ev.ThreadsStopped, ...]:
    """The stops of its JVM in which its session ran out, the longest first; none where they explain only part of it."""
    if not timeline.of(ev.ThreadsStopped):
        return ()
    session = session_timeout_ms(timeline)
    stops = [
        e
        # Most lines are written as the threads go on, which may be many sessions later.
        for e in timeline.of(ev.ThreadsStopped).since(absence.at - session - ROUND_TRIP_MS)
        if behind.began(e) <= absence.at and absence.participant in timeline.participants.at_place(e)
        if _may_be_its_jvm(timeline, absence.participant, e)
    ]
    if not stops:
        return ()
    if any(e.what != "stall" for e in stops) and gc_logs_of_several(timeline, absence):
        return ()
    # A JVM that was killed in a collection, or is still in it, logged the start and no end.
    unended = [e for e in stops[-1:] if e.stopped_ms == 0]
    stops = [e for e in stops if e.stopped_ms] + unended
    spans = ((behind.began(e), absence.at if e in unended else behind.ended(e)) for e in stops)
    return behind.longest_first(stops) if _fills_its_session(timeline, absence, spans) else ()


def _fills_its_session(timeline: Timeline, absence: Absence, spans: Iterable[tuple[int, int]]) -> bool:
    # The coordinator counts from the last heartbeat, which may have come up to an interval before the stop.
    session = session_timeout_ms(timeline)
    since = absence.at - session
    covered, until = 0, since
    for begin, end in sorted((max(begin, since), min(end, absence.at)) for begin, end in spans):
        covered += max(end - max(begin, until), 0)
        until = max(until, end)
    return covered >= session - heartbeat_interval_ms(timeline) - ROUND_TRIP_MS


def heap_unseen(timeline: Timeline, absence: Absence, links: Sequence[behind.Link]) -> tuple[Need, ...]:
    """The GC log that would show the heap of a JVM that ended because it was full; empty where a link shows it."""
    died = links[-1].lines[0] if links and links[-1].what == "out-of-memory" else None
    if not isinstance(died, ev.ProcessDied) or not behind.is_heap_exhausted(died) or gc_logs(timeline, absence):
        return ()
    return (host_place(timeline, absence, _gc_log_that_decides(timeline, absence)).need,)


def last_collection(timeline: Timeline, absence: Absence) -> ev.ThreadsStopped | None:
    """The last collection of its JVM before the group lost it that shows the heap."""
    begin = absence.at - 2 * session_timeout_ms(timeline)
    found = [
        e
        for e in timeline.of(ev.ThreadsStopped).between(begin, absence.at)
        if e.size_kib
        and absence.participant in timeline.participants.at_place(e)
        and _may_be_its_jvm(timeline, absence.participant, e)
    ]
    return found[-1] if found else None


def _may_be_its_jvm(timeline: Timeline, participant: Participant, stop: ev.ThreadsStopped) -> bool:
    """False for a log of another application by its name, and for a JVM that cannot be the member's.

    That one wrote lines while all threads stood still, or before this JVM had started.
    """
    if not may_be_its_log(participant, stop.speaker.file, stop.speaker.pid):
        return False
    own = timeline.events_from(participant, Event)
    if own.any_between(behind.began(stop) + ROUND_TRIP_MS, behind.ended(stop) - ROUND_TRIP_MS):
        return False
    if stop.uptime_ms is None:
        return True
    started = time_of(stop) - stop.uptime_ms
    was_running = own.any_between(0, started - ROUND_TRIP_MS)
    return not was_running or any(
        start.participant is participant for start in timeline.starts.between(started - ROUND_TRIP_MS, time_of(stop))
    )


def behind_clock(timeline: Timeline, absence: Absence) -> tuple[behind.Link, ...]:
    """The step by which the clock of its host was set forward beyond the poll timeout, just before that expired.

    Java's consumers measure it by the clock of the day (Time.SYSTEM.milliseconds), so no loop has to be slow.
    """
    if not timeline.shows_any((ev.HostDisturbed,)):
        return ()
    limit = _poll_limit_ms(timeline, absence)
    for e in timeline.of(ev.HostDisturbed).between(absence.at - AT_ONCE_MS, absence.at + ROUND_TRIP_MS):
        own, forward = absence.participant in timeline.participants.at_place(e), e.stepped_ms or 0
        if own and forward >= limit - heartbeat_interval_ms(timeline):
            why = f"the clock of its host was set forward by {seconds(forward)}"
            return (behind.Link("clock-step", why, 0.9, (e,)),)
    return ()


# Interfaces of containers and virtual machines: losing one does not cut off the host.
_VIRTUAL = re.compile(r"(?:veth|docker|br-|cali|cni|flannel|tun|tap|lo$|virbr|vnet|vxlan|cilium|lxc)")
# What begins a disturbance of a host, what ends it, and how it reads.
_OF_THE_HOST = (
    ("suspended", "resumed", "its host was suspended"),
    ("link-down", "link-up", "the network link of its host was down"),
)


def behind_host(timeline: Timeline, absence: Absence) -> tuple[behind.Link, ...]:
    """What its host did while its session ran out: it was suspended, its link was down, its CPU was stuck."""
    if not timeline.shows_any((ev.HostDisturbed,)):
        return ()
    session = session_timeout_ms(timeline)
    near = [
        e
        for e in timeline.of(ev.HostDisturbed).between(absence.at - 2 * session, absence.at + 2 * session)
        if absence.participant in timeline.participants.at_place(e) and not _VIRTUAL.match(e.interface or "")
    ]
    for begins, ends, words in _OF_THE_HOST:
        first = next((e for e in reversed(near) if e.what == begins and time_of(e) <= absence.at), None)
        last = next(
            (
                e
                for e in near
                if first and e.what == ends and time_of(e) >= time_of(first) and e.interface == first.interface
            ),
            None,
        )
        until = time_of(last) if last is not None else absence.at
        if first is not None and _fills_its_session(timeline, absence, [(time_of(first), until)]):
            lasted = f" for {seconds(until - time_of(first))}" if last is not None else ""
            lines = (first, last) if last is not None else (first,)
            return (behind.Link(begins, f"{words}{lasted}", 0.95, lines),)
    # Nothing in such a line ties a JVM, or another runtime, to one application of the host.
    stuck = [
        e
        for e in near
        if e.what == "cpu-stuck" and is_named_after(timeline.group, absence.participant, e.command or "")
    ]
    if _fills_its_session(timeline, absence, [(time_of(e) - (e.stuck_s or 0) * SECOND_MS, time_of(e)) for e in stuck]):
        longest = max(e.stuck_s or 0 for e in stuck)
        return (
            behind.Link("cpu-stuck", f"the kernel logged that a CPU was stuck for {longest} s in it", 0.9, stuck[:3]),
        )
    return ()


def behind_probe(timeline: Timeline, absence: Absence, links: Sequence[behind.Link]) -> tuple[behind.Link, ...]:
    """Why its probe failed, where the application had declared itself broken before."""
    if not links or links[0].what != "killed-by-probe":
        return ()
    killed_at = time_of(links[0].lines[0])
    broken = timeline.of(ev.LivenessBroken).between(killed_at - ONE_STEP_MS, killed_at)
    for e in reversed(broken):
        if absence.participant in timeline.participants.at_place(e):
            by = f" ({e.detail})" if e.detail else ""
            return (behind.Link("liveness-broken", f"its application had set LivenessState to BROKEN{by}", 0.95, (e,)),)
    return ()


Kill = ev.ProcessKilled | ev.ContainerReported


def kills_of(timeline: Timeline, absence: Absence) -> tuple[Kill, ...]:
    """What a kernel, supervisor or orchestrator logged of the end of its process; none where it may be another's."""
    if not _shows_ends(timeline):
        return ()
    return timeline.cached_as(("kills", absence), lambda: _kills_of(timeline, absence, _is_its_own))


def likely_kills_of(timeline: Timeline, absence: Absence) -> tuple[Kill, ...]:
    """The end of some `java` on its host in the moment in which its heartbeats stopped, where nothing names another."""
    if not _shows_ends(timeline) or kills_of(timeline, absence):
        return ()
    session = known_session_ms(timeline, absence.participant)
    if session is None:
        return ()
    last_heartbeat = absence.at - session
    until = last_heartbeat + heartbeat_interval_ms(timeline) + ROUND_TRIP_MS
    return tuple(e for e in _kills_of(timeline, absence, _is_a_java_of_its_host) if time_of(e) <= until)


@answered_once
def _shows_ends(timeline: Timeline) -> bool:
    return bool(timeline.orchestration) or timeline.shows_any((ev.ProcessKilled,))


def _kills_of(
    timeline: Timeline, absence: Absence, is_its: Callable[[Timeline, Participant, ev.ProcessKilled], bool]
) -> tuple[Kill, ...]:
    participant = absence.participant
    # Syslog cuts the time to whole seconds.
    begin = absence.at - session_timeout_ms(timeline) - heartbeat_interval_ms(timeline) - ROUND_TRIP_MS
    kills: list[Kill] = [
        e
        for e in timeline.of(ev.ProcessKilled).between(begin, absence.at + ROUND_TRIP_MS)
        if [*timeline.participants.at_place(e)] == [participant]
        and not behind.ended_on_request(e)
        and is_its(timeline, participant, e)
    ]
    if is_its is _is_its_own:
        kills += [e for e in reports_of(timeline, absence) if is_kill(e)]
    if kills and absence.start is None and isinstance(log_continues(timeline, absence), Present):
        return ()
    # A supervisor starts it again at once, long before its session runs out.
    restarted = absence.start.at if absence.start is not None else absence.at
    own, until = timeline.events_from(participant, Event), min(absence.at, restarted) - 1
    return tuple(e for e in kills if not own.any_between(time_of(e) + _takes_ms(e), until))


def _takes_ms(kill: Kill) -> int:
    """How long the process may log on: a pod that is evicted, or restarted for its probe, has time to close."""
    on_notice = isinstance(kill, ev.ContainerReported) and kill.what in ("evicted", "preempted", "killed-by-probe")
    return REQUEST_TIMEOUT_MS if on_notice else ROUND_TRIP_MS


def _is_its_own(timeline: Timeline, participant: Participant, kill: ev.ProcessKilled) -> bool:
    """True for a process with its process id, or of a unit or a program with its name."""
    same = participant.has_pid(kill.pid, of_the_kernel=True)
    if same is not None:
        return same
    if kill.command is None:
        return is_named_after(timeline.group, participant, behind.unit_of(kill) or "")
    if units := behind.units_killed_with(kill, timeline.of(ev.ProcessKilled)):
        return all(is_named_after(timeline.group, participant, unit) for unit in units)
    return not is_java_member(timeline, participant) and is_named_after(timeline.group, participant, kill.command)


def _is_a_java_of_its_host(timeline: Timeline, participant: Participant, kill: ev.ProcessKilled) -> bool:
    """True for a `java` without a name, as far as no other process id, unit, container or JVM is seen there."""
    kills = timeline.of(ev.ProcessKilled)
    cgroups = behind.containers_killed_with(kill, kills)
    return (
        kill.command == "java"
        and participant.has_pid(kill.pid, of_the_kernel=True) is None
        and not behind.units_killed_with(kill, kills)
        and (not cgroups or any(map(is_unique, participant.hosts)) or may_run_in(participant, cgroups))
        and is_java_member(timeline, participant)
        and not _runs_beside_another_jvm(timeline, participant)
    )


def _runs_beside_another_jvm(timeline: Timeline, participant: Participant) -> bool:
    """True where a log in its place is of another JVM, by its name or by what it lists."""
    place = [
        e
        for e in timeline.of(ev.ThreadsStopped, ev.ThreadStack, ev.ProcessDied)
        if participant in timeline.participants.at_place(e)
    ]
    logs = {(e.speaker.file, e.speaker.pid) for e in place}
    logs |= {(log.path, None) for log in timeline.coverage.of_its_jvm(participant)}
    others = (e for e in place if isinstance(e, ev.ProcessDied))
    return not all(may_be_its_log(participant, *log) for log in logs) or any(
        participant not in ended_with(timeline.group, timeline.participants, e) for e in others
    )
