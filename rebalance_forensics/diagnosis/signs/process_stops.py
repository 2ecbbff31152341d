"""Signs of what paused or ended a member's process: logs of the member, its JVM, the kernel and its supervisor.

Most processes do not log it themselves: a JVM logs how long its threads were stopped in its GC log, and the kernel and
systemd log which process they killed. Such a line is attributed to a member by its place (host, process) and by time,
but not because it is merely close in time: a stop has to fill the expired session, and after a kill the process must
not log anything more.
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
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
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

_SPRING_THREAD_CHARS = 15
_GC_LOG = "the GC log{s} of {who} (-Xlog:gc*,safepoint)"
_DUMPS = "any thread dumps taken of {who} (jcmd PID Thread.print)"
_KERNEL_LOG = "the kernel log{s} from the host{s} of {who} (journalctl -o short-iso, dmesg -T)"
_UNTIMED = "has no time of day"
# Threads of a consumer that run whether or not the application polls.
_BACKGROUND_THREADS = (HEARTBEATS, BACKGROUND, "kafka-producer-network-thread")


@sign(
    "its JVM logged that all its threads stood still while its session ran out",
    "its GC log continues and shows no pause as long as its session",
)
def threads_stopped(timeline: Timeline, subject: Subject) -> Answer:
    """A JVM that stops all threads sends no heartbeats; only the GC log shows it."""
    silent = (a for a in subject.absences if is_java_member(timeline, a.participant))
    return seen(
        (e for absence in subject.absences for e in jvm_stops(timeline, absence)),
        (host_place(timeline, a, _gc_log_that_decides(timeline, a), gc_logs(timeline, a)) for a in silent),
    )


@shown("its GC log ends in a full collection")
def ends_in_a_collection(timeline: Timeline, subject: Subject) -> Iterator[Event]:
    """The JVM was killed during a collection or had not finished it, which its own log cannot distinguish."""
    return (e for a in subject.absences for e in jvm_stops(timeline, a) if e.stopped_ms == 0)


def gc_logs(timeline: Timeline, absence: Absence) -> tuple[CoveredLog, ...]:
    """The GC logs of its JVM that cover its expired session; empty if they may be of several JVMs."""
    near = _gc_logs_near(timeline, absence)
    if not near or gc_logs_of_several_jvms(timeline, absence):
        return ()
    return covering(near, absence.at - session_timeout_ms(timeline), absence.at)


def _gc_log_that_decides(timeline: Timeline, absence: Absence) -> str:
    """The description of the GC log that would decide, and why the GC logs next to the member's log do not."""
    if several := gc_logs_of_several_jvms(timeline, absence):
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
    """The files of the member's place that have events of this kind without a time."""
    found = (e for e in timeline.untimed_of_hosts if isinstance(e, kind))
    return {e.speaker.file for e in found if absence.participant in timeline.participants.at_place(e)}


def _gc_logs_near(timeline: Timeline, absence: Absence) -> list[CoveredLog]:
    """The GC logs in the member's place whose names do not belong to another application."""
    logs = timeline.coverage.of_its_jvm(absence.participant)
    return [log for log in logs if may_be_its_log(absence.participant, log.path)]


def gc_logs_of_several_jvms(timeline: Timeline, absence: Absence) -> tuple[str, ...]:
    """The GC logs that overlap its session if they are of several JVMs and none is known to be its own; else empty.

    A single GC log in the result is one to which several JVMs wrote at the same time.
    """
    # A restarted JVM has another process id, and its log begins after the log of the former JVM ends.
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
    """True if lines of several JVMs that may be the member's alternate in a GC log, by start time or process id.

    After a restart, all lines of the new JVM follow those of the former, and a clock step moves the start only once.
    """
    stops = [e for e in timeline.of(ev.ThreadsStopped) if e.speaker.file == path and e.what != "stall"]
    own = [e for e in stops if _may_be_its_jvm(timeline, participant, e)]
    started = [(time_of(e) - e.uptime_ms, time_of(e)) for e in own if e.uptime_ms is not None]
    numbered = [(pid, time_of(e)) for e in own if (pid := e.speaker.pid) is not None]
    return _overlap(started, ROUND_TRIP_MS) or _overlap(numbered, THREADS_OF_A_START)


