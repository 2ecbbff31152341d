"""What Kubernetes, its kubelets and autoscalers, and Docker report about containers, workloads and nodes."""

from __future__ import annotations

from typing import Literal

from rebalance_forensics.events.base import Event


class ContainerReported(Event, frozen=True, kw_only=True):
    """What happened to a container or a pod.

    `name` is that of the pod, for Docker that of the container, for containerd its id. For a container of Compose,
    `namespace` is its project.
    `what` is `ended` with its exit code, `stopping` on request, `signalled`, `oom-kill` at its memory limit,
    `oom-in-container` if the kernel killed a process in it, which need not have ended it, `probe-failed`,
    `killed-by-probe`, `evicted` or `preempted` with the reason in `detail`, `running` since the time of the line,
    `back-off` before the next restart, `not-pulled` if its image is not available, or `node-not-ready` if its node
    stopped reporting.
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
    """The resource that its node ran low on when it was evicted: memory, ephemeral-storage."""
    detail: str | None = None
    count: int = 1
    container_id: str | None = None
    task: str | None = None
    """The process of the container that ended, if containerd names it: its main process or one that `exec` started."""


class ScalingReported(Event, frozen=True, kw_only=True):
    """A controller created, deleted or scaled pods.

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
    """A node was lost or came back (`not-ready`, `ready`), was cordoned or drained, or was rebooted.

    `detail` is why it is drained. Its kernel killed a process (`command`, `pid`) because the node was `out-of-memory`
    or a container had its `limit-reached`.
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
"""Events about pods by name: lines neither of a member's log nor about the host in whose directory they are."""
