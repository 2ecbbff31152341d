"""What an orchestrator did to the pods of members around an absence or an arrival, and why.

A pod is attributed to a member by its name (timeline/orchestration.py), never only because it is close in time. A line
that explains a stop or a start has to name this pod, or its replica set, at that time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.behind import EXIT_OF_SIGKILL, SIGKILL, Link, behind_container
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.timeline.clients import is_java_member
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.orchestration import application_names, application_of, workload_of
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms, session_timeout_ms
from rebalance_forensics.timeline.windows import (
    AT_ONCE_MS,
    ONE_REBALANCE_MS,
    ONE_SCALING_MS,
    ONE_STEP_MS,
    REQUEST_TIMEOUT_MS,
    ROUND_TRIP_MS,
)

# Exit codes of a process that ended on request: 0, 128 + SIGINT and 128 + SIGTERM.
_ON_REQUEST = frozenset((0, 130, 143))
_SIGTERM = frozenset(("15", "SIGTERM", "TERM"))
_FORCED_ENDS = ("oom-kill", "killed-by-probe", "evicted", "preempted")
# Changes of a node: the link and its description.
_NODE_CHANGES = {
    "cordoned": ("drain", "{was} closed for new pods, as a drain does"),
    "draining": ("drain", "{was} drained"),
    **dict.fromkeys(("not-ready", "rebooted", "removed"), ("node-lost", "{was} lost")),
    "out-of-memory": ("node-short", "{was} out of memory, and its kernel killed a process"),
    "limit-reached": ("oom-kill", "logged that its kernel killed a process at the memory limit of some container"),
}
# Only the command shows which process of a node the kernel killed.
_KERNEL_KILLS = ("out-of-memory", "limit-reached")


class Scaling(Struct, frozen=True, gc=False):
    """A controller's change of pods: `rollout`, `scaled-down`, `scaled-up`, `recreated` or `rescaled`.

    `old` and `new` are the replica sets of a rollout; `sizes` are the numbers of replicas that were set, in order.
    """

    what: str
    kind: str
    """`Deployment`, `StatefulSet` or `Replica set`."""
    name: str
    lines: Sequence[ev.ScalingReported]
    old: Sequence[str] = ()
    new: Sequence[str] = ()
    sizes: Sequence[int] = ()


def pods_of(timeline: Timeline, participants: Iterable[Participant]) -> frozenset[str]:
    """The pods that members run in."""
    if not timeline.orchestration:
        return frozenset()
    return frozenset().union(*(_pods_of(timeline, participant) for participant in participants))


def _pods_of(timeline: Timeline, participant: Participant) -> frozenset[str]:
    return timeline.cached_as(("pods", participant), lambda: timeline.orchestration.pods_of(participant))


def is_kill(report: ev.ContainerReported) -> bool:
    """True if the report shows a forced end of a process, or one with an error exit code."""
    match report.what:
        case "oom-kill" | "killed-by-probe" | "evicted" | "preempted":
            return True
        case "ended":
            return report.exit_code not in _ON_REQUEST
        case "signalled":
            return report.signal in SIGKILL
    return False


def is_order(report: ev.ContainerReported) -> bool:
    """True if the report shows a request to stop a container."""
    return report.what == "stopping" or (report.what == "signalled" and report.signal in _SIGTERM)


def is_stop(report: ev.ContainerReported) -> bool:
    """True if the report shows a stop on request, which lets the process close."""
    return is_order(report) or (report.what == "ended" and report.exit_code in _ON_REQUEST)


def span_of(timeline: Timeline, absence: Absence) -> tuple[int, int]:
    """The period in which its container may have been asked to stop; a pod has 30 s to close, with preStop hooks."""
    closed = absence.stop is not None or absence.whys != {"session-expired"}
    silent_ms = 0 if closed else session_timeout_ms(timeline) + heartbeat_interval_ms(timeline)
    first = absence.first_line_at if absence.first_line_at is not None else absence.at
    # Kubernetes truncates times to whole seconds.
    return min(first, absence.at) - silent_ms - REQUEST_TIMEOUT_MS - ROUND_TRIP_MS, absence.at + ROUND_TRIP_MS


def reports_of(timeline: Timeline, absence: Absence) -> list[ev.ContainerReported]:
    """The reports about its pods in the period in which they may have been asked to stop."""
    pods = pods_of(timeline, [absence.participant])
    if not pods:
        return []
    names = application_names(timeline.group, absence.participant)
    return timeline.orchestration.reports(pods, *span_of(timeline, absence), names)


def scaling_behind(timeline: Timeline, absences: Sequence[Absence], arrivals: Sequence[Arrival] = ()) -> Scaling | None:
    """The scaling of the pods of these members when they left or joined; None if no event names their pods."""
    # Before an arrival, the image may have to be pulled and the container and its JVM have to start.
    spans = [(a.participant, *span_of(timeline, a)) for a in absences]
    spans += [(a.participant, a.at - ONE_SCALING_MS, a.at + ROUND_TRIP_MS) for a in arrivals]
    own: dict[int, ev.ScalingReported] = {}
    for participant, begin, end in spans:
        pods = pods_of(timeline, [participant])
        sets = {workload_of(pod) for pod in pods}
        near = timeline.orchestration.scalings.between(begin, end) if pods else ()
        own |= {id(e): e for e in near if e.pod in pods or (e.pod is None and e.workload in sets)}
    if not own:
        return None
    begin, end = min(begin for _, begin, _ in spans) - ONE_STEP_MS, max(end for *_, end in spans) + ONE_STEP_MS
    nearby = timeline.orchestration.scalings.between(begin, end)
    way = "scaled-up" if not absences else "scaled-down" if not arrivals else None
    if len({participant for participant, *_ in spans}) < len(spans):
        way = None  # the same members left and joined
    lines = sorted(own.values(), key=time_of)
    found = _of_deployment(lines, nearby, way) or _of_set(lines, nearby)
    # Scaling down does not start members, and scaling up does not stop them.
    opposed = found is not None and way is not None and {found.what, way} == {"scaled-up", "scaled-down"}
    return None if opposed else found


def _of_deployment(
    own: Sequence[ev.ScalingReported], nearby: Sequence[ev.ScalingReported], way: str | None
) -> Scaling | None:
    """A rollout or scaling of a Deployment; `way` is its direction if all members left or all joined, else None."""
    sets = {e.workload or workload_of(e.pod or "") for e in own}
    scaled = [e for e in nearby if e.what in ("scaled-up", "scaled-down")]
    deployments = {(e.name, e.namespace) for e in scaled if e.workload in sets}
    if len(deployments) != 1:
        return None
    name = next(iter(deployments))[0]
    lines = [e for e in scaled if (e.name, e.namespace) in deployments]
    up, down = ({e.workload or "" for e in lines if e.what == what} for what in ("scaled-up", "scaled-down"))
    direct = [e for e in own if e in lines and way in (None, e.what)]
    if not direct:
        return None
    others = [e for e in lines if way not in (None, e.what) and e.workload not in sets]
    if way is None and up and down and up != down:
        return Scaling("rollout", "Deployment", name, lines, sorted(down - up or down), sorted(up - down or up))
    if way is not None and any(_of_one_rollout(direct[-1], other) for other in others):
        direct_sets, other_sets = (sorted({e.workload or "" for e in some}) for some in (direct, others))
        old, new = (direct_sets, other_sets) if way == "scaled-down" else (other_sets, direct_sets)
        return Scaling("rollout", "Deployment", name, lines, old, new)
    step = direct[-1:]
    for e in () if others or way is None else reversed(direct[:-1]):
        if e.after is None or e.after != step[0].before:
            break
        step = [e, *step]
    direct = direct if way is None else step
    sizes = [size for e in direct for size in (e.before, e.after) if size is not None]
    sizes = [size for place, size in enumerate(sizes) if place == 0 or size != sizes[place - 1]]
    return Scaling(direct[-1].what, "Deployment", name, direct, sizes=sizes)


def _of_one_rollout(own: ev.ScalingReported, other: ev.ScalingReported) -> bool:
    """True if another replica set is scaled in the opposite direction in the same rollout."""
    # A rollout adds a pod before it removes one, unless it removes all pods first (Recreate).
    if own.what == "scaled-down":
        return time_of(other) <= time_of(own) + ROUND_TRIP_MS or own.after == 0
    return time_of(other) >= time_of(own) - ROUND_TRIP_MS or own.before == 0


def _of_set(own: Sequence[ev.ScalingReported], nearby: Sequence[ev.ScalingReported]) -> Scaling | None:
    """A StatefulSet, whose pods keep their names, or a replica set whose Deployment no event mentions."""
    pods, names = {e.pod for e in own if e.pod is not None}, {(e.name, e.namespace) for e in own}
    lines = [e for e in nearby if e.pod is not None and (e.name, e.namespace) in names]
    made = {e.pod for e in lines if e.what == "pod-created"}
    deleted = {e.pod for e in lines if e.what == "pod-deleted"} & pods
    name, pod = next(((e.name, e.pod or "") for e in own), ("", ""))
    of = "StatefulSet" if pod.removeprefix(name)[1:].isdecimal() else "Replica set", name
    shown = [e for e in lines if e.pod in pods or e.what == "pod-created"]
    # A StatefulSet reuses pod names when it is scaled up again; its rollout does not set a size.
    decisions = [e for e in nearby if any(_is_decision(e, *name) for name in names)] if deleted & made else []
    if len({e.after for e in decisions}) > 1:
        return Scaling("rescaled", *of, decisions, sizes=[e.after for e in decisions if e.after is not None])
    if len([e for e in lines if e.pod in deleted & made and e.what == "pod-deleted"]) > len(deleted):
        return None  # the same pods several times: successive rollouts, or scaling down and up by hand
    if not deleted:
        return Scaling("scaled-up", *of, shown) if made & pods else None
    if deleted <= made or (made and not made & pods):
        return Scaling("recreated", *of, shown)
    return Scaling("scaled-down", *of, [e for e in shown if e.pod in deleted])


def autoscaler_behind(timeline: Timeline, scaling: Scaling) -> tuple[ev.ScalingReported, ...]:
    """The autoscaler's decisions that this scaling carried out: same workload, size and time."""
    found: dict[int, ev.ScalingReported] = {}
    for line in scaling.lines:
        near = timeline.orchestration.scalings.between((line.at or 0) - AT_ONCE_MS, (line.at or 0) + ROUND_TRIP_MS)
        for e in near:
            if (line.after is None or e.after == line.after) and _is_decision(e, scaling.name, line.namespace):
                found[id(e)] = e
    return tuple(found.values())