def _overlap(numbered: Iterable[tuple[int, int]], max_gap: int) -> bool:
    """True if the time ranges of two JVMs overlap; sorted numbers at most `max_gap` apart belong to one JVM.

    `numbered` has pairs of a number (start time or process id) and the time of its line.
    """
    last: int | None = None
    jvms: list[list[int]] = []
    for number, at in sorted(numbered):
        if last is None or number - last > max_gap:
            jvms.append([])
        jvms[-1].append(at)
        last = number
    return any(min(jvm) <= max(other) and min(other) <= max(jvm) for jvm, other in combinations(jvms, 2))


def _are_copies(timeline: Timeline, log: CoveredLog, other: CoveredLog) -> bool:
    """True if two GC logs begin or end in the same millisecond and show the same stops at the same JVM uptime."""
    if process_id_in(log.path) != process_id_in(other.path) or (log.begin != other.begin and log.end != other.end):
        return False
    both = timeline.of(ev.ThreadsStopped).between(max(log.begin, other.begin), min(log.end, other.end))
    shown, of_other = (
        [(time_of(e), *own_fields(e).values()) for e in both if e.speaker.file == path]
        for path in (log.path, other.path)
    )
    # The timeline leaves out the lines of a full copy; a second JVM without pauses has no lines either.
    return shown == of_other if shown and of_other else (log.begin, log.end) == (other.begin, other.end)


@sign("thread dumps show its polling thread in one call while it did not poll")
def stuck_in_a_call(timeline: Timeline, subject: Subject) -> Answer:
    """Thread dumps show which call blocked the poll loop; a dump of a thread in poll() shows nothing."""
    slow = [a for a in subject.absences if is_java_member(timeline, a.participant)]
    return seen(
        (e for a in slow for e in slow_calls(timeline, a)),
        (host_place(timeline, a, _dumps_that_decide(timeline, a)) for a in slow),
    )


def _dumps_that_decide(timeline: Timeline, absence: Absence) -> str:
    """The description of the thread dumps that would decide, and why dumps next to the member's log do not."""
    untimed = _untimed(timeline, absence, ev.ThreadStack)
    return f"{_DUMPS}; {some(sorted(untimed))} {_UNTIMED}" if untimed else _DUMPS


def slow_calls(timeline: Timeline, absence: Absence) -> tuple[ev.ThreadStack, ...]:
    """The stacks of its polling thread while it did not poll, oldest first; empty if a dump shows it in poll()."""
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


def poll_loop_errors(timeline: Timeline, absence: Absence) -> tuple[ev.ExceptionLogged, ...]:
    """The errors of its polling thread since its last possible poll(); without thread names, those of its process."""
    limit, participant = _poll_limit_ms(timeline, absence), absence.participant
    # An application may log through other threads as well.
    threads: set[str | None] = {*loop_threads(timeline, participant)} or {None}
    near = timeline.of(ev.ExceptionLogged).between(absence.at - limit, absence.at + ROUND_TRIP_MS)
    found = [(e, authors_of(timeline, e)) for e in near if e.speaker.thread in threads]
    return tuple(e for e, authors in found if participant in authors and (e.speaker.thread or len(authors) == 1))


def _poll_limit_ms(timeline: Timeline, absence: Absence) -> int:
    """The longest time allowed between two calls of poll(), from the lines of its loss or from its settings."""
    return shown_poll_ms(timeline, absence.departure_lines) or setting_ms(timeline, POLL)


def _is_polling(timeline: Timeline, participant: Participant, stack: ev.ThreadStack) -> bool:
    """True if the thread polls this consumer: by client id, by the thread name in its log, or as the only candidate."""
    thread = stack.speaker.thread or ""
    if thread.startswith(_BACKGROUND_THREADS):
        return False
    assigned = timeline.events_from(participant, ev.PartitionsAssigned)
    logged = {e.speaker.thread for e in assigned}
    # The client id `payments-1` does not match the thread `payments-10`.
    if any(re.search(rf"(?<!\w){re.escape(client)}(?!\w)", thread) for client in participant.client_ids):
        return True
    if thread in logged | participant.threads or any(name and _is_cut_to(name, thread) for name in logged):
        return _shows_its_consumer(timeline, participant, stack)
    alone = [*timeline.participants.at_place(stack)] == [participant]
    alone = alone and may_be_its_log(participant, stack.speaker.file)
    return alone and logged <= {None} and (stack.drives_consumer or thread in _threads_in_poll(timeline))


