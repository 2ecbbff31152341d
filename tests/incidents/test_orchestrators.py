"""What runtimes and orchestrators write in their own words, beside members recorded with lab/."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import RootCause
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

SAMPLES = Path(__file__).parents[2] / "sample_logs"
KILLED = Path(__file__).parent / "jvms" / "memory-limit.tgz"
ID = "22289fcb84d31745188db683631c7e49a92b4539fb1b49d5e46a3021ef724ece"
PROBE = "5e4216d6ef213eec558433a60e31e102519bf54938888cf14fa10fd2fcb909d5"
POD = "payments-7d9f8b6c5d-x2x7k"
TASK_EXIT = f"TaskExit event &TaskExit{{{{ContainerID:{ID},ID:{{}},Pid:3,ExitStatus:137,}}}}"
OF_A_KUBELET = f"containers/{POD}_shop_app-{ID}.log"
OF_DOCKER = f"docker/containers/{ID}/{ID}-json.log"


def ctr(topic: str, **event: object) -> str:
    return f"2026-11-26 19:53:54.12398331 +0000 UTC k8s.io {topic} {json.dumps({'container_id': ID, **event})}"


def containerd(message: str) -> str:
    quoted = message.replace('"', '\\"')
    return f'Nov 26 19:53:54 worker-1 containerd[110]: time="2026-11-26T19:53:54.558785038Z" level=info msg="{quoted}"'


def docker(what: str) -> str:
    return f"2026-11-26T19:53:54.123456789Z container {what} {ID} (exitCode=137, image=payments:1, name=billing)"


def event(reason: str, message: str) -> str:
    """As `kubectl get events -o json` prints one."""
    return json.dumps(
        {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": f"{POD}.17f2b1c4e5d6a7b8", "namespace": "shop"},
            "involvedObject": {"kind": "Pod", "namespace": "shop", "name": POD},
            "reason": reason,
            "message": message,
            "source": {"component": "kubelet", "host": "worker-1"},
            "firstTimestamp": "2026-11-26T19:53:54Z",
            "lastTimestamp": "2026-11-26T19:53:54Z",
            "count": 1,
            "type": "Warning",
        }
    )


def status(pod: str) -> str:
    """As `kubectl get pods -o json` prints one whose container was restarted."""
    ended = {
        "containerID": f"containerd://{ID}",
        "exitCode": 137,
        "reason": "OOMKilled",
        "startedAt": "2026-11-26T19:52:40Z",
        "finishedAt": "2026-11-26T19:53:54Z",
    }
    container = {
        "name": "app",
        "image": "payments:1",
        "ready": True,
        "restartCount": 1,
        "state": {"running": {"startedAt": "2026-11-26T19:54:30Z"}},
        "lastState": {"terminated": ended},
    }
    return json.dumps(
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": pod, "namespace": "shop"},
            "spec": {"nodeName": "worker-1"},
            "status": {"phase": "Running", "containerStatuses": [container]},
        }
    )


def the_cause(folder: Path, place: str, *lines: str) -> RootCause:
    """Of the member that was killed, its log in another place and these lines beside it."""
    with tarfile.open(KILLED) as archive:
        for member in archive:  # extraction filters came with 3.11.4 (PEP 706)
            archive.extract(member, folder)
    log = folder / "logs" / place
    log.parent.mkdir(parents=True)
    (folder / "logs/node-2/app.log").rename(log)
    shutil.rmtree(folder / "logs/node-2")
    (folder / "logs" / "runtime.log").write_text("".join(f"{line}\n" for line in lines))
    incidents = analyze([str(folder / "logs")], AnalyzeOptions(engine="local")).incidents
    (incident,) = (i for i in incidents if i.severity != "info")
    cause = incident.root_causes[0]
    assert (cause.cause, [culprit.name for culprit in cause.culprits]) == ("process-crash", ["payments-2"])
    return cause


OOM_EVENTS = {
    "ctr oom": (OF_A_KUBELET, ctr("/tasks/oom")),
    "containerd oom": (OF_A_KUBELET, containerd(f'TaskOOM event container_id:"{ID}"')),
    "docker oom": (OF_DOCKER, docker("oom")),
}


@pytest.mark.parametrize(
    ("place", "line", "behind"),
    [
        (OF_A_KUBELET, ctr("/tasks/exit", id=ID, pid=23094, exit_status=137), ["exited"]),
        (OF_A_KUBELET, containerd(TASK_EXIT.format(ID)), ["exited"]),
        (OF_A_KUBELET, event("Preempted", "Preempted by pod 8c19f8a1 on node worker-1"), ["preempted"]),
        (
            OF_A_KUBELET,
            event("Evicted", "The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi."),
            ["evicted", "node-short"],
        ),
        (OF_A_KUBELET, status(POD), ["oom-kill"]),
        (OF_DOCKER, docker("die"), ["exited"]),
    ],
    ids=["ctr exit", "containerd 1.6", "preempted", "evicted", "a pod's status", "docker die"],
)
def test_a_runtime_that_logs_the_id_of_its_container_shows_the_cause_behind_the_end_of_the_member(
    tmp_path: Path, place: str, line: str, behind: list[str]
) -> None:
    cause = the_cause(tmp_path, place, line)
    assert ([link.what for link in cause.behind], cause.confidence > 0.95) == (behind, True)


@pytest.mark.parametrize("runtime", OOM_EVENTS)
def test_a_kill_of_some_process_in_a_container_is_at_most_a_suggestion_of_why_the_container_ended(
    tmp_path: Path, runtime: str
) -> None:
    place, oom = OOM_EVENTS[runtime]
    probe = the_cause(tmp_path / "probe", place, ctr("/tasks/exit", id=PROBE, exit_status=137), oom)
    assert (probe.behind, probe.confidence < 0.75) == ((), True)
    end = docker("die") if place == OF_DOCKER else ctr("/tasks/exit", id=ID, exit_status=137)
    behind = the_cause(tmp_path / "container", place, oom, end).behind
    assert [(link.what, link.confidence) for link in behind] == [("exited", 0.95), ("oom-kill", 0.6)]


@pytest.mark.parametrize(
    "line",
    [
        ctr("/tasks/exit", container_id=PROBE, id=PROBE, exit_status=137),
        ctr("/tasks/exit", id=PROBE, exit_status=137),
        containerd(TASK_EXIT.format(PROBE)),
        docker("die").replace(ID, PROBE),
        event("Evicted", "The node was low on resource: memory. ").replace(POD, "payments-7d9f8b6c5d-q8w2z"),
        status("payments-7d9f8b6c5d-q8w2z").replace(ID, PROBE),
    ],
    ids=[
        "another container",
        "a probe",
        "a probe, containerd 1.6",
        "another of Docker",
        "another pod",
        "another's status",
    ],
)
def test_the_end_of_another_container_is_irrelevant(tmp_path: Path, line: str) -> None:
    cause = the_cause(tmp_path, OF_A_KUBELET, line)
    assert (cause.behind, cause.confidence < 0.75) == ((), True)


DAY = "2026-11-21T"
OLD_SET, NEW_SET = "ledger-7d9f8b6c5d", "ledger-6c8d7b5f4c"
OLD_PODS = [f"{OLD_SET}-{end}" for end in ("x2x7k", "q8w2z", "b4xk9")]
NEW_PODS = [f"{NEW_SET}-{end}" for end in ("c5zl2", "m7kjn", "v9dfs")]
RESTARTED_AT = ("02:00:33", "02:00:48", "02:01:03")
Event = dict[str, object]


def as_core(kind: str, name: str, reason: str, message: str, at: str) -> Event:
    """An event of the core API (v1)."""
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": f"{name}.17f2b1c4e5d6a7b8", "namespace": "shop"},
        "involvedObject": {"kind": kind, "namespace": "shop", "name": name, "apiVersion": "apps/v1"},
        "reason": reason,
        "message": message,
        "source": {"component": "deployment-controller"},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
        "type": "Normal",
        "eventTime": None,
    }


def as_events_v1(kind: str, name: str, reason: str, message: str, at: str) -> Event:
    """The event in the form of events.k8s.io/v1, which names its fields differently."""
    return {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": f"{name}.17f2b1c4e5d6a7b8", "namespace": "shop"},
        "eventTime": at.replace("Z", ".123456Z"),
        "reportingController": "deployment-controller",
        "reportingInstance": "deployment-controller-1",
        "action": "Scaling",
        "reason": reason,
        "regarding": {"kind": kind, "namespace": "shop", "name": name, "apiVersion": "apps/v1"},
        "note": message,
        "type": "Normal",
    }


def rolled_out(make: Callable[..., Event], deployment: str = "ledger") -> list[Event]:
    """A Deployment that takes one pod away before it makes the next (maxUnavailable 1, maxSurge 0)."""

    def called(name: str) -> str:
        return name.replace("ledger", deployment)

    found = []
    for step, (at, old, new) in enumerate(zip(RESTARTED_AT, OLD_PODS, NEW_PODS, strict=True)):
        left, came = 2 - step, step + 1
        for kind, name, reason, message in (
            (
                "Deployment",
                "ledger",
                "ScalingReplicaSet",
                f"Scaled down replica set {OLD_SET} from {left + 1} to {left}",
            ),
            ("ReplicaSet", OLD_SET, "SuccessfulDelete", f"Deleted pod: {old}"),
            ("Pod", old, "Killing", "Stopping container ledger"),
            ("Deployment", "ledger", "ScalingReplicaSet", f"Scaled up replica set {NEW_SET} from {step} to {came}"),
            ("ReplicaSet", NEW_SET, "SuccessfulCreate", f"Created pod: {new}"),
        ):
            found.append(make(kind, called(name), reason, called(message), f"{DAY}{at}Z"))
    return found


def rollout_with(folder: Path, *events: Event) -> RootCause:
    """The recorded restart of three members, each log in the directory of the pod that wrote it."""
    logs = shutil.copytree(SAMPLES / "rolling-restart", folder / "logs")
    for node, (old, new) in enumerate(zip(OLD_PODS, NEW_PODS, strict=True), 1):
        text = (logs / f"node-{node}" / "app.log").read_text()
        lines = text.splitlines(keepends=True)
        restart = max(at for at, line in enumerate(lines) if "ConsumerConfig values" in line)
        for pod, part in ((old, lines[:restart]), (new, lines[restart:])):
            (logs / pod).mkdir()
            (logs / pod / "app.log").write_text("".join(part))
        shutil.rmtree(logs / f"node-{node}")
    if events:
        (logs / "events.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": events}, indent=4))
    incidents = analyze([str(logs)], AnalyzeOptions(engine="local")).incidents
    (cause,) = (c for i in incidents for c in i.root_causes[:1] if c.cause not in ("startup", "shutdown"))
    return cause


@pytest.mark.parametrize("make", [as_core, as_events_v1])
def test_a_rollout_of_its_deployment_is_the_cause_behind_the_restart_of_all_members(
    tmp_path: Path, make: Callable[..., Event]
) -> None:
    cause = rollout_with(tmp_path, *rolled_out(make))
    assert (cause.cause, [link.what for link in cause.behind]) == ("rolling-restart", ["stopped", "rollout"])
    assert cause.behind[1].why == f"Deployment ledger was rolled out: replica set {NEW_SET} replaced {OLD_SET}."


def test_a_rollout_of_another_deployment_is_irrelevant(tmp_path: Path) -> None:
    cause = rollout_with(tmp_path / "other", *rolled_out(as_core, "billing"))
    assert cause == rollout_with(tmp_path / "none")
    assert (cause.cause, cause.behind) == ("rolling-restart", ())


def resized(to: int, time: str, why: str = "cpu resource utilization (percentage of request) above target") -> str:
    return (
        f"{DAY}{time}Z   Normal   SuccessfulRescale   horizontalpodautoscaler/etl-prod   New size: {to}; reason: {why}"
    )


def pod_of_set(what: str, pod: str, time: str) -> str:
    done = {"create": "SuccessfulCreate", "delete": "SuccessfulDelete"}[what]
    message = f"{what} Pod {pod} in StatefulSet etl-prod successful"
    return f"{DAY}{time}Z   Normal   {done}   statefulset/etl-prod   {message}"


FLAP = [
    *(resized(4, at) for at in ("03:19:30", "03:19:53", "03:20:12")),
    *(resized(2, at, "All metrics below target") for at in ("03:19:37", "03:20:01")),
]
PODS = [
    pod_of_set(what, pod, at)
    for what, times in (("create", ("03:19:30", "03:19:53", "03:20:12")), ("delete", ("03:19:37", "03:20:01")))
    for at in times
    for pod in ("etl-prod-3", "etl-prod-4")
]


def flap_with(folder: Path, *rows: str) -> tuple[RootCause, str]:
    logs = shutil.copytree(SAMPLES / "scaling-flap", folder / "logs")
    (logs / "events.txt").write_text("".join(f"{row}\n" for row in rows))
    incidents = analyze([str(logs)], AnalyzeOptions(engine="local")).incidents
    (incident,) = (i for i in incidents if i.root_causes[0].cause == "scaling-flap")
    return incident.root_causes[0], "; ".join(log.needs for log in incident.would_decide)


def test_an_autoscaler_that_scales_a_stateful_set_up_and_down_is_the_cause_behind_the_flap(tmp_path: Path) -> None:
    cause, needs = flap_with(tmp_path, *FLAP, *PODS)
    assert [link.what for link in cause.behind] == ["rescaled", "autoscaler"]
    assert cause.behind[0].why == "StatefulSet etl-prod was scaled 5 times, between 2 and 4 replicas."
    alone, needs_alone = flap_with(tmp_path / "without decisions", *PODS)
    assert (alone.behind, alone.confidence, cause.confidence) == ((), 0.9, 0.97)
    assert (needs, needs_alone) == ("", "the autoscaler's log or events (kubectl get events -A -o json > events.json)")
