"""Events and states of Kubernetes and Docker, each as a line of the same form, whatever printed it.

`Warning Unhealthy pod/orders-0 in shop on node-1: Liveness probe failed: …` stands for a row of kubectl's table or an
object of the API. The status of a pod, or `docker inspect`, yields such lines for containers that ended or are running.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.records import EpochMs
from rebalance_forensics.sources.envelopes.base import Line, instant
from rebalance_forensics.sources.layouts.json_fields import Fields, first_text, lookup, object_of

# The object of an event: core/v1, events.k8s.io, what Metricbeat makes of it. Shippers wrap events a few objects deep.
_ABOUT = ("involvedObject", "regarding", "involved_object")
_DEEPEST = 4
_LAST = (
    "series.lastObservedTime", "lastTimestamp", "last_timestamp", "timestamp.last_occurrence",
    "deprecatedLastTimestamp", "eventTime", "firstTimestamp", "metadata.creationTimestamp",
)  # fmt: skip
_FIRST = ("firstTimestamp", "first_timestamp", "timestamp.first_occurrence", "deprecatedFirstTimestamp", "eventTime")
_COUNT = ("series.count", "count", "deprecatedCount")
_MARK = re.compile(
    r'"(?:involvedObject|regarding|involved_object|containerStatuses|OOMKilled|Actor|ContainerExitCode|lastScaleTime)"'
)
_ID = re.compile(r"[0-9a-f]{12,64}")
_PART = re.compile(r"spec\.(?:containers|initContainers)\{([\w.-]+)\}")
# Docker's zero time: the container never ended, or never ran.
_NEVER = "0001-01-01"


def is_state(value: object) -> bool:
    """True for an event or a pod of Kubernetes, an event or a container of Docker."""
    return isinstance(value, Mapping) and (
        _event_in(value, 1) is not None or any(is_kind(value) for is_kind, _ in _KINDS_OF_OBJECTS)
    )


def objects(line: Line) -> Sequence[Line] | None:
    """The lines for an object of the API or of Docker, wrapped or not."""
    fields = line.fields
    if fields is None:
        fields = object_of(line.text) if _MARK.search(line.text) else None
    if fields is None:
        return None
    event = _event_in(fields, _DEEPEST)
    if event is not None:
        return tuple(_of_event(line, event))
    lines_of = next((lines_of for is_kind, lines_of in _KINDS_OF_OBJECTS if is_kind(fields)), None)
    return tuple(lines_of(line, fields)) if lines_of is not None else None


def _event_in(value: Mapping[str, object], deep: int) -> Fields | None:
    if isinstance(value.get("reason"), str) and any(isinstance(value.get(key), Mapping) for key in _ABOUT):
        return value
    inside = (inner for inner in value.values() if isinstance(inner, Mapping)) if deep > 1 else ()
    return next((event for inner in inside if (event := _event_in(inner, deep - 1)) is not None), None)


def _is_pod(value: Fields) -> bool:
    status = value.get("status")
    return value.get("kind") in ("Pod", None) and isinstance(status, Mapping) and "containerStatuses" in status


def _is_container(value: Fields) -> bool:
    state = value.get("State")
    return isinstance(state, Mapping) and "OOMKilled" in state and isinstance(value.get("Name"), str)


def _is_docker_event(value: Fields) -> bool:
    is_podmans = "ContainerExitCode" in value and isinstance(value.get("Name"), str) and "Time" in value
    return is_podmans or (
        value.get("Type") == "container" and isinstance(value.get("Actor"), Mapping) and "Action" in value
    )


def _is_autoscaler(value: Fields) -> bool:
    status = value.get("status")
    return value.get("kind") == "HorizontalPodAutoscaler" and isinstance(status, Mapping) and "lastScaleTime" in status


def written(
    kind: str,
    reason: str,
    about: str,
    message: str,
    *,
    namespace: str | None = None,
    node: str | None = None,
    count: int = 1,
    part: str | None = None,
) -> str:
    """The line for an event; `about` is an object like `pod/orders-0`, `part` a part of it: `spec.containers{app}`."""
    where = f" in {namespace}" if namespace else ""
    where += f" on {node}" if node else ""
    times = f" x{count}" if count > 1 else ""
    # The messages of other events name the container themselves.
    container = _PART.fullmatch(part or "") if reason == "Unhealthy" else None
    which = f" container {container[1]}" if container else ""
    return f"{kind} {reason} {about}{where}{times}{which}: {' '.join(message.split())}"


def _of_event(line: Line, event: Fields) -> Iterator[Line]:
    about = next(inner for key in _ABOUT if isinstance(inner := event.get(key), Mapping))
    number = first_text(event, _COUNT) or ""
    count = int(number) if number.isdecimal() else 1
    last, first = (_first_instant(event, paths) for paths in (_LAST, _FIRST))
    # A repeated event only updates its time: of three failed probes only the first and the last are known.
    recurred = count > 1 and first is not None and last is not None and first < last
    for at, times in ((first, 1), (last or line.at, count))[not recurred :]:
        text = written(
            first_text(event, ("type",)) or "Normal",
            first_text(event, ("reason",)) or "",
            f"{(first_text(about, ('kind',)) or 'object').lower()}/{first_text(about, ('name',))}",
            first_text(event, ("message", "note")) or "",
            namespace=first_text(about, ("namespace",)) or first_text(event, ("metadata.namespace",)),
            node=first_text(event, ("source.host",)) or _kubelet_of(event),
            count=times,
            part=first_text(about, ("fieldPath",)),
        )
        yield replace(line, text=text, fields=None, at=at, host=None)


def _first_instant(event: Fields, paths: Sequence[str]) -> EpochMs | None:
    return next((at for path in paths if (at := instant(first_text(event, (path,)))) is not None), None)


def _kubelet_of(event: Fields) -> str | None:
    kubelet = first_text(event, ("reportingComponent", "reportingController")) == "kubelet"
    return first_text(event, ("reportingInstance",)) if kubelet else None


def _of_pod(line: Line, pod: Fields) -> Iterator[Line]:
    name, namespace = first_text(pod, ("metadata.name",)) or "", first_text(pod, ("metadata.namespace",))
    node = first_text(pod, ("spec.nodeName",))

    def status_line(kind: str, reason: str, message: str, at: str | None) -> Line:
        text = written(kind, reason, f"pod/{name}", message, namespace=namespace, node=node)
        return replace(line, text=text, fields=None, at=instant(at), host=None)

    for status in _mappings(lookup(pod, "status.containerStatuses")):
        container, restarts = first_text(status, ("name",)), first_text(status, ("restartCount",))
        for state in ("lastState", "state"):
            if isinstance(ended := lookup(status, f"{state}.terminated"), Mapping):
                finished = first_text(ended, ("finishedAt",))
                message = ended_container(container, first_text(ended, ("exitCode",)), first_text(ended, ("reason",)))
                yield status_line("Warning", "Terminated", message, finished)
        if since := first_text(status, ("state.running.startedAt",)):
            yield status_line("Normal", "Running", running_container(container, restarts), since)
    for condition in _mappings(lookup(pod, "status.conditions")):
        if condition.get("type") == "DisruptionTarget" and condition.get("status") in ("True", True):
            why = f"{first_text(condition, ('reason',))}: {first_text(condition, ('message',)) or ''}"
            yield status_line("Warning", "DisruptionTarget", why, first_text(condition, ("lastTransitionTime",)))


def _mappings(value: object) -> list[Fields]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def ended_container(name: str | None, code: str | None, reason: str | None) -> str:
    """The message for a container that ended; `reason` is the runtime's (OOMKilled, Error, Completed)."""
    return f"Container {name} ended with exit code {code}{f' ({reason})' if reason else ''}"