def _shows_its_consumer(timeline: Timeline, participant: Participant, stack: ev.ThreadStack) -> bool:
    """True if the dump is of the consumer's process; a thread name is not enough, as every JVM has a thread `main`."""
    if stack.speaker.file in participant.files:
        return True
    # Dumps of a series are numbered, and the thread is not in poll() in each of them.
    series = words_of(stack.speaker.file)
    dumped = [e for e in timeline.of(ev.ThreadStack) if words_of(e.speaker.file) == series]
    dumped = [e for e in dumped if home_of(e) == home_of(stack)]
    names = [e.speaker.thread or "" for e in dumped]
    of_client = any(client in re.split(r"[ |]+", name) for name in names for client in participant.client_ids)
    return of_client or any(e.in_poll or e.drives_consumer for e in dumped)


def _is_cut_to(logged: str, thread: str) -> bool:
    """True if `logged` is the last 15 characters of a thread's name, as Spring Boot logs it (`%15.15t`)."""
    return len(logged) == _SPRING_THREAD_CHARS and thread.endswith(logged)


@cached_answer
def _threads_in_poll(timeline: Timeline) -> frozenset[str | None]:
    """The names of threads that any dump shows in poll()."""
    return frozenset(e.speaker.thread for e in timeline.of(ev.ThreadStack) if e.in_poll)


@shown("the kernel killed a java process on its host at the moment its heartbeats stopped")
def java_was_killed(timeline: Timeline, subject: Subject) -> Iterator[Event]:
    """Neither a unit nor a process id ties the process to the member: it may be another one and rules nothing out.

    Members whose log has a process id are skipped: inside a container, it never equals the kernel's.
    """
    unnumbered = (absence for absence in subject.absences if not absence.participant.pids)
    return (e for absence in unnumbered for e in likely_kills_of(timeline, absence))


@sign("the kernel, a supervisor or an orchestrator logged that its process was killed")
def was_killed(timeline: Timeline, subject: Subject) -> Answer:
    """Another log than its own shows the end of its process; a process cannot log its own SIGKILL."""
    return seen(
        (e for absence in subject.absences for e in kills_of(timeline, absence)),
        (host_place(timeline, a, _logs_of_its_end(a.participant)) for a in subject.absences),
    )


def missing_kernel_log(timeline: Timeline, absence: Absence) -> Need:
    """The kernel log that would show whether its host was suspended, lost its network link or had a stuck CPU."""
    return host_place(timeline, absence, _KERNEL_LOG).need


def _logs_of_its_end(participant: Participant) -> str:
    """The logs that would show the end of its process: its host's, Docker's, or the events and status of its pod."""
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


# The hostname of a Docker container is its short id (12 digits); its log is containers/ID/ID-json.log (64 digits).
_DOCKER_ID = re.compile(r"([0-9a-f]{12})(?:[0-9a-f]{52}-json\.log.*)?")


def _container_of_docker(participant: Participant) -> str | None:
    """The short id of the Docker container that the member runs in; None if unknown."""
    names = (*sorted(participant.hosts), *sorted(participant.files))
    found = (_DOCKER_ID.fullmatch(name.rpartition("/")[2]) for name in names)
    return next((match[1] for match in found if match and not match[1].isdigit()), None)


@shown("the end of its process was logged", name="said-to-have-died")
def death_logged(timeline: Timeline, subject: Subject) -> Iterator[Event]:
    """A JVM logged the end of the member's process; most processes end without a line."""
    return (e for a in subject.absences if (e := logged_death(timeline, a)) is not None)


def logged_death(timeline: Timeline, absence: Absence) -> ev.ProcessDied | None:
    """The logged end of a member's process, within a session before the group lost it; None if there is none."""
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
    # The JVM prints no time: the process ended some time after the preceding line, if the member wrote nothing since.
    own = timeline.events_from(absence.participant, Event)
    return last if last.or_later and not own.any_between(time_of(last) + 1, absence.at - 1) else None


