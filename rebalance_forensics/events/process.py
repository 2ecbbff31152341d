"""Processes: start, version, settings, shutdown, exceptions, clocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rebalance_forensics.events.base import Event, Pairs


class VersionReported(Event, frozen=True, kw_only=True):
    """Says "Kafka version: …" / "Kafka Streams version: …": a client, worker or broker object started."""

    version: str
    product: Literal["kafka", "streams", "other"] = "kafka"


class ClientStarted(Event, frozen=True, kw_only=True):
    """A client of another language than Java says that it begins: an application made a consumer."""


class StartTimeReported(Event, frozen=True, kw_only=True):
    """Says "Kafka startTimeMs: …": the same instant as epoch ms, which ties a local clock to UTC."""

    start_time_ms: int


class ClientHeldTwice(Event, frozen=True, kw_only=True):
    """A process makes a consumer while it still holds one of that client id, which nobody closed.

    Since 3.7 "The mbean of App info: […], id: […] already exists"; before, an exception says so (AppInfoParser).
    """


class GrouplessClientReported(Event, frozen=True, kw_only=True):
    """A process makes or closes an AdminClient or a producer, which is a member of no group.

    Its version and start time follow in the lines of AppInfoParser, which do not name the client.
    """

    kind: Literal["AdminClient", "Producer"]
    phase: Literal["made", "closed"]


class ClusterReported(Event, frozen=True, kw_only=True):
    """Says "Cluster ID: …": which cluster a client is connected to, or a broker or controller belongs to."""

    cluster_id: str


class SettingsReported(Event, frozen=True, kw_only=True):
    """A "… values:" dump. `kind` is the class (ConsumerConfig, StreamsConfig, DistributedConfig, KafkaConfig).

    `settings` holds what matters to groups: group.id, client.id, group.instance.id, timeouts, assignors,
    group.protocol, application.id, num.stream.threads, probing and scheduled delays, offsets retention, …
    """

    kind: str
    settings: Pairs = ()


def configured_group(settings: Mapping[str, str]) -> str | None:
    """The group that a process's configuration names."""
    named = settings.get("group.id") or settings.get("application.id")
    return None if named in (None, "", "null") else named


class GroupMentioned(Event, frozen=True, kw_only=True):
    """A line names a group and says nothing of its members (a heartbeat, a configuration); told once a log, if at all.

    It keeps a group in the report of which nothing can be judged. A group with any other line of its own needs none.
    """


class BrokerStarted(Event, frozen=True, kw_only=True):
    """A broker started (or its group coordinator did). `brokers` are those a controller saw come at once."""

    broker: int | None = None
    brokers: tuple[int, ...] = ()
    phase: Literal["starting", "started"] = "started"
    cluster_id: str | None = None


class BrokerStopped(Event, frozen=True, kw_only=True):
    """A broker stops (`phase` stopping: controlled shutdown or SIGTERM), has stopped, was fenced or gave up (failed).

    `brokers` are those a controller saw go at once; `fault` is what a broker gave up for. `timed_out` is one that was
    fenced because its session with the controller had timed out, not at its own request.
    """

    broker: int | None = None
    brokers: tuple[int, ...] = ()
    phase: Literal["stopping", "stopped", "fenced", "failed"] = "stopping"
    fault: str | None = None
    timed_out: bool = False


class RegistrationReplayed(Event, frozen=True, kw_only=True):
    """A KRaft controller, in charge or standby, applied a change of a broker's registration (ClusterControlManager).

    A controller that starts applies all changes since its last snapshot, whenever they were: it sees every broker for
    the first time then.
    """

    broker: int
    change: Literal["first seen", "new incarnation", "fenced", "unfenced", "stopping"]


class BrokerSessionLost(Event, frozen=True, kw_only=True):
    """A broker lost its session with ZooKeeper, or its heartbeats do not get through to the controller.

    The cluster then takes it for dead, though it may run on. `silent_ms` is for how long it had heard nothing,
    `error` the controller's answer; an `overloaded` controller says that its own queue of events is too long.
    """

    peer: Literal["ZooKeeper", "the controller"]
    broker: int | None = None
    why: Literal["timed-out", "expired", "refused", "overloaded"] = "timed-out"
    silent_ms: int | None = None
    error: str | None = None


class ConsumerClosed(Event, frozen=True, kw_only=True):
    """A client object was closed ("Kafka consumer has been closed", "App info … unregistered")."""

    phase: Literal["closing", "closed"] = "closed"


class ProcessStopping(Event, frozen=True, kw_only=True):
    """The process says it is going down (signal, shutdown hook, "Stopping …")."""

    what: str | None = None