def _lost_a_process(name: str) -> str:
    return f"Container {name} lost a process to the OOM killer"


def running_container(name: str | None, restarts: str | None) -> str:
    """The message for a container that has been running since the time of the line."""
    return f"Container {name} is running, restarted {restarts or 0} times"


def _of_container(line: Line, container: Fields) -> Iterator[Line]:
    name, state = (first_text(container, ("Name",)) or "").lstrip("/"), lookup(container, "State")
    assert isinstance(state, Mapping)
    labels, container_id = lookup(container, "Config.Labels"), first_text(container, ("Id",))
    finished, started = first_text(state, ("FinishedAt",)) or _NEVER, first_text(state, ("StartedAt",)) or _NEVER
    reason = "OOMKilled" if state.get("OOMKilled") in (True, "true") else None
    is_running = state.get("Running") in (True, "true")
    # If a container is running again, ExitCode belongs to the current run.
    if not finished.startswith(_NEVER) and not is_running:
        message = ended_container(name, first_text(state, ("ExitCode",)), reason)
        yield _of_docker(line, "Terminated", name, message, instant(finished), labels, container_id)
    if is_running and not started.startswith(_NEVER):
        message = running_container(name, first_text(container, ("RestartCount",)))
        yield _of_docker(line, "Running", name, message, instant(started), labels, container_id)


