"""Processes: start, version, settings, shutdown, exceptions, clocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rebalance_forensics.events.base import Event, Pairs


class VersionReported(Event, frozen=True, kw_only=True):
    """The line "Kafka version: …" / "Kafka Streams version: …": a client, worker or broker object was created."""

    version: str
    product: Literal["kafka", "streams", "other"] = "kafka"


class ClientStarted(Event, frozen=True, kw_only=True):
    """A non-Java client started: an application created a consumer."""


class StartTimeReported(Event, frozen=True, kw_only=True):
    """The line "Kafka startTimeMs: …": the time of the line in epoch ms, which relates a local clock to UTC."""

    start_time_ms: int


class ClientHeldTwice(Event, frozen=True, kw_only=True):
    """A process creates a consumer while another one with the same client id is still open.

    Since 3.7 "The mbean of App info: […], id: […] already exists", before that an exception (AppInfoParser).
    """


class GrouplessClientReported(Event, frozen=True, kw_only=True):
    """A process creates or closes an AdminClient or a producer, which belongs to no group.

    Its version and start time follow in lines of AppInfoParser, which do not name the client.
    """

    kind: Literal["AdminClient", "Producer"]
    phase: Literal["made", "closed"]


class ClusterReported(Event, frozen=True, kw_only=True):
    """The line "Cluster ID: …": the cluster of a client, broker or controller."""

    cluster_id: str


class SettingsReported(Event, frozen=True, kw_only=True):
    """A logged configuration ("… values:"); `kind` is its class (ConsumerConfig, StreamsConfig, KafkaConfig, …).

    `settings` holds those that matter to groups: group.id, client.id, group.instance.id, timeouts, assignors,
    group.protocol, application.id, num.stream.threads, probing and scheduled delays, offsets retention, …
    """

    kind: str
    settings: Pairs = ()


def configured_group(settings: Mapping[str, str]) -> str | None:
    """The group in a configuration."""
    named = settings.get("group.id") or settings.get("application.id")
    return None if named in (None, "", "null") else named


class GroupMentioned(Event, frozen=True, kw_only=True):
    """A line that names a group but says nothing about its members (a heartbeat, a configuration).

    At most one for each log and group, so that the report lists groups that cannot be judged. None for a group with
    other lines.
    """


class BrokerStarted(Event, frozen=True, kw_only=True):
    """A broker or its group coordinator started; `brokers` are those that a controller saw register at once.

    `incarnation` is the id that a KRaft broker registers with, new at each start; `is_first` if the controller had no
    registration of this broker before. `unfenced` if the controller granted it, not if it only replayed the record.
    """

    broker: int | None = None
    brokers: tuple[int, ...] = ()
    phase: Literal["starting", "started"] = "started"
    cluster_id: str | None = None
    incarnation: str | None = None
    is_first: bool = False
    unfenced: bool = False


class BrokerStopped(Event, frozen=True, kw_only=True):
    """A broker is stopping (controlled shutdown or SIGTERM), has stopped, was fenced or failed (`phase`).

    `brokers` are those that a controller saw leave at once; `fault` is why a broker failed. `timed_out` if it was
    fenced because its session with the controller timed out, not at its own request.
    """

    broker: int | None = None
    brokers: tuple[int, ...] = ()
    phase: Literal["stopping", "stopped", "fenced", "failed"] = "stopping"
    fault: str | None = None
    timed_out: bool = False


class RegistrationReplayed(Event, frozen=True, kw_only=True):
    """A KRaft controller, active or standby, replayed a change of a broker's registration (ClusterControlManager).

    A controller that starts replays all changes since its last snapshot, however old: it then sees every broker for the
    first time.
    """

    broker: int
    change: Literal["first seen", "new incarnation", "fenced", "unfenced", "stopping"]


class BrokerSessionLost(Event, frozen=True, kw_only=True):
    """A broker lost its session with ZooKeeper, or its heartbeats do not reach the controller.

    The cluster then considers it dead, although it may keep running. `silent_ms` is how long it received nothing,
    `error` the controller's response; an `overloaded` controller reports that its own event queue is too long.
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
    """The process is shutting down (signal, shutdown hook, "Stopping …")."""

    what: str | None = None


class ProcessDied(Event, frozen=True, kw_only=True):
    """A process ended without closing its clients, as logged by its JVM; `reason` is the error or the signal.

    `frame` is where it crashed (`C [librocksdbjni.so+0x19d8b]`); `after_kib` of `size_kib` of its heap were in use.
    """

    reason: str | None = None
    frame: str | None = None
    pid: int | None = None
    program: str | None = None
    """Its main class or archive, as in its hs_err file."""
    threads: tuple[str, ...] | None = None
    """Its consumer threads; None if they are not listed."""
    after_kib: int | None = None
    size_kib: int | None = None
    out_of_memory: Literal["heap", "other"] | None = None
    """What the JVM ran out of, if it ended itself because of an OutOfMemoryError (`reason`)."""
    or_later: bool = False
    """True if the time is that of the line above: the process may have run much longer without logging."""


