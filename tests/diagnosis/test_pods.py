"""What Kubernetes and its autoscalers did to the members' pods: who wanted a stop, and what was killed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.events.base import Speaker
from tests.diagnosis.closings import closes, comes
from tests.diagnosis.expiries import evicted
from tests.story import Story

POD, OTHER = "orders-7d9f8b6c5d-x2x7k", "orders-7d9f8b6c5d-q8w2z"
KILLED = "Terminated pod/{} in shop: Container {} ended with exit code 137 (OOMKilled)"


def in_pods(story: Story, **pods: str) -> Story:
    """The story with clients in pods: their logs have the pods' names."""
    names = {"c-3": POD} | {client.replace("_", "-"): pod for client, pod in pods.items()}
    story.events = [replace(e, speaker=_moved(e.speaker, names)) for e in story.events]
    return story


def _moved(speaker: Speaker, names: dict[str, str]) -> Speaker:
    client, _, rest = speaker.file.partition("/")
    pod = names.get(client)
    return replace(speaker, host=pod, file=f"{pod}/{rest}") if pod else speaker


def reported(story: Story, *lines: tuple[str, str]) -> Story:
    for time, message in lines:
        story.line("events", time, message, logger="io.Kubernetes")
    return story


def of_crash(*lines: tuple[str, str]) -> Incident:
    return reported(in_pods(evicted().goes_on("01:15:00.000")), *lines).the_incident()


def causes_behind(incident: Incident) -> list[str]:
    return [link.what for link in incident.root_causes[0].behind]


def test_a_container_at_its_memory_limit_is_the_cause_behind_the_death_of_its_process() -> None:
    incident = of_crash(("01:09:16.000", KILLED.format(POD, "app")))
    cause = incident.root_causes[0]
    assert (cause.cause, cause.confidence, causes_behind(incident)) == ("process-crash", 0.97, ["oom-kill"])
    assert f"because container app of {POD} was killed at its memory limit (exit code 137)" in incident.summary
    assert cause.advice[0].action.startswith("Raise the memory limit")


def test_the_failed_probe_is_the_cause_behind_the_kubelets_kill() -> None:
    incident = of_crash(
        (
            "01:09:00.000",
            f"Unhealthy pod/{POD} in shop x3: Liveness probe failed: HTTP probe failed with statuscode: 503",
        ),
        ("01:09:16.000", f"Killing pod/{POD} in shop: Container app failed liveness probe, will be restarted"),
    )
    assert causes_behind(incident) == ["killed-by-probe", "probe-failed"]
    assert "because its liveness probe failed 3 times, at last with: HTTP probe failed with" in incident.summary


def test_an_application_that_declared_itself_broken_is_the_cause_behind_its_failed_probe() -> None:
    story = in_pods(evicted().goes_on("01:15:00.000"))
    broken = "Application availability state LivenessState changed from CORRECT to BROKEN: com.acme.RateCache"
    for log in (f"{POD}/app", f"{OTHER}/app"):
        story.line(log, "01:08:55.000", broken, logger="o.s.b.a.ApplicationAvailabilityBean")
    reported(
        story,
        ("01:09:00.000", f"Unhealthy pod/{POD} in shop: Liveness probe failed: HTTP probe failed with statuscode: 503"),
        ("01:09:16.000", f"Killing pod/{POD} in shop: Container app failed liveness probe, will be restarted"),
    )
    incident = story.the_incident()
    assert causes_behind(incident) == ["killed-by-probe", "probe-failed", "liveness-broken"]
    assert "LivenessState to BROKEN (com.acme.RateCache)" in incident.summary


@pytest.mark.parametrize(
    ("container", "links"), [("istio-proxy", ["killed-by-probe"]), ("app", ["killed-by-probe", "probe-failed"])]
)
def test_a_probe_of_a_sidecar_says_nothing_of_the_application(container: str, links: list[str]) -> None:
    incident = of_crash(
        ("01:09:00.000", f"Unhealthy pod/{POD} in shop x3 container {container}: Liveness probe failed: HTTP 503"),
        ("01:09:16.000", f"Killing pod/{POD} in shop: Container app failed liveness probe, will be restarted"),
    )
    assert causes_behind(incident) == links


def test_the_memory_pressure_of_its_node_is_the_cause_behind_an_eviction() -> None:
    low = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi."
    incident = of_crash(("01:09:16.000", f"Evicted pod/{POD} in shop: {low}"))
    assert causes_behind(incident) == ["evicted", "node-short"]
    assert "because its node was low on memory: Threshold quantity: 100Mi, available: 52Mi" in incident.summary