def _of_docker(
    line: Line,
    reason: str,
    name: str,
    message: str,
    at: EpochMs | None,
    labels: object = None,
    container_id: str | None = None,
) -> Line:
    # The directory of its log is named after the id, not the name.
    which = f" id {container_id[:12]}" if container_id and _ID.fullmatch(container_id) else ""
    namespace = _project(name, labels)
    text = written("Normal", reason, f"container/{name}{f' in {namespace}' if namespace else ''}{which}", message)
    return replace(line, text=text, fields=None, at=at, host=None)


def _project(name: str, labels: object) -> str | None:
    """The Compose project in a container's name: `shop-orders-1`, until 1.29 `shop_orders_1`."""
    if not isinstance(labels, Mapping):
        return None
    project, service = (labels.get(f"com.docker.compose.{label}") for label in ("project", "service"))
    named = re.compile(rf"{re.escape(str(project))}([-_]){re.escape(str(service))}\1\d+")
    return str(project) if project and service and named.fullmatch(name) else None


def _of_docker_event(line: Line, event: Fields) -> Iterator[Line]:
    if "ContainerExitCode" in event:  # Podman's
        more = event.get("Attributes")
        named = {"name": event.get("Name"), "exitCode": event.get("ContainerExitCode")}
        of_podman = {**more, **named} if isinstance(more, Mapping) else named
        at = instant(first_text(event, ("Time",)))
        yield _docker_event(line, str(event.get("Status")), of_podman, at, first_text(event, ("ID",)))
        return
    attributes = lookup(event, "Actor.Attributes")
    nanos = first_text(event, ("timeNano", "time"))
    at = instant(nanos) if nanos else line.at
    if isinstance(attributes, Mapping):
        container_id = first_text(event, ("Actor.ID", "id"))
        yield _docker_event(line, str(event.get("Action")), attributes, at, container_id)


def _of_autoscaler(line: Line, autoscaler: Fields) -> Iterator[Line]:
    """The last action of an autoscaler: its status has the size that it set, and the time."""
    target = first_text(autoscaler, ("spec.scaleTargetRef.name",))
    size = first_text(autoscaler, ("status.desiredReplicas",))
    name, namespace = (first_text(autoscaler, (f"metadata.{key}",)) for key in ("name", "namespace"))
    text = written(
        "Normal",
        "LastScale",
        f"horizontalpodautoscaler/{name}",
        f"{target} was scaled to {size} replicas",
        namespace=namespace,
    )
    yield replace(
        line, text=text, fields=None, at=instant(first_text(autoscaler, ("status.lastScaleTime",))), host=None
    )


_KINDS_OF_OBJECTS = (
    (_is_pod, _of_pod),
    (_is_container, _of_container),
    (_is_docker_event, _of_docker_event),
    (_is_autoscaler, _of_autoscaler),
)

# `docker events`: time, "container", the event, the container's id, its attributes in parentheses. Podman prints times
# in Go's format, and exit codes only in JSON.
_DOCKER_ROW = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d| [+-]\d{4}))"
    r"(?: [A-Z]{1,5}(?: m=\S{1,24})?)? container (?P<action>[a-z_]+(?:: [a-z]+)?) "
    r"(?P<id>[0-9a-f]{12,64}) \((?P<attributes>.*)\)\s*\Z"
)
_ATTRIBUTE = re.compile(r"(?:\A|, )([\w./-]+)=((?:(?!, [\w./-]+=).)*)")