class JvmStarted(Event, frozen=True, kw_only=True):
    """A framework reports that its application has started, and how long its JVM had been running."""

    uptime_s: float


class LivenessBroken(Event, frozen=True, kw_only=True):
    """An application declared itself broken, so that its liveness probe fails; `detail` is the component."""

    detail: str | None = None


class ThreadsStopped(Event, frozen=True, kw_only=True):
    """A JVM had stopped all its threads, and so its heartbeats, for `stopped_ms` up to the time of the line.

    `operation` is why; for a collection, `before_kib` and `after_kib` of the heap of `size_kib` were in use. 0 ms marks
    the start of a full collection.
    """

    what: Literal["gc-pause", "safepoint", "stall"]
    """A `stall` is shown only by a thread that ran late (HikariCP's housekeeper), in the application's own log."""
    stopped_ms: int
    operation: str | None = None
    before_kib: int | None = None
    after_kib: int | None = None
    size_kib: int | None = None
    as_it_began: bool = False
    """True if the time of the line is when the threads were stopped, not when they resumed."""
    uptime_ms: int | None = None
    """How long the JVM had been running, if its log prints that."""


class ThreadStack(Event, frozen=True, kw_only=True):
    """The stack of a thread in a thread dump; `speaker.thread` is its name.

    `frames` are the topmost of the application, `called` is what these called, `top` the topmost of all. A thread
    `in_poll` waits for records; one that `drives_consumer` has frames of a poll loop below the application's. JDK 21 to
    24 omit the `state` in dumps to a file.
    """

    state: str | None = None
    frames: tuple[str, ...] = ()
    called: str | None = None
    top: str | None = None
    waits_for: str | None = None
    in_poll: bool = False
    drives_consumer: bool = False


class ProcessKilled(Event, frozen=True, kw_only=True):
    """The kernel or a supervisor ended a process or saw it end; the process itself logs nothing about it.

    `signal` is the status that systemd prints (`9/KILL`, `1/FAILURE`), or a signal (`SIGKILL`) or exit code; `fault` is
    the kernel's word for a crash. `anon_kib`, `file_kib` and `shmem_kib` of memory were resident when the OOM killer
    chose the process: `at_limit` of a cgroup (`limit_of`, its own or a parent), otherwise for the whole host.
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
        """Its total resident memory; ZGC's heap is shared memory, which Linux before 4.5 counts with files."""
        if self.anon_kib is None or self.file_kib is None:
            return None
        return self.anon_kib + self.file_kib + (self.shmem_kib or 0)


class HostDisturbed(Event, frozen=True, kw_only=True):
    """The host of a process was suspended (until `resumed`), lost its network link, or had a clock or disk problem.

    A `cpu-stuck` line (soft lockup) is logged while it lasts: `stuck_s` is how long it had lasted. `stepped_ms` is how
    far its clock was set forward, negative if back; `device` the disk that became read-only.
    """

    what: Literal["suspended", "resumed", "link-down", "link-up", "cpu-stuck", "clock-stepped", "disk-failed"]
    stuck_s: int | None = None
    stepped_ms: int | None = None
    device: str | None = None
    interface: str | None = None
    command: str | None = None
    pid: int | None = None


class UnitStopping(Event, frozen=True, kw_only=True):
    """A supervisor stops a unit on request; systemd may print only its description."""

    unit: str
    by: Literal["systemd", "supervisord", "pm2"]


class LinesDropped(Event, frozen=True, kw_only=True):
    """A syslog daemon, a log shipper or a logging library logs that it dropped lines of others.

    `which` is `before` for lines that should stand shortly before it in the same log, `after` for those from here on,
    `collected` for lines of any time before it in the logs that a shipper collects on its host. `count` of them are
    lost, of the process `pid` or the systemd unit `unit`.
    """

    dropped_by: str
    which: Literal["before", "after", "collected"] = "before"
    count: int | None = None
    pid: int | None = None
    unit: str | None = None


OF_THE_HOST = (ThreadsStopped, ThreadStack, ProcessKilled, HostDisturbed, UnitStopping)
"""What a JVM, the kernel and supervisors log about a process, outside the log of its application."""


class ExceptionLogged(Event, frozen=True, kw_only=True):
    """An error with an exception that no other event covers; `exception` is the class, `detail` its message.

    `assigning`: the stack trace contains the leader's assignment, the only sign of it in clients before 2.5.
    `stops_consumer`: KafkaJS stops the consumer that threw it. `error` is the name in Errors of an exception that only
    members of a group get, `request` and `answer` are the request that failed for good and the coordinator's message,
    `resource` and `names` what a client was not authorized to access, `max_size` the maximum size of a full group.
    """

    exception: str | None = None
    detail: str | None = None
    assigning: bool = False
    stops_consumer: bool = False
    error: str | None = None
    request: Literal["JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit"] | None = None
    answer: str | None = None
    resource: Literal["group", "topic", "unknown"] = "unknown"
    names: tuple[str, ...] = ()
    max_size: int | None = None
    disk_full: bool = False
