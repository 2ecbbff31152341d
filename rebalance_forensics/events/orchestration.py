"""What Kubernetes, its kubelets and autoscalers, and Docker report of containers, workloads and nodes."""

from __future__ import annotations

from typing import Literal

from rebalance_forensics.events.base import Event


class ContainerReported(Event, frozen=True, kw_only=True):
    """What was done to a container or a pod, or seen there.

    `name` is the pod's, of Docker the container's, of containerd its id. For a container of Compose, `namespace` is its
    project.
    `what` is `ended` with its exit code, `stopping` on request, `signalled`, `oom-kill` at its memory limit,
    `oom-in-container` where the kernel killed some process of it, which need not have ended it, `probe-failed`,
    `killed-by-probe`, `evicted` or `preempted` with the reason in `detail`, `running` since the time of the line,
    `back-off` before the next restart, `not-pulled` where its image cannot be had, or `node-not-ready` where nothing is
    heard of its node any more.
    """

    what: Literal[
        "ended", "stopping", "signalled", "oom-kill", "probe-failed", "killed-by-probe", "evicted", "preempted",
        "running", "back-off", "not-pulled", "oom-in-container", "node-not-ready",
    ]  # fmt: skip
    name: str
    container: str | None = None
    namespace: str | None = None
    node: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    probe: Literal["liveness", "readiness", "startup"] | None = None
    short_of: str | None = None
    """What its node was low on as it was evicted: memory, ephemeral-storage."""
    detail: str | None = None
    count: int = 1
    container_id: str | None = None
    task: str | None = None
    """Which process of the container ended, where containerd names it: the container itself, or what `exec` started."""


class ScalingReported(Event, frozen=True, kw_only=True):
    """A controller changed how many pods there are, or which.

    A Deployment scales one of its replica sets, the `workload`, up or down; an autoscaler sets a size (`resized`, with
    its reason); a replica set or a StatefulSet creates or deletes a `pod`.
    """

    what: Literal["scaled-up", "scaled-down", "resized", "pod-created", "pod-deleted"]
    name: str
    namespace: str | None = None
    workload: str | None = None
    pod: str | None = None
    before: int | None = None
    after: int | None = None
    detail: str | None = None


class NodeReported(Event, frozen=True, kw_only=True):
    """A node was lost or came back (`not-ready`, `ready`), was closed for new pods or emptied, or was rebooted.

    `detail` is why it is emptied (`draining`). Its kernel killed a process (`command`, `pid`) as it was
    `out-of-memory`, or as some container on it had its `limit-reached`.
    """

    what: Literal[
        "not-ready", "ready", "cordoned", "uncordoned", "draining", "rebooted", "removed", "low-on-memory",
        "low-on-disk", "out-of-memory", "limit-reached",
    ]  # fmt: skip
    node: str
    detail: str | None = None
    command: str | None = None
    pid: int | None = None


OF_THE_ORCHESTRATOR = (ContainerReported, ScalingReported, NodeReported)
"""Events about pods by their names: no line of a member's log, and none of the host in whose directory they lie."""
