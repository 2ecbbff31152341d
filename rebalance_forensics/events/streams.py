"""Kafka Streams: states, tasks, assignments, follow-ups, threads, shutdown of the application."""

from __future__ import annotations

from typing import Literal

from rebalance_forensics.events.base import Assignment, Event

FollowUp = Literal["cooperative", "probing", "version-probing", "endpoint", "shutdown", "immediate"]


class StreamsStateChanged(Event, frozen=True, kw_only=True):
    """A KafkaStreams client ("stream-client [x] State transition from A to B"). `client` is its id."""

    client: str | None = None
    before: str | None = None
    after: str | None = None


class StreamThreadStateChanged(Event, frozen=True, kw_only=True):
    """A StreamThread changed its state; `speaker.thread` is its name."""

    thread: str | None = None
    before: str | None = None
    after: str | None = None


class StreamsParticipants(Event, frozen=True, kw_only=True):
    """The leader lists the participants: process id -> member ids of its consumers (also the multi-line form)."""

    participants: Assignment = ()
    clients: int | None = None
    consumers: int | None = None


class StreamsAssignmentComputed(Event, frozen=True, kw_only=True):
    """The leader assigned tasks to processes: `assignment` the active ones, `standby` standbys and warm-ups."""

    unread = "The leader's plan by process; the members' own TasksAssigned show what became of it."

    assignment: Assignment = ()
    standby: Assignment = ()
    tasks: int | None = None
    stateful: int | None = None
    clients: int | None = None
    probing: bool | None = None


class ConsumerTasksAssigned(Event, frozen=True, kw_only=True):
    """The leader's "Client … per-consumer assignment": the tasks that each consumer owned, gets and revokes."""

    unread = "The leader's plan by consumer; what each thread then took is in TasksAssigned."

    client: str | None = None
    owned_active: Assignment = ()
    owned_standby: Assignment = ()
    assigned_active: Assignment = ()
    assigned_standby: Assignment = ()
    revoking_active: Assignment = ()


class AssignmentStability(Event, frozen=True, kw_only=True):
    """The leader reports whether the assignment is stable or a follow-up rebalance is needed."""

    stable: bool


class FollowUpRequested(Event, frozen=True, kw_only=True):
    """The leader requests a follow-up rebalance from a member (`scheduled_at` epoch ms; None: immediately)."""

    kind: FollowUp
    by: str | None = None
    scheduled_at: int | None = None


class FollowUpScheduled(Event, frozen=True, kw_only=True):
    """A member was told of a follow-up (`scheduled_at` epoch ms; None: immediately), or of none (`kind` None)."""

    kind: FollowUp | None = None
    scheduled_at: int | None = None
    endpoint: str | None = None


class FollowUpTriggered(Event, frozen=True, kw_only=True):
    """A member triggers the follow-up now; `scheduled_at` is 0 for an immediate one."""

    scheduled_at: int | None = None


class VersionProbed(Event, frozen=True, kw_only=True):
    """Version probing: a leader received a newer subscription version, or a member was told to use an older one."""

    sent: int | None = None
    received: int | None = None
    by_leader: bool = False


class TaskWarmedUp(Event, frozen=True, kw_only=True):
    """A stateful task is warming up on its new owner: still a standby, or caught up."""

    unread = "Why a task is not active yet; the probing rebalances that follow are read instead."

    task: str | None = None
    consumer: str | None = None


class TasksAssigned(Event, frozen=True, kw_only=True):
    """A thread received its new tasks ("Handle new assignment with: …").

    KIP-1071 clients log "Assigned tasks with local epoch …"; then `member` and `epoch` are set, `revoking` and
    `owned_warmup` may be, and `ready` is False while the coordinator waits for more members.
    """

    active: tuple[str, ...] = ()
    standby: tuple[str, ...] = ()
    warmup: tuple[str, ...] = ()
    owned_active: tuple[str, ...] = ()
    owned_standby: tuple[str, ...] = ()
    owned_warmup: tuple[str, ...] = ()
    revoking: tuple[str, ...] = ()
    member: str | None = None
    epoch: int | None = None
    ready: bool | None = None
    ms: int | None = None