def docker_row(line: Line) -> Sequence[Line] | None:
    """The line for an event printed by `docker events`."""
    match = _DOCKER_ROW.match(line.text) if line.fields is None else None
    if match is None:
        return None
    attributes, at = dict(_ATTRIBUTE.findall(match["attributes"])), instant(match["time"])
    return (_docker_event(line, match["action"], attributes, at, match["id"]),)


def _docker_event(
    line: Line, action: str, attributes: Fields, at: EpochMs | None, container_id: str | None = None
) -> Line:
    name = str(attributes.get("name"))
    pod, part = (attributes.get(f"io.kubernetes.{key}.name") for key in ("pod", "container"))
    name = str(part) if pod and part else name
    match action.partition(":")[0]:
        case "die" | "died" if attributes.get("OOMKilled") == "true":
            reason, message = "OOMKilled", f"Container {name} ran out of memory"
        case "die" | "died" if "exitCode" in attributes:
            reason, message = "Terminated", ended_container(name, str(attributes.get("exitCode")), None)
        case "kill" if "signal" in attributes:
            reason, message = "Signalled", f"signal {attributes.get('signal')} was sent"
        case "oom":
            reason, message = "OutOfMemory", _lost_a_process(name)
        case _:
            reason, message = "Docker", action
    if pod and part:
        namespace = attributes.get("io.kubernetes.pod.namespace")
        text = written("Normal", reason, f"pod/{pod}", message, namespace=str(namespace) if namespace else None)
        return replace(line, text=text, fields=None, at=at, host=None)
    return _of_docker(line, reason, name, message, at, attributes, container_id)


# `ctr events`: time, namespace, topic, the event itself.
_CONTAINERD_ROW = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4}) [A-Z]{3,5} [\w.-]{1,64} (?P<topic>/[a-z]+/[a-z-]+) "
    r"(?P<event>\{.*\})\s*\Z"
)


def containerd_row(line: Line) -> Sequence[Line] | None:
    """The line for an event printed by containerd's `ctr events` or by nerdctl; containers are named by id only."""
    match = _CONTAINERD_ROW.match(line.text) if line.fields is None else None
    event = object_of(match["event"]) if match is not None else None
    if match is None or event is None:
        return None
    name, at = str(event.get("container_id", event.get("id"))), instant(match["time"])
    match match["topic"], event.get("id", name) == name:
        case "/tasks/exit", True:  # what `exec` started, a probe for one, ends under an id of its own
            message = ended_container(name, str(event.get("exit_status", 0)), None)
            return (_of_docker(line, "Terminated", name, message, at),)
        case "/tasks/oom", _:
            return (_of_docker(line, "OutOfMemory", name, _lost_a_process(name), at),)
    return (_of_docker(line, "Containerd", name, match["topic"], at),)