def _is_decision(event: ev.ScalingReported, workload: str, namespace: str | None) -> bool:
    """True if an autoscaler set the size of this workload."""
    # KEDA names the autoscaler of a ScaledObject `keda-hpa-orders`; Helm charts often use `orders-hpa`.
    names = {workload, f"keda-hpa-{workload}", f"{workload}-hpa"}
    of_target = event.name in names or (event.workload or "").rpartition("/")[2] == workload
    return event.what == "resized" and of_target and event.namespace in (None, namespace)


def node_behind(timeline: Timeline, reports: Iterable[tuple[Absence, ev.ContainerReported]]) -> Link | None:
    """What happened to the nodes of stopped pods shortly before; each report is about a pod of its absence."""
    found: dict[str, ev.NodeReported] = {}
    for absence, report in reports:
        if (event := _of_its_node(timeline, absence.participant, report)) is not None:
            found.setdefault(event.node, event)
    if not found:
        return None
    first = next(iter(found.values()))
    what, words = _NODE_CHANGES[first.what]
    alike = {node: event for node, event in found.items() if event.what == first.what}
    *others, last = alike
    nodes = f"nodes {', '.join(others)} and {last}" if others else f"node {last}"
    words = words.format(was="were" if others else "was")
    victim = f"{first.command} (pid {first.pid})" if first.pid else None
    why = f": {detail}" if (detail := first.detail or victim) else ""
    # Other containers of the node have limits as well.
    confidence = 0.6 if first.what == "limit-reached" else 0.9
    return Link(what, f"{nodes} {words}{why}", confidence, tuple(alike.values())[:4])