@pytest.mark.parametrize(
    ("time", "pod", "links"),
    [("01:10:35.000", POD, ["node-lost"]), ("01:10:35.000", OTHER, []), ("01:13:35.000", POD, [])],
    ids=["soon after", "another pod's", "long after"],
)
def test_a_node_that_stopped_reporting_is_the_cause_behind_the_silence_of_its_members_and_decides_nothing(
    time: str, pod: str, links: list[str]
) -> None:
    incident, alone = of_crash((time, f"NodeNotReady pod/{pod} in shop: Node is not ready")), of_crash()
    assert causes_behind(incident) == links
    causes = [[(c.cause, c.confidence) for c in each.root_causes] for each in (incident, alone)]
    assert causes[0] == causes[1]


@pytest.mark.parametrize(
    ("time", "message"),
    [
        ("01:09:16.000", KILLED.format(OTHER, "app")),
        ("01:02:00.000", KILLED.format(POD, "app")),
        ("01:09:16.000", KILLED.format(POD, "istio-proxy")),
        ("01:09:16.000", "Evicted pod/billing-0 in shop: The node was low on resource: memory."),
    ],
    ids=["another pod", "another time", "a sidecar", "another workload"],
)
def test_what_happened_to_others_changes_nothing(time: str, message: str) -> None:
    incident, alone = of_crash((time, message)), of_crash()
    assert (incident.summary, causes_behind(incident)) == (alone.summary, [])
    assert incident.root_causes[0].confidence == alone.root_causes[0].confidence


def test_a_stateful_sets_pod_is_tied_only_while_one_namespace_has_it() -> None:
    story = in_pods(evicted().goes_on("01:15:00.000"), c_3="orders-0")
    assert causes_behind(reported(story, ("01:09:16.000", KILLED.format("orders-0", "app"))).the_incident()) == [
        "oom-kill"
    ]
    elsewhere = KILLED.format("orders-0", "app").replace("shop", "staging")
    assert causes_behind(reported(story, ("01:09:16.000", elsewhere)).the_incident()) == []


def test_the_directory_of_a_pods_log_names_its_namespace() -> None:
    def in_directory(namespace: str) -> list[str]:
        story = in_pods(evicted().goes_on("01:15:00.000"), c_3="orders-0")
        file = f"var/log/pods/{namespace}_orders-0_8b0f3f2a-11/app/0.log"
        moved = {"orders-0/app.log": file}
        story.events = [
            replace(e, speaker=replace(e.speaker, file=moved.get(e.speaker.file, e.speaker.file))) for e in story.events
        ]
        return causes_behind(reported(story, ("01:09:16.000", KILLED.format("orders-0", "app"))).the_incident())

    assert (in_directory("shop"), in_directory("staging")) == (["oom-kill"], [])


def test_a_process_that_logs_on_was_not_killed() -> None:
    story = evicted()
    story.line(
        "c-3/app.log",
        "01:09:40.000",
        story.of("c-3").prefixed("Discovered group coordinator b-2:9092 (id: 1 rack: null)"),
    )
    reported(in_pods(story.goes_on("01:15:00.000")), ("01:09:16.000", KILLED.format(POD, "app")))
    assert causes_behind(story.the_incident()) == []


STOPPING = f"Killing pod/{POD} in shop: Stopping container "


def test_a_container_that_was_stopped_and_did_not_leave_ended_without_closing_its_consumer() -> None:
    incident, alone = of_crash(("01:09:16.000", STOPPING + "orders")), of_crash()
    cause = incident.root_causes[0]
    assert (cause.cause, causes_behind(incident), incident.severity) == ("process-crash", ["stopped"], alone.severity)
    assert cause.confidence >= alone.root_causes[0].confidence
    assert "was stopped on request and its consumer did not leave the group" in incident.summary


def test_a_container_that_may_be_another_than_the_application_changes_nothing() -> None:
    ended = KILLED.format(POD, "app").replace("app ", "{} ")
    both = tuple(("01:09:16.000", ended.format(name)) for name in ("jmx-exporter", "nginx"))
    for lines in ((("01:09:16.000", STOPPING + "config-reloader"),), both):
        assert (of_crash(*lines).summary, causes_behind(of_crash(*lines))) == (of_crash().summary, [])


def test_a_container_of_docker_is_tied_by_its_project_never_by_the_end_of_its_name() -> None:
    def of_container(name: str) -> list[str]:
        ended = f"Terminated container/{name}: Container {name.partition(' ')[0]} ended with exit code 137 (OOMKilled)"
        story = in_pods(evicted().goes_on("01:15:00.000"), c_3="node-1")
        return causes_behind(reported(story, ("01:09:16.000", ended)).the_incident())

    names = ("node-1", "shop-node-1 in shop", "shop_node-1 in shop", "cache-node-1", "shop-cache-node-1 in shop")
    assert [of_container(name) for name in names] == [["oom-kill"]] * 3 + [[]] * 2