def jvm_stops(timeline: Timeline, absence: Absence) -> tuple[ev.ThreadsStopped, ...]:
    """The stops of its JVM during which its session expired, longest first; empty if they fill only part of it."""
    if not timeline.of(ev.ThreadsStopped):
        return ()
    session = session_timeout_ms(timeline)
    stops = [
        e
        # Most lines are written when the threads resume, which may be many sessions later.
        for e in timeline.of(ev.ThreadsStopped).since(absence.at - session - ROUND_TRIP_MS)
        if behind.stopped_at(e) <= absence.at and absence.participant in timeline.participants.at_place(e)
        if _may_be_its_jvm(timeline, absence.participant, e)
    ]
    if not stops:
        return ()
    if any(e.what != "stall" for e in stops) and gc_logs_of_several_jvms(timeline, absence):
        return ()
    # A JVM that was killed during a collection, or has not finished it, logged only its start.
    unended = [e for e in stops[-1:] if e.stopped_ms == 0]
    stops = [e for e in stops if e.stopped_ms] + unended
    spans = ((behind.stopped_at(e), absence.at if e in unended else behind.resumed_at(e)) for e in stops)
    return behind.longest_first(stops) if _fills_its_session(timeline, absence, spans) else ()


def _fills_its_session(timeline: Timeline, absence: Absence, spans: Iterable[tuple[int, int]]) -> bool:
    """True if these spans together cover the session that expired, except for one heartbeat interval."""
    # The session starts with the last heartbeat, up to an interval before the stop.
    session = session_timeout_ms(timeline)
    since = absence.at - session
    covered, until = 0, since
    for begin, end in sorted((max(begin, since), min(end, absence.at)) for begin, end in spans):
        covered += max(end - max(begin, until), 0)
        until = max(until, end)
    return covered >= session - heartbeat_interval_ms(timeline) - ROUND_TRIP_MS


def missing_gc_log(timeline: Timeline, absence: Absence, links: Sequence[behind.Link]) -> tuple[Need, ...]:
    """The GC log that would show the heap of a JVM that ended by OutOfMemoryError; empty if that log is available."""
    died = links[-1].lines[0] if links and links[-1].what == "out-of-memory" else None
    if not isinstance(died, ev.ProcessDied) or died.out_of_memory != "heap" or gc_logs(timeline, absence):
        return ()
    return (host_place(timeline, absence, _gc_log_that_decides(timeline, absence)).need,)


def last_collection(timeline: Timeline, absence: Absence) -> ev.ThreadsStopped | None:
    """The last collection of its JVM that shows the heap, before the group lost the member; None if there is none."""
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
    """True unless the log's name is another application's, or the member logged while this JVM could not have.

    A member's JVM cannot log while all its threads are stopped, or before it has started.
    """
    if not may_be_its_log(participant, stop.speaker.file, stop.speaker.pid):
        return False
    own = timeline.events_from(participant, Event)
    if own.any_between(behind.stopped_at(stop) + ROUND_TRIP_MS, behind.resumed_at(stop) - ROUND_TRIP_MS):
        return False
    if stop.uptime_ms is None:
        return True
    started = time_of(stop) - stop.uptime_ms
    was_running = own.any_between(0, started - ROUND_TRIP_MS)
    return not was_running or any(
        start.participant is participant for start in timeline.starts.between(started - ROUND_TRIP_MS, time_of(stop))
    )