def _of_its_node(timeline: Timeline, participant: Participant, report: ev.ContainerReported) -> ev.NodeReported | None:
    of_node = timeline.orchestration.of_node.get(report.node or "", ())
    near = of_node.between((report.at or 0) - ONE_STEP_MS, (report.at or 0) + ROUND_TRIP_MS) if of_node else ()
    # A node that is out of memory does not stop containers on request, and its kernel does not enforce their limits.
    may_be_killed = report.what != "oom-kill" and report.exit_code in (None, EXIT_OF_SIGKILL) and not is_stop(report)
    java = is_java_member(timeline, participant)
    return next(
        (
            e
            for e in reversed(near)
            if e.what in _NODE_CHANGES
            and (e.what not in _KERNEL_KILLS or (may_be_killed and (e.command == "java") is java))
        ),
        None,
    )


def links_behind(timeline: Timeline, absences: Sequence[Absence], arrivals: Sequence[Arrival] = ()) -> tuple[Link, ...]:
    """What stopped or started the pods of these members, and why: at most three links."""
    of_each = [
        [r for r in reports_of(timeline, a) if is_kill(r) or is_stop(r) or r.what == "probe-failed"] for a in absences
    ]
    of_ended = [(a, r) for a, reports in zip(absences, of_each, strict=True) for r in reports]
    ended = [reports for reports in of_each if any(r.what != "probe-failed" for r in reports)]
    killed = next((reports for reports in ended if any(r.what in _FORCED_ENDS for r in reports)), None)
    links = behind_container(killed or ended[0]) if len(ended) == 1 or killed else _stop_links(ended) if ended else ()
    scaling = scaling_behind(timeline, absences, arrivals)
    if (at_the_node := node_behind(timeline, of_ended)) is not None:
        links = (*links, at_the_node)
    elif scaling is not None and killed is None:
        links = (*links, _scaling_link(scaling), *_autoscaler_links(timeline, scaling))
    links = links or tuple(_lost_node_link(report) for a in absences[:1] for report in _node_reports(timeline, a))[:1]
    return (*links[:2], *_pull_failures(timeline, absences))[:3] if len(links) < 3 else links[:3]