ALL = ["c-1", "c-2", "c-3"]
SETS = {"c-1": "orders-0", "c-2": "orders-1", "c-3": "orders-2"}


def scaled_in(*lines: tuple[str, str]) -> Incident:
    """c-3 closes at 01:10:00 and stays away."""
    story = closes(Story().formed(*ALL), "c-3", "01:10:00.000", ["c-1", "c-2"]).goes_on("01:15:00.000")
    return reported(in_pods(story), *lines).the_incident()


STOPPED = ("01:09:59.000", f"Killing pod/{POD} in shop: Stopping container app")
SCALED = (
    "01:09:59.000",
    "ScalingReplicaSet deployment/orders in shop: Scaled down replica set orders-7d9f8b6c5d to 2 from 3",
)
RESIZED = (
    "01:09:58.000",
    "SuccessfulRescale horizontalpodautoscaler/orders-hpa in shop: New size: 2; reason: All metrics below target",
)


def test_the_autoscaler_is_the_last_link_behind_a_scale_in() -> None:
    incident, alone = scaled_in(STOPPED, SCALED, RESIZED), scaled_in()
    assert incident.root_causes[0].cause == "scale-in"
    assert causes_behind(incident) == ["stopped", "scaled-down", "autoscaler"]
    assert incident.summary.endswith(". Autoscaler orders-hpa set 2 replicas: All metrics below target.")
    assert incident.root_causes[0].confidence >= alone.root_causes[0].confidence


ON_NODE = ("01:09:59.000", f"Killing pod/{POD} in shop on node-1: Stopping container app")


@pytest.mark.parametrize(
    ("message", "link"),
    [
        ("NodeNotSchedulable node/node-1: Node node-1 status is now: NodeNotSchedulable", "drain"),
        ("Drain node/node-1: Draining node to update config.", "drain"),
        ("DisruptionTerminating node/node-1: Disrupting Node: Underutilized/Delete", "drain"),
        ("ScaleDown node/node-1: marked the node as toBeDeleted/unschedulable", "drain"),
        ("ScaleDown node/node-2: marked the node as toBeDeleted/unschedulable", None),
        ("SystemOOM node/node-1: System OOM encountered, victim process: java, pid: 4711", None),
    ],
)
def test_a_drained_node_is_the_cause_behind_the_stop_of_its_pods(message: str, link: str | None) -> None:
    links = causes_behind(scaled_in(("01:09:30.000", message), ON_NODE))
    assert links == ["stopped", *filter(None, (link,))]


@pytest.mark.parametrize(
    ("reason", "words", "links"),
    [
        ("SystemOOM", "System OOM encountered, victim process: {}, pid: 4711", ["exited", "node-short"]),
        ("OOMKilling", "Out of memory: Killed process 4711 ({}) total-vm:8kB", ["exited", "node-short"]),
        ("OOMKilling", "Memory cgroup out of memory: Killed process 4711 ({}) total-vm:8kB", ["exited", "oom-kill"]),
    ],
    ids=["kubelet", "node-problem-detector", "node-problem-detector, a limit"],
)
@pytest.mark.parametrize("command", ["java", "nginx"])
def test_a_process_killed_by_the_kernel_of_its_node_is_the_cause_behind_the_end_of_its_container(
    reason: str, words: str, links: list[str], command: str
) -> None:
    incident = of_crash(
        ("01:09:15.000", f"{reason} node/node-1: {words.format(command)}"),
        ("01:09:16.000", f"Terminated pod/{POD} in shop on node-1: Container app ended with exit code 137 (Error)"),
    )
    assert causes_behind(incident) == (links if command == "java" else links[:1])


def test_a_rollout_shortly_before_a_scale_in_gives_it_no_sizes() -> None:
    text = "ScalingReplicaSet deployment/orders in shop: Scaled {} replica set orders-{} from {} to {}"
    rollout = [("01:09:31.000", text.format("up", "7d9f8b6c5d", 0, 3))]
    rollout += [("01:09:32.000", text.format("down", "6c8d7b5f4c", 3, 0))]
    incident = scaled_in(*rollout, STOPPED, SCALED)
    assert (causes_behind(incident), incident.summary.endswith("Deployment orders was scaled down from 3 to 2.")) == (
        ["stopped", "scaled-down"],
        True,
    )


def test_an_autoscaler_of_a_longer_name_is_another_deployments() -> None:
    at, text = RESIZED
    assert causes_behind(scaled_in(STOPPED, SCALED, (at, text.replace("orders-hpa", "orders-api")))) == [
        "stopped",
        "scaled-down",
    ]


