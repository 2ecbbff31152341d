"""The cause behind a cause: why a process paused, ended or was slow, from logs other than the group's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.reference.glossary import glossary
from rebalance_forensics.diagnosis.wording.durations import capitalized, listed, seconds
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import SECOND_MS
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.identity.participants import home_of
from rebalance_forensics.timeline.model import Behind
from rebalance_forensics.timeline.windows import AT_ONCE_MS

# If a collection leaves this share of the heap in use, the heap is full: the next collection follows soon.
_FULL_IN_TENTHS = 9
_KIB_A_GIB = 1 << 20
# Links that show an intended stop or start.
_PLANNED = frozenset(("stopped", "rollout", "recreated", "scaled-down", "scaled-up"))
# Units and cgroups that have an id in place of a name.
_WITHOUT_NAME = re.compile(
    r"(?:docker|cri-containerd|crio|libpod|session|run|user)-[\w.:-]+\.scope|user@\d+\.service|[0-9a-f]{12,}|.*\.slice"
)
# Cgroups of containers, as container runtimes and the kubelet create them.
_OF_A_CONTAINER = re.compile(r"kubepods|/docker/|(?:^|/)(?:docker|cri-containerd|crio|libpod)-|/lxc")


_ID = re.compile(r"[0-9a-f]{12,64}")


class Link(Struct, frozen=True, gc=False):
    """One step behind a cause: its kind, its explanation as a clause, and the lines that show it."""

    what: str
    clause: str
    """The explanation as used within a sentence, without a full stop: `its JVM crashed with SIGSEGV`."""
    confidence: float
    lines: Sequence[Event]
    begins_with_name: bool = False
    """True if the clause starts with a name, which is not capitalized at the start of a sentence."""

    @property
    def why(self) -> str:
        """The clause as a sentence."""
        return f"{self.clause if self.begins_with_name else capitalized(self.clause)}."


def outlined(links: Iterable[Link]) -> tuple[Behind, ...]:
    """Return the links in the form that reports show."""
    return tuple(
        Behind(what=link.what, why=link.why, confidence=link.confidence, evidence=tuple(map(evidence_of, link.lines)))
        for link in links
    )


def stopped_at(event: ev.ThreadsStopped) -> int:
    """Return when the threads were stopped; most lines are logged when they resume."""
    return time_of(event) - (0 if event.as_it_began else event.stopped_ms)


def resumed_at(event: ev.ThreadsStopped) -> int:
    """Return when the threads resumed."""
    return stopped_at(event) + event.stopped_ms


def longest_first(stops: Iterable[ev.ThreadsStopped]) -> tuple[ev.ThreadsStopped, ...]:
    """Return the stops, longest first; a collection that never ended precedes all others."""
    # A collection is logged in the GC log and again as a safepoint: prefer the line that shows the heap.
    return tuple(
        sorted(
            stops, key=lambda e: (e.stopped_ms > 0, -e.stopped_ms // AT_ONCE_MS, e.what != "gc-pause", -e.stopped_ms)
        )
    )


def unit_of(kill: ev.ProcessKilled) -> str | None:
    """Return the systemd unit that a line or its cgroup names; None if it is only the id of a container or session."""
    unit = (kill.unit or "").rpartition("/")[2]
    return None if not unit or _WITHOUT_NAME.fullmatch(unit) else unit


def units_killed_with(kill: ev.ProcessKilled, kills: Iterable[ev.ProcessKilled]) -> set[str]:
    """Return the units named for this kill within seconds: syslog truncates times, and systemd reports a kill later."""
    return {unit for e in _lines_of_same_kill(kill, kills) if (unit := unit_of(e)) is not None}


def containers_killed_with(kill: ev.ProcessKilled, kills: Iterable[ev.ProcessKilled]) -> set[str]:
    """Return the cgroups of containers and pods named for this kill within seconds."""
    return {unit for e in _lines_of_same_kill(kill, kills) if _OF_A_CONTAINER.search(unit := e.unit or "")}


def _lines_of_same_kill(kill: ev.ProcessKilled, kills: Iterable[ev.ProcessKilled]) -> Iterator[ev.ProcessKilled]:
    near = [e for e in kills if home_of(e) == home_of(kill) and abs(time_of(e) - time_of(kill)) < 2 * SECOND_MS]
    own = {unit_of(e) for e in near if e.pid == kill.pid}
    # systemd does not log the pid: its line belongs to the process that the kernel logs with the same unit.
    others = {unit_of(e) for e in near if e.pid not in (None, kill.pid)} - own
    return (e for e in near if e.pid == kill.pid or (e.pid is None and unit_of(e) not in others))


def ended_on_request(kill: ev.ProcessKilled) -> bool:
    """True for a unit that was ended by SIGTERM, or that exited with the status of a JVM that was."""
    status = (kill.signal or "").partition("/")[0].removeprefix("SIG")
    return status in ("0", "15", "130", "143", "TERM", "INT")


def behind_pause(stops: Sequence[ev.ThreadsStopped]) -> tuple[Link, ...]:
    """Return why the process paused: a stop of its JVM, and possibly a full heap behind it."""
    if not stops:
        return ()
    if (unended := next((e for e in stops if e.stopped_ms == 0), None)) is not None:
        why = f"its JVM began a collection ({unended.operation}), and its GC log shows no end of it"
        return (Link(unended.what, why, 0.9, (unended,)),)
    longest = stops[0]
    stood = sum(e.stopped_ms for e in stops if e.what == longest.what)
    times = f", {len(stops)} stops in a row" if stood > longest.stopped_ms else ""
    if longest.what == "stall":
        why = f"no thread of it ran for {seconds(longest.stopped_ms)}, as HikariCP in its process found"
        return (Link("stall", why, 0.75, stops[:4]),)
    why = f"its JVM stopped all threads for {seconds(stood)}{operation_of(longest)}{times}"
    links = [Link(longest.what, why, 0.97, stops[:4])]
    if (heap := heap_after(longest)) and is_full(longest):
        links.append(Link("heap-full", f"its heap was full: {heap} were in use after the collection", 0.9, (longest,)))
    return tuple(links)


def behind_end(
    kills: Sequence[ev.ProcessKilled | ev.ContainerReported],
    died: ev.ProcessDied | None,
    last: ev.ThreadsStopped | None = None,
    *,
    surely: bool = True,
) -> tuple[Link, ...]:
    """Return why the process ended: what killed it and why, or how its JVM crashed; `last` is its last collection.

    Unless it is `surely` this process that was killed (and not another `java` on its host), the confidence is lower.
    """
    if not kills:
        if died is None or not died.reason:
            return ()
        if died.out_of_memory is not None:
            why = f"its JVM ended with {died.reason}"
            return (Link("out-of-memory", why, 0.97, (died,)), *_full_heap(died, last))
        where = f" in {died.frame}" if died.frame else ""
        return (Link("crashed", f"its JVM crashed with {died.reason}{where}", 0.97, (died,)),)
    by_pod = [e for e in kills if isinstance(e, ev.ContainerReported)]
    by_host = [e for e in kills if isinstance(e, ev.ProcessKilled)]
    links = behind_container(by_pod)
    if not by_host or (links and not any(e.why == "oom-kill" for e in by_host)):
        return links
    by_memory = [e for e in by_host if e.why == "oom-kill"]
    # The kernel logs the cgroup in one line, the process and its memory in the next; systemd reports both later.
    first = max(
        by_memory or by_host[:1],
        key=lambda e: (e.by == "kernel", e.pid is not None, unit_of(e) is not None, e.used_kib or 0),
    )
    by_host = [e for e in by_host if e.pid in (None, first.pid)]
    by_memory = [e for e in by_memory if e in by_host]
    kib = max((e.used_kib or 0 for e in by_memory), default=0)
    used = f", {_memory(kib)} resident" if kib else ""
    who = f"{first.command} (pid {first.pid}{used})" if first.pid else first.unit or "the process"
    who = who if surely else f"{who} on its host, and no line shows whose process that was"
    by_kernel = first.by == "kernel"
    logged_by = "the kernel" if by_kernel else first.by
    if by_memory:
        killer = "the kernel" if by_kernel else f"{first.by} reports that the kernel"
        where = _limit(by_memory)
        why = f"{killer} killed {who}{where}" if surely else f"out of memory, the kernel killed {who}"
        lines = (*by_host[:3], *by_pod[:1])
        return (Link("oom-kill", why, 0.95 if surely else 0.6, lines, begins_with_name=surely and not by_kernel),)
    if first.why == "exited":
        why = f"{logged_by} logged that {who} ended with status {first.signal}"
        return (Link("exited", why, 0.9, by_host[:4], begins_with_name=not by_kernel),)
    what = "killed" if first.why == "killed" else "crashed"
    signal = f" by signal {first.signal}" if first.signal else f": {first.fault}" if first.fault else ""
    why = (
        f"{logged_by} logged that {who} was ended{signal}" if surely else f"{logged_by} logged the end{signal} of {who}"
    )
    return (Link(what, why, 0.9 if surely else 0.6, by_host[:4], begins_with_name=not by_kernel),)


def _limit(kills: Sequence[ev.ProcessKilled]) -> str:
    """Return where memory ran out, as ` at the memory limit of its cgroup`: its own, a parent's, or the host's."""
    if not any(e.at_limit for e in kills):
        return ": out of memory"
    cgroups = next(((e.limit_of, e.unit) for e in kills if e.limit_of is not None), None)
    if cgroups is None:
        return " at the memory limit of its cgroup or of a parent cgroup"
    return f" at the memory limit of {'its cgroup' if cgroups[0] == cgroups[1] else f'cgroup {cgroups[0]}'}"


# The most specific report is first: a container at its limit also exits with code 137, an evicted one is killed.
SIGKILL = frozenset(("9", "SIGKILL", "KILL"))
EXIT_OF_SIGKILL = 128 + 9
_BY_RANK = ("evicted", "preempted", "oom-kill", "killed-by-probe", "signalled", "ended", "stopping")


def behind_container(reports: Sequence[ev.ContainerReported]) -> tuple[Link, ...]:
    """Return what ended a container, from its most specific report, and why the kubelet did it."""
    ending = sorted((e for e in reports if e.what in _BY_RANK), key=lambda e: _BY_RANK.index(e.what))
    if not ending:
        return ()
    first = ending[0]
    lines = [e for e in ending if e.what == first.what]
    who = f"container {first.name[:12]}" if _ID.fullmatch(first.name) else first.name
    if first.container not in (None, first.name):
        who = f"container {first.container} of {first.name}"
    code = next((e.exit_code for e in ending if e.exit_code is not None), None)
    exited = f" (exit code {code})" if code is not None else ""
    detail = (first.detail or "").rstrip(".")
    match first.what:
        case "oom-kill":
            what, why = "oom-kill", f"{who} was killed at its memory limit{exited}"
        case "evicted":
            if first.short_of:
                low = f"its node was low on {first.short_of}{f': {detail}' if detail else ''}"
                evicted = Link("evicted", f"pod {first.name} was evicted", 0.95, lines[:2])
                return (evicted, Link("node-short", low, 0.95, lines[:2]))
            what, why = "evicted", f"pod {first.name} was evicted{f': {detail}' if detail else ''}"
        case "preempted":
            what, why = "preempted", f"pod {first.name} was preempted{f' by {detail}' if detail else ''}"
        case "killed-by-probe":
            why = f"the kubelet stopped {who} to restart it: its {first.probe} probe kept failing{exited}"
            failed = [e for e in reports if e.what == "probe-failed" and e.probe == first.probe]
            return (Link("killed-by-probe", why, 0.95, lines[:2]), *_behind_probe(failed, first.probe or "liveness"))
        case "signalled":
            what, why = (
                "killed" if first.signal in SIGKILL else "stopped",
                f"signal {first.signal} was sent to {who}{exited}",
            )
        case "ended":
            what, why = "exited", f"{who} ended with exit code {code}{f' ({detail})' if detail else ''}"
        case _:
            what, why = "stopped", f"{who} was stopped on request{exited}"
    by_name = who == first.name and first.what in ("oom-kill", "ended", "stopping")
    near = _near_its_limit(reports, first) if first.what == "ended" else ()
    return (Link(what, why, 0.95, lines[:2], begins_with_name=by_name), *near)


def _near_its_limit(reports: Sequence[ev.ContainerReported], end: ev.ContainerReported) -> tuple[Link, ...]:
    """Return a possible reason for the SIGKILL of a container: the kernel killed one of its processes for memory."""
    lines = [e for e in reports if e.what == "oom-in-container" and abs(time_of(e) - time_of(end)) <= AT_ONCE_MS]
    if not lines or end.exit_code != EXIT_OF_SIGKILL:
        return ()
    why = "the kernel killed a process of it at its memory limit about then, perhaps this one"
    return (Link("oom-kill", why, 0.6, lines[:2]),)


def _behind_probe(failed: Sequence[ev.ContainerReported], probe: str) -> tuple[Link, ...]:
    if not failed:
        return ()
    times = max(len(failed), *(e.count for e in failed))
    often = f"{times} times, at last with" if times > 1 else "with"
    why = f"its {probe} probe failed {often}: {(failed[-1].detail or '').rstrip('.')}"
    return (Link("probe-failed", why, 0.9, failed[-3:]),)


def _full_heap(died: ev.ProcessDied, last: ev.ThreadsStopped | None) -> tuple[Link, ...]:
    """Return the heap usage of a JVM that ran out of heap, from its hs_err file or its last collection."""
    if died.out_of_memory != "heap":
        return ()
    shown = died if died.size_kib else last
    if shown is None or (used := heap_after(shown)) is None:
        return ()
    return (Link("heap-full", f"its heap was full: {used} were in use", 0.9, (shown,)),)


def behind_slow_loop(stacks: Sequence[ev.ThreadStack]) -> tuple[Link, ...]:
    """Return what the polling thread did instead of polling, from thread dumps, and what it waited for."""
    if not stacks:
        return ()
    methods = [method_of(e.frames[0]) for e in stacks]
    method = max(methods, key=methods.count)
    alike = [e for e, at in zip(stacks, methods, strict=True) if at == method]
    dumps = f"in {len(alike)} of {len(stacks)} thread dumps" if len(stacks) > 1 else "in the thread dump"
    apart = seconds(time_of(alike[-1]) - time_of(alike[0])) if len(alike) > 1 else None
    over = f", {apart} apart" if apart else ""
    why = f"its polling thread was in {alike[0].frames[0]} {dumps}{over}"
    links = [Link("slow-call", why, 0.95 if len(alike) > 1 else 0.75, alike[:4])]
    if (waits := waiting_in(alike[0])) is not None:
        links.append(Link("waiting", f"that call {waits}", links[0].confidence, alike[:1]))
    return tuple(links)


# Exceptions that database drivers, HTTP clients, gRPC, pools, circuit breakers (resilience4j, Hystrix) and rate
# limiters throw when a slow call times out.
_GAVE_UP = re.compile(
    r"(?i:time[ds]?[ -]?out|timeout|deadline[ _]exceeded|circuit (?:breaker )?is (?:now )?open|does not permit further)"
    r"|Connection is not available|CallNotPermitted|RequestNotPermitted|CircuitBreaker|Bulkhead"
    r"|[Pp]ool (?:exhausted|empty)|short-circuited and|could not be queued for execution|could not acquire a semaphore"
    r"|Deadlock|lock wait|Connection (?:refused|reset)|UnknownHost|No route to host"
)


# Errors that librdkafka, KafkaJS, Sarama and similar clients return to an application if a request to a broker fails.
_OF_A_CLIENT = re.compile(r"(?i:kafka)|\b(?:Local|Broker): ")


def _is_of_kafka(error: ev.ExceptionLogged) -> bool:
    if error.speaker.thread is None:
        return _OF_A_CLIENT.search(f"{error.exception or ''} {error.detail}") is not None
    return (error.exception or "").startswith("org.apache.kafka.")


def behind_late_poll(errors: Sequence[ev.ExceptionLogged]) -> tuple[Link, ...]:
    """Return the calls that failed in the polling thread while it did not poll, most frequent first.

    Go, Node.js and .NET do not log threads: any part of the process may have made such a call.
    """
    gave_up = [e for e in errors if _GAVE_UP.search(f"{e.exception or ''} {e.detail}") and not _is_of_kafka(e)]
    if not gave_up:
        return ()
    kinds = [e.exception for e in gave_up]
    alike = [e for e in gave_up if e.exception == max(kinds, key=kinds.count)]
    name = (alike[0].exception or "").rpartition(".")[2] or "an error"
    often = f" {len(alike)} times" if len(alike) > 1 else ""
    detail = f": {alike[-1].detail}" if alike[-1].detail else ""
    named = alike[0].speaker.thread is not None
    who, confidence = ("its polling thread", 0.75) if named else ("its process, on a thread without a name,", 0.5)
    return (Link("exception", f"{who} logged {name}{often} before it was late{detail}", confidence, alike[-3:]),)


def waiting_in(stack: ev.ThreadStack) -> str | None:
    """Return `waited in java.net.Socket.connect` or `was blocked on a lock (com.acme.Cache)`; None if running."""
    called = method_of(stack.called) if stack.called else None
    if stack.state == "BLOCKED":
        return f"was blocked on a lock ({stack.waits_for or 'of an unnamed object'})"
    if called is None:
        return None
    native = stack.top is not None and "Native Method" in stack.top
    return f"waited in {called}" if native or stack.state not in ("RUNNABLE", None) else f"called {called}"


def method_of(frame: str) -> str:
    """Return the method of a frame: `com.acme.Rates.lookUp` for `com.acme.Rates.lookUp(Rates.java:42)`."""
    return frame.partition("(")[0]


def behind_last_lines(lines: Sequence[Event]) -> tuple[Link, ...]:
    """Return why a broker ended, from the last lines that it or its JVM logged."""
    for line in lines:
        if isinstance(line, ev.ProcessDied) and (links := behind_end((), line)):
            return links
        if isinstance(line, ev.BrokerStopped) and line.fault is not None:
            if line.fault == "log directories":
                why = "it shut itself down because all of its log directories failed"
                return (Link("disk-failed", why, 0.97, (line,)), *_behind_disk(lines))
            return (Link("crashed", f"it ended itself after a {line.fault}", 0.97, (line,)),)
        # KafkaThread logs what ended one of its threads; after an OutOfMemoryError the JVM may run on until killed.
        if isinstance(line, ev.ExceptionLogged) and (line.exception or "").endswith("OutOfMemoryError"):
            error = ": ".join(filter(None, ("OutOfMemoryError", line.detail)))
            return (Link("out-of-memory", f"just before its last line it logged {error}", 0.9, (line,)),)
    return ()


def lost_session(lines: Sequence[ev.BrokerSessionLost], others: Sequence[str] = ()) -> tuple[Link, ...]:
    """Return why the cluster considered a broker dead: its lost session, and possibly an overloaded controller.

    `others` are brokers that heard nothing from ZooKeeper at the same time.
    """
    if not lines:
        return ()
    peer, own = lines[0].peer, [e for e in lines if e.why != "overloaded"]
    overloaded = [e for e in lines if e.why == "overloaded"]
    silent_ms = max((e.silent_ms or 0 for e in lines), default=0)
    if peer == "ZooKeeper":
        heard = f"; it had heard nothing from it for {seconds(silent_ms)}" if silent_ms else ""
        why = f"its session with ZooKeeper expired{heard}"
        if others:
            why += f"; {listed(others)} heard nothing from it at the same time: ZooKeeper did not respond"
    else:
        errors = sorted({e.error for e in own if e.error is not None})
        failed = f" ({', '.join(errors)})" if errors else ""
        why = f"its heartbeats did not get through to the controller{failed}, which fenced it"
    # An expired session is more specific than a retry.
    shown = sorted(own or overloaded, key=lambda e: e.why != "expired")[:4]
    links = [Link("session-lost", why, 0.95, shown)]
    if overloaded:
        why = "the controller could not keep up: its queue of events was overloaded"
        links.append(Link("controller-overloaded", why, 0.9, overloaded[:3]))
    return tuple(links)


def _behind_disk(lines: Iterable[Event]) -> tuple[Link, ...]:
    """Return why log directories failed: the disk was full, or the kernel remounted it read-only."""
    for line in lines:
        if isinstance(line, ev.ExceptionLogged) and line.disk_full:
            return (Link("disk-full", "its disk was full: it logged No space left on device", 0.95, (line,)),)
        if isinstance(line, ev.HostDisturbed) and line.what == "disk-failed":
            why = f"the kernel made the file system of {line.device} read-only after an error"
            return (Link("disk-read-only", why, 0.9, (line,)),)
    return ()


def operation_of(stop: ev.ThreadsStopped) -> str:
    """Return why the threads were stopped, as ` (Full GC)`; empty if the line does not name it."""
    return f" ({stop.operation})" if stop.operation else ""


def is_full(stop: ev.ThreadsStopped | ev.ProcessDied) -> bool:
    """True if a collection left nearly the whole heap in use."""
    return bool(stop.size_kib) and (stop.after_kib or 0) * 10 >= (stop.size_kib or 0) * _FULL_IN_TENTHS


def heap_after(stop: ev.ThreadsStopped | ev.ProcessDied) -> str | None:
    """Return the heap in use after a collection, as `3.8 of 4.0 GiB` (in MiB below 1 GiB)."""
    if stop.after_kib is None or not stop.size_kib:
        return None
    if stop.size_kib >= _KIB_A_GIB:
        return f"{stop.after_kib / _KIB_A_GIB:.1f} of {stop.size_kib / _KIB_A_GIB:.1f} GiB"
    return f"{stop.after_kib / 1024:,.0f} of {stop.size_kib / 1024:,.0f} MiB"


def _memory(kib: int) -> str:
    return f"{kib / _KIB_A_GIB:.1f} GiB" if kib >= _KIB_A_GIB else f"{kib / 1024:,.0f} MiB"


def advice_on_stopped_threads(stop: ev.ThreadsStopped) -> Advice:
    """Return advice against long stops of a JVM."""
    stood = seconds(stop.stopped_ms)
    if stop.stopped_ms == 0:
        return Advice(
            action="Give {who} a larger heap (-Xmx), or find what fills it: a heap dump shows what is kept.",
            why="Its GC log ends in a full collection.",
        )
    if is_full(stop):
        return Advice(
            action="Give {who} a larger heap (-Xmx), or find what fills it: a heap dump shows what is kept.",
            why=f"{heap_after(stop)} were still in use after a collection of {stood}.",
            cost="A larger heap takes memory from the page cache and other processes of the host.",
        )
    if stop.what == "stall":
        return Advice(
            action="Check CPU throttling (cgroup nr_throttled), swapping and collections of {who}.",
            why=f"HikariCP's housekeeper in it ran {stood} late (thread starvation, or a clock that leapt).",
        )
    if stop.what == "gc-pause":
        return Advice(
            action="Shorten the collections: another collector (G1, ZGC), fewer live objects, enough CPU.",
            why=f"One {stop.operation or 'collection'} took {stood}.",
        )
    return Advice(
        action="Find what asked for that safepoint (heap or thread dump, class redefinition) or kept the JVM from its "
        "CPU meanwhile.",
        why=f"The JVM stopped all threads for {stood}{f' for {stop.operation}' if stop.operation else ''}.",
    )


def advice_on_slow_call(links: Sequence[Link]) -> tuple[Advice, ...]:
    """Return advice on the call in which the polling thread was blocked, or that failed."""
    stack = links[0].lines[0] if links else None
    if not isinstance(stack, ev.ThreadStack):
        return advice_on(links)
    method = method_of(stack.frames[0])
    return (
        Advice(
            action=f"Give what {method} calls a timeout well below max.poll.interval.ms, or move that call out of "
            "the poll loop.",
            why=" ".join(link.why for link in links),
        ),
    )


def advice_on(links: Sequence[Link]) -> tuple[Advice, ...]:
    """Return advice on the last of these links; empty if it was planned, or there is no advice for it."""
    first = links[0] if links else None
    if first is not None and isinstance(stop := first.lines[0], ev.ThreadsStopped):
        return (advice_on_stopped_threads(stop),)
    last = next((link for link in reversed(links) if link.what not in _PLANNED), None)
    return (Advice(action=glossary().links[last.what].remedy, why=last.why),) if last is not None else ()