def behind_clock(timeline: Timeline, absence: Absence) -> tuple[behind.Link, ...]:
    """A step of its host's clock forward by more than the poll timeout, just before that expired; empty if none.

    Java consumers measure the poll timeout by wall-clock time (Time.SYSTEM.milliseconds), so no loop has to be slow.
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


# Network interfaces of containers and virtual machines: the loss of one does not cut off the host.
_VIRTUAL = re.compile(r"(?:veth|docker|br-|cali|cni|flannel|tun|tap|lo$|virbr|vnet|vxlan|cilium|lxc)")
# The start and the end of a disturbance of a host, and its description.
_HOST_DISTURBANCES = (
    ("suspended", "resumed", "its host was suspended"),
    ("link-down", "link-up", "the network link of its host was down"),
)


def behind_host(timeline: Timeline, absence: Absence) -> tuple[behind.Link, ...]:
    """The disturbance of its host while its session expired: suspended, network link down, CPU stuck; empty if none."""
    if not timeline.shows_any((ev.HostDisturbed,)):
        return ()
    session = session_timeout_ms(timeline)
    near = [
        e
        for e in timeline.of(ev.HostDisturbed).between(absence.at - 2 * session, absence.at + 2 * session)
        if absence.participant in timeline.participants.at_place(e) and not _VIRTUAL.match(e.interface or "")
    ]
    for begins, ends, words in _HOST_DISTURBANCES:
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
    # Such a line names a JVM, or another runtime, only as `java`: only a command with the member's name ties it to one.
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
    """Why its probe failed, if the application had set its LivenessState to BROKEN before; else empty."""
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
    """Lines of a kernel, supervisor or orchestrator about the end of its process; empty if it may be another's."""
    if not _shows_ends(timeline):
        return ()
    return timeline.cached_as(("kills", absence), lambda: _kills_of(timeline, absence, _is_its_own))


def likely_kills_of(timeline: Timeline, absence: Absence) -> tuple[Kill, ...]:
    """The end of a `java` process on its host when its heartbeats stopped, if nothing ties that to another process."""
    if not _shows_ends(timeline) or kills_of(timeline, absence):
        return ()
    session = known_session_ms(timeline, absence.participant)
    if session is None:
        return ()
    last_heartbeat = absence.at - session
    until = last_heartbeat + heartbeat_interval_ms(timeline) + ROUND_TRIP_MS
    return tuple(e for e in _kills_of(timeline, absence, _may_be_its_java) if time_of(e) <= until)


@cached_answer
def _shows_ends(timeline: Timeline) -> bool:
    """True if any log of an orchestrator, or a kill of a process, is available."""
    return bool(timeline.orchestration) or timeline.shows_any((ev.ProcessKilled,))


def _kills_of(
    timeline: Timeline, absence: Absence, is_its: Callable[[Timeline, Participant, ev.ProcessKilled], bool]
) -> tuple[Kill, ...]:
    participant = absence.participant
    # Syslog truncates times to whole seconds.
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
    # A supervisor restarts it immediately, long before its session expires.
    restarted = absence.start.at if absence.start is not None else absence.at
    own, until = timeline.events_from(participant, Event), min(absence.at, restarted) - 1
    return tuple(e for e in kills if not own.any_between(time_of(e) + _grace_ms(e), until))


def _grace_ms(kill: Kill) -> int:
    """The longest time the process may continue to log, in ms; a pod that is evicted or fails its probe may close."""
    may_close = isinstance(kill, ev.ContainerReported) and kill.what in ("evicted", "preempted", "killed-by-probe")
    return REQUEST_TIMEOUT_MS if may_close else ROUND_TRIP_MS


def _is_its_own(timeline: Timeline, participant: Participant, kill: ev.ProcessKilled) -> bool:
    """True if the process has the member's process id, or its unit or command has the member's name."""
    same = participant.has_pid(kill.pid, of_the_kernel=True)
    if same is not None:
        return same
    if kill.command is None:
        return is_named_after(timeline.group, participant, behind.unit_of(kill) or "")
    if units := behind.units_killed_with(kill, timeline.of(ev.ProcessKilled)):
        return all(is_named_after(timeline.group, participant, unit) for unit in units)
    return not is_java_member(timeline, participant) and is_named_after(timeline.group, participant, kill.command)


def _may_be_its_java(timeline: Timeline, participant: Participant, kill: ev.ProcessKilled) -> bool:
    """True for a `java` process unless a process id, unit, container or second JVM there suggests another process."""
    kills = timeline.of(ev.ProcessKilled)
    cgroups = behind.containers_killed_with(kill, kills)
    return (
        kill.command == "java"
        and participant.has_pid(kill.pid, of_the_kernel=True) is None
        and not behind.units_killed_with(kill, kills)
        and (not cgroups or any(map(is_unique, participant.hosts)) or may_run_in(participant, cgroups))
        and is_java_member(timeline, participant)
        and not _shares_place_with_another_jvm(timeline, participant)
    )


def _shares_place_with_another_jvm(timeline: Timeline, participant: Participant) -> bool:
    """True if a log in its place is of another JVM, by its name or its content."""
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