def test_the_target_of_a_scaled_object_ties_it_to_a_deployment_of_another_name() -> None:
    text = (
        "KEDAScaleTargetDeactivated scaledobject/lag-scaler in shop: Deactivated apps/v1.Deployment shop/{} from 3 to 2"
    )
    found = [
        causes_behind(scaled_in(STOPPED, SCALED, (RESIZED[0], text.format(name)))) for name in ("orders", "billing")
    ]
    assert found == [["stopped", "scaled-down", "autoscaler"], ["stopped", "scaled-down"]]


NEXT = "orders-6c8d7b5f4c-b4xk9"
NOT_PULLED = 'Failed pod/{} in shop: Failed to pull image "orders:2": rpc error: code = NotFound'


@pytest.mark.parametrize(
    ("pod", "links"), [(NEXT, ["stopped", "not-pulled"]), (OTHER.replace("orders", "web"), ["stopped"])]
)
def test_an_image_that_the_next_pod_cannot_pull_is_the_cause_behind_a_member_that_stays_away(
    pod: str, links: list[str]
) -> None:
    incident = scaled_in(STOPPED, ("01:10:20.000", NOT_PULLED.format(pod)))
    assert causes_behind(incident) == links


def test_the_scaling_of_another_deployment_is_irrelevant() -> None:
    elsewhere = tuple((at, text.replace("orders", "billing")) for at, text in (STOPPED, SCALED, RESIZED))
    assert scaled_in(*elsewhere).summary == scaled_in().summary


def restarted_in_turn() -> Story:
    """One member a minute closes and comes back, each in the pod of a StatefulSet."""
    story = Story().formed(*ALL)
    for minute, client in enumerate(ALL, 10):
        stay = [c for c in ALL if c != client]
        closes(story, client, f"01:{minute}:00.000", stay)
        comes(story, client, f"01:{minute}:08.000", [*stay, client])
    return in_pods(story, **{client.replace("-", "_"): pod for client, pod in SETS.items()})


def test_nodes_that_were_drained_in_turn_are_the_cause_behind_a_rolling_restart() -> None:
    story = restarted_in_turn()
    for minute, pod in enumerate(SETS.values(), 10):
        node = f"node-{minute - 9}"
        cordoned = f"NodeNotSchedulable node/{node}: Node {node} status is now: NodeNotSchedulable"
        killed = f"Killing pod/{pod} in shop on {node}: Stopping container app"
        reported(story, (f"01:{minute - 1:02}:55.000", cordoned), (f"01:{minute - 1:02}:59.000", killed))
    incident = story.the_incident()
    assert (incident.root_causes[0].cause, causes_behind(incident)) == ("rolling-restart", ["stopped", "drain"])
    assert ". Nodes node-1, node-2 and node-3 were closed for new pods, as a drain does." in incident.summary


def test_a_stateful_set_that_restarts_its_pods_is_the_cause_behind_a_rolling_restart() -> None:
    story = restarted_in_turn()
    for minute, pod in enumerate(SETS.values(), 10):
        for second, verb in ((0, "delete"), (2, "create")):
            reason = f"Successful{verb.capitalize()}"
            text = f"{reason} statefulset/orders in shop: {verb} Pod {pod} in StatefulSet orders successful"
            reported(story, (f"01:{minute}:0{second}.000", text))
    incident = story.the_incident()
    assert (incident.root_causes[0].cause, causes_behind(incident)) == ("rolling-restart", ["recreated"])
    assert incident.summary.endswith(". StatefulSet orders deleted and recreated 3 pods.")


def test_sizes_that_recur_are_the_cause_behind_a_flap() -> None:
    story = Story().formed("c-1", "c-2")
    for minute in (10, 12, 14, 16):
        comes(story, "c-3", f"01:{minute}:00.000", ALL)
        closes(story, "c-3", f"01:{minute + 1}:00.000", ["c-1", "c-2"])
    in_pods(story)
    for minute in range(10, 18):
        size, way, second = (3, "up", "50") if minute % 2 == 0 else (2, "down", "00")
        at = f"01:{minute - (way == 'up'):02}:{second}.000"
        workload = "replica set orders-7d9f8b6c5d"
        reported(
            story,
            (at, f"ScalingReplicaSet deployment/orders in shop: Scaled {way} {workload} to {size} from {5 - size}"),
            (at, f"SuccessfulRescale horizontalpodautoscaler/orders in shop: New size: {size}; reason: lag"),
        )
    incident = story.the_incident()
    assert (incident.root_causes[0].cause, causes_behind(incident)) == ("scaling-flap", ["rescaled", "autoscaler"])