class ProcessDied(Event, frozen=True, kw_only=True):
    """A process ends without closing its clients, as its virtual machine says. `reason` is its error or its signal.

    `frame` is where it crashed (`C [librocksdbjni.so+0x19d8b]`); `after_kib` of `size_kib` of its heap were in use.
    """

    reason: str | None = None
    frame: str | None = None
    pid: int | None = None
    program: str | None = None
    """Its main class or archive, as its hs_err file prints it."""
    threads: tuple[str, ...] | None = None
    """Those of its threads that are consumers'; None where they are not listed."""
    after_kib: int | None = None
    size_kib: int | None = None
    or_later: bool = False
    """True where its time is that of the line above: the process may have lived on for long without a line."""


class JvmStarted(Event, frozen=True, kw_only=True):
    """A framework says that its application is up, and how long its JVM had run by then."""

    uptime_s: float


class LivenessBroken(Event, frozen=True, kw_only=True):
    """An application declares itself broken, and its liveness probe fails; `detail` is what in it did so."""

    detail: str | None = None


class ThreadsStopped(Event, frozen=True, kw_only=True):
    """A JVM had stopped all its threads for `stopped_ms`, up to the time of the line; heartbeats stand still meanwhile.

    `operation` is what they were stopped for; of a collection, `before_kib` and `after_kib`
    are what it left of the heap, whose size was `size_kib`. Of 0 ms is the start of a full collection.
    """

    what: Literal["gc-pause", "safepoint", "stall"]
    """Of a `stall` only a thread that ran late shows it (HikariCP's housekeeper), in the application's own log."""
    stopped_ms: int
    operation: str | None = None
    before_kib: int | None = None
    after_kib: int | None = None
    size_kib: int | None = None
    as_it_began: bool = False
    """True for a line whose time is that at which the threads were stopped, not at which they went on."""
    uptime_ms: int | None = None
    """How long the JVM had run, where its log prints that."""


class ThreadStack(Event, frozen=True, kw_only=True):
    """Where one thread was when the JVM dumped its threads; its name is that of the speaker's thread.

    `frames` are the topmost of the application, `called` is what these called, `top` the topmost of all. A thread
    `in_poll` waits for records; one that `drives_consumer` has frames of a consumer's loop below the application's.
    JDK 21 to 24 leave its `state` out of what they dump to a file.
    """

    state: str | None = None
    frames: tuple[str, ...] = ()
    called: str | None = None
    top: str | None = None
    waits_for: str | None = None
    in_poll: bool = False
    drives_consumer: bool = False


class ProcessKilled(Event, frozen=True, kw_only=True):
    """The kernel or a supervisor ended a process, or saw it end; the process itself logs nothing of it.

    `signal` is what systemd prints as its status (`9/KILL`, `1/FAILURE`), others as a signal (`SIGKILL`) or exit code;
    `fault` is the kernel's word for a crash. `anon_kib`, `file_kib` and `shmem_kib` of memory were resident as the OOM
    killer chose the process: `at_limit` of a cgroup (`limit_of`, its own or a parent), otherwise for the whole host.
    """

    why: Literal["oom-kill", "killed", "crashed", "exited"]
    by: Literal["kernel", "systemd", "supervisord", "pm2", "upstart"]
    pid: int | None = None
    command: str | None = None
    unit: str | None = None
    signal: str | None = None
    fault: str | None = None
    anon_kib: int | None = None
    file_kib: int | None = None
    shmem_kib: int | None = None
    at_limit: bool = False
    limit_of: str | None = None

    @property
    def used_kib(self) -> int | None:
        """All of its resident memory; ZGC's heap is shared memory, which Linux before 4.5 counts with files."""
        if self.anon_kib is None or self.file_kib is None:
            return None
        return self.anon_kib + self.file_kib + (self.shmem_kib or 0)


class HostDisturbed(Event, frozen=True, kw_only=True):
    """The host of a process stood still or lost its network: `suspended` until it `resumed`, its link went down, up.

    A `cpu-stuck` line (soft lockup) is written while it lasts: `stuck_s` is for how long by then. `stepped_ms` is by
    how much its clock was set forward, or back below 0; `device` the disk that became read-only.
    """

    what: Literal["suspended", "resumed", "link-down", "link-up", "cpu-stuck", "clock-stepped", "disk-failed"]
    stuck_s: int | None = None
    stepped_ms: int | None = None
    device: str | None = None
    interface: str | None = None
    command: str | None = None
    pid: int | None = None


class UnitStopping(Event, frozen=True, kw_only=True):
    """A supervisor begins to stop a unit because somebody told it to; systemd may print its description alone."""

    unit: str
    by: Literal["systemd", "supervisord", "pm2"]


OF_THE_HOST = (ThreadsStopped, ThreadStack, ProcessKilled, HostDisturbed, UnitStopping)
"""What a JVM, the kernel and supervisors write of a process in logs of their own: no line of its application's log."""


class ExceptionLogged(Event, frozen=True, kw_only=True):
    """An error with an exception that is nobody's typed event. `exception` is the class, `detail` its message.

    `assigning`: its stack trace passes through the leader's assignment, which clients before 2.5 log in no other way.
    """

    exception: str | None = None
    detail: str | None = None
    assigning: bool = False