_SPAN = r"(?:\d+[smhdy])+"
_NOTHING = "<none>"
_AGE = re.compile(rf"\A(?:{_NOTHING}|<unknown>|<invalid>|{_SPAN}(?: ago)?)(?: \(x(?P<count>\d+)(?: over {_SPAN})?\))?")
_OBJECT = re.compile(r"\A(?P<kind>[A-Za-z][A-Za-z.0-9]*)/(?P<name>[\w.:-]+)")
_NAMED_BY_HASH = re.compile(r"[\w.-]+\.[0-9a-f]{12,16}")
_KINDS = r"Pod|Deployment|ReplicaSet|StatefulSet|DaemonSet|Job|Node|HorizontalPodAutoscaler"
# The meaning of a cell by its format, in the order of checks.
_CELLS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("age", _AGE),
    ("date", re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")),
    ("type", re.compile(r"Normal|Warning")),
    ("kind", re.compile(_KINDS)),
    ("object", _OBJECT),
    ("reason", re.compile(r"[A-Z][A-Za-z]{3,}")),
    ("part", re.compile(r"spec\.\w+\{[\w.-]+\}|\d+")),
    ("name", re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")),
)
_REPEATED = ("age", "date", "part", "name")
_COLUMNS = re.compile(r"\t| {2,}")
_IS_ROW = re.compile(r"(?<!\S)(?:Normal|Warning|ScalingReplicaSet|SuccessfulRescale|Killing|Evicted)(?!\S)")
_MOST_BEFORE = 9
# Objects other than pods in tables without a kind.
_KIND_OF_REASON = {
    "ScalingReplicaSet": "deployment",
    "SuccessfulRescale": "horizontalpodautoscaler",
    "SuccessfulCreate": "replicaset",
    "SuccessfulDelete": "replicaset",
    "NodeNotReady": "node",
    "NodeReady": "node",
    "NodeNotSchedulable": "node",
    "NodeSchedulable": "node",
}


def row(line: Line) -> Sequence[Line] | None:
    """The line for a row of `kubectl get events`: default columns, all columns (`-o wide`), or custom ones.

    Ages are relative to an unknown time, so such a row has no time.
    """
    if line.fields is not None or len(line.text) > 1 << 14 or not _IS_ROW.search(line.text):
        return None
    cells = _COLUMNS.split(line.text.strip())
    # `-o wide` prints the first occurrence, the count and the name after the message.
    wide = (
        len(cells) > 7 and _NAMED_BY_HASH.fullmatch(cells[-1]) and cells[-2].isdecimal() and _AGE.fullmatch(cells[-3])
    )
    found, rest = _columns_of(cells[:-3] if wide else cells)
    ages = [age for cell in found.get("age", ()) if (age := _AGE.fullmatch(cell)) and age["count"]]
    count = int(cells[-2] if wide else ages[0]["count"] if ages else 1)
    source = rest.pop(0) if wide and len(rest) > 1 else ""
    at = instant(found["date"][-1]) if "date" in found else None
    about, namespace = _about(found)
    if not about or not rest or "reason" not in found or not ("type" in found or at is not None):
        return None
    text = written(
        found.get("type", ["Normal"])[0],
        found["reason"][0],
        about,
        "  ".join(rest),
        namespace=namespace,
        node=source.partition(", ")[2] or None,
        count=count,
        part=next(iter(found.get("part", ())), None),
    )
    return (replace(line, text=text, at=at, host=None),)


def _columns_of(cells: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The cells before the message by meaning, and those from the message on."""
    found: dict[str, list[str]] = {}
    for cell in cells[:_MOST_BEFORE]:
        fits = (what for what, shape in _CELLS if shape.fullmatch(cell) and (what not in found or what in _REPEATED))
        what = next(fits, None)
        if what is None or (what == "name" and {"object", "reason"} <= found.keys()):
            break
        found.setdefault(what, []).append(cell)
    place = sum(map(len, found.values()))
    return (found, list(cells[place:])) if "age" in found or "date" in found else ({}, [])


def _about(found: Mapping[str, Sequence[str]]) -> tuple[str | None, str | None]:
    """The object of a row and its namespace."""
    names, reason = list(found.get("name", ())), (*found.get("reason", ()), "")[0]
    if "object" in found:
        kind, _, name = found["object"][0].partition("/")
        return f"{kind.lower()}/{name}", names[0] if names else None
    if not names:
        return None, None
    # Before 1.13 kubectl printed the event's own name: that of the object followed by a hash.
    name, kind = names.pop(), (*found.get("kind", ()), _KIND_OF_REASON.get(reason, "pod"))[0]
    of_event = _NAMED_BY_HASH.fullmatch(name) is not None
    if not of_event and "kind" not in found and _NOTHING in found.get("age", ()):
        return None, None  # the object itself may be what the table lacks, and the name that of a namespace
    name = name.rpartition(".")[0] if of_event else name
    return f"{kind.lower()}/{name}", names[0] if names else None


def row_of_pod(text: str, about: str, namespace: str | None, node: str | None) -> Line | None:
    """The line for an event in `kubectl describe`: type, reason, age, source, message."""
    cells = _COLUMNS.split(text.strip())
    if len(cells) < 5 or cells[0] not in ("Normal", "Warning") or not (age := _AGE.fullmatch(cells[2])):
        return None
    node = cells[3].partition(", ")[2] or node
    times = int(age["count"] or 1)
    message = "  ".join(cells[4:])
    return Line(text=written(cells[0], cells[1], about, message, namespace=namespace, node=node, count=times))