def _node_reports(timeline: Timeline, absence: Absence) -> list[ev.ContainerReported]:
    """The reports that its node sent no status any more, which may be later than the member's eviction.

    A node sends its status every 10 s and is considered not ready after 40 s without one, since 1.32 after 50 s
    (node-monitor-grace-period).
    """
    pods, (begin, _) = pods_of(timeline, [absence.participant]), span_of(timeline, absence)
    names = application_names(timeline.group, absence.participant)
    reports = timeline.orchestration.reports(pods, begin, absence.at + ONE_REBALANCE_MS, names)
    return [e for e in reports if e.what == "node-not-ready"]


def _lost_node_link(report: ev.ContainerReported) -> Link:
    return Link("node-lost", f"the node of {report.name} was lost: it sent no status any more", 0.9, (report,))


def _pull_failures(timeline: Timeline, absences: Sequence[Absence]) -> tuple[Link, ...]:
    """Why no pod of the same workload replaced one that left: its image cannot be pulled; empty if not reported."""
    for absence in absences:
        workloads = {application_of(pod) for pod in pods_of(timeline, [absence.participant])}
        until = min(absence.back_at or absence.at + ONE_STEP_MS, absence.at + ONE_STEP_MS)
        failed = (
            e
            for pod, reports in (timeline.orchestration.of_pod.items() if workloads else ())
            if application_of(pod) in workloads
            for e in reports.between(absence.at - ONE_SCALING_MS, until)
            if e.what == "not-pulled"
        )
        if (first := min(failed, key=time_of, default=None)) is not None:
            return (Link("not-pulled", f"pod {first.name} did not start: its image {first.detail}", 0.9, (first,)),)
    return ()


def _stop_links(ended: Sequence[Sequence[ev.ContainerReported]]) -> tuple[Link, ...]:
    lines = [next(r for r in reports if r.what != "probe-failed") for reports in ended]
    names = {line.name for line in lines}
    # Docker reports name only a container, Kubernetes reports name its pod as well.
    by_docker = all(line.what == "signalled" or line.container == line.name for line in lines)
    why = f"{len(names)} containers were stopped" if by_docker else f"the containers of {len(names)} pods were stopped"
    if len(names) == 1:
        why = f"{lines[0].name} was stopped {len(lines)} times"
    return (Link("stopped", f"{why} on request", 0.95, lines[:4], begins_with_name=len(names) == 1),)


def _scaling_link(scaling: Scaling) -> Link:
    """A scaling as a link of the chain."""
    what, workload, sizes, times = scaling.what, f"{scaling.kind} {scaling.name}", scaling.sizes, len(scaling.lines)
    match what:
        case "rollout":
            old, new = " and ".join(scaling.old), " and ".join(scaling.new)
            why = f"{workload} was rolled out: replica set {new} replaced {old}"
        case "recreated":
            pods = len({e.pod for e in scaling.lines})
            why = f"{workload} deleted and recreated {pods} pod{'s' if pods > 1 else ''}"
        case _ if len(set(sizes)) < len(sizes):
            what, why = (
                "rescaled",
                f"{workload} was scaled {times} times, between {min(sizes)} and {max(sizes)} replicas",
            )
        case _:
            by = f" from {sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else f" to {sizes[0]}" if sizes else ""
            why = f"{workload} was {what.replace('-', ' ')}{by}"
    return Link(what, why, 0.95, scaling.lines[:6], begins_with_name=True)


def _autoscaler_links(timeline: Timeline, scaling: Scaling) -> tuple[Link, ...]:
    decisions = autoscaler_behind(timeline, scaling)
    if not decisions:
        return ()
    last, sizes = decisions[-1], [e.after for e in decisions if e.after is not None]
    often = f"{len(sizes)} sizes in turn, at last {last.after}" if len(sizes) > 1 else f"{last.after} replicas"
    why = f"autoscaler {last.name} set {often}{f': {last.detail}' if last.detail else ''}"
    return (Link("autoscaler", why, 0.9, decisions[-4:]),)