class TasksLost(Event, frozen=True, kw_only=True):
    """A thread lost its tasks: it missed a rebalance or was fenced."""

    active: tuple[str, ...] = ()
    standby: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    state: str | None = None
    ms: int | None = None


class TasksRevoked(Event, frozen=True, kw_only=True):
    """A thread revoked tasks; `ms` is how long that took."""

    active: tuple[str, ...] = ()
    standby: tuple[str, ...] = ()
    ms: int | None = None


class TasksCorrupted(Event, frozen=True, kw_only=True):
    """The local state of tasks is corrupt and is rebuilt; `rebalancing` if the thread rejoins for it."""

    tasks: tuple[str, ...] = ()
    rebalancing: bool = False


class ThreadFenced(Event, frozen=True, kw_only=True):
    """A thread missed a rebalance and was fenced: it closes all its tasks and rejoins."""

    task: str | None = None


class StandbysUnassigned(Event, frozen=True, kw_only=True):
    """The leader could not place `missing` of a task's `wanted` standbys."""

    unread = "Too few instances for the standbys: it costs recovery time, and causes no rebalance."

    task: str | None = None
    missing: int | None = None
    wanted: int | None = None


class TaskStateChanged(Event, frozen=True, kw_only=True):
    """One task was initialized, restored, suspended, closed or recycled; `speaker.task` names it."""

    unread = "A task's life on one thread: no member comes, goes or waits for it."

    state: str
    task: str | None = None


class RestorationReported(Event, frozen=True, kw_only=True):
    """State restoration: in progress, finished for a changelog, or finished for all tasks after `ms`."""

    phase: Literal["started", "in-progress", "finished"]
    ms: int | None = None
    changelog: str | None = None
    records: int | None = None


class ThreadAdded(Event, frozen=True, kw_only=True):
    """A StreamThread was added or replaced (`replacing`: the uncaught exception handler chose REPLACE_THREAD).

    `exception` is the class of the exception that ended the old thread, `detail` its message.
    """

    thread: str | None = None
    replacing: bool = False
    exception: str | None = None
    detail: str | None = None


class ThreadRemoved(Event, frozen=True, kw_only=True):
    """A StreamThread was removed, or shut down."""

    thread: str | None = None
    phase: Literal["removing", "stopping", "stopped"] = "removing"


class ThreadFailed(Event, frozen=True, kw_only=True):
    """An uncaught exception ended a thread; `response` is the handler's choice."""

    thread: str | None = None
    exception: str | None = None
    detail: str | None = None
    response: str | None = None


class ShutdownRequested(Event, frozen=True, kw_only=True):
    """An instance requests the shutdown of the whole application (`asking`), or was told that another one did."""

    asking: bool
    member: str | None = None
    error: str | None = None


class SourceTopicsMissing(Event, frozen=True, kw_only=True):
    """Source topics of the topology are missing or not co-partitioned, or its `internal` topics are missing."""

    topics: tuple[str, ...] = ()
    internal: bool = False
    detail: str | None = None


TopologyState = Literal["initialized", "stale", "current", "being-configured", "complete"]
"""What a coordinator logs of a streams group's topology; `complete`: its internal topics exist."""


class StreamsStatusReported(Event, frozen=True, kw_only=True):
    """KIP-1071: status codes of the coordinator, topology and configuration changes.

    `missing_topics` are source topics that do not exist, `internal_topics` changelog and repartition topics that do not
    exist, and `misfit_topics` those with other partitions than the topology expects. `shutdown_by` is the id of the
    member that asked the whole application to shut down.
    """

    detail: str | None = None
    topology: TopologyState | None = None
    topology_epoch: int | None = None
    missing_topics: tuple[str, ...] = ()
    internal_topics: tuple[str, ...] = ()
    misfit_topics: tuple[str, ...] = ()
    shutdown_by: str | None = None
