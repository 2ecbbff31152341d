"""Events and states of pods and containers are read alike from whatever printed them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.shipped import document
from tests.sources.test_exports import read

PROBE = "Liveness probe failed: HTTP probe failed with statuscode: 503"
EVENTS = [
    {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "orders-0.17f2b1c4e5d6a7b8", "namespace": "shop"},
        "involvedObject": {"kind": "Pod", "name": "orders-0", "namespace": "shop", "fieldPath": "spec.containers{app}"},
        "reason": "Unhealthy",
        "message": PROBE,
        "source": {"component": "kubelet", "host": "node-1"},
        "firstTimestamp": "2026-11-20T10:15:10Z",
        "lastTimestamp": "2026-11-20T10:15:30Z",
        "count": 3,
        "type": "Warning",
    },
    {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "orders.17f2b1c4e5d6a7b9", "namespace": "shop"},
        "involvedObject": {"kind": "Deployment", "name": "orders", "namespace": "shop"},
        "reason": "ScalingReplicaSet",
        "message": "Scaled down replica set orders-7d9f8b6c5d to 2 from 3",
        "lastTimestamp": "2026-11-20T10:15:31Z",
        "type": "Normal",
    },
]
# What kubectl prints of one container that was killed and runs again (kubectl 1.30), shortened.
DESCRIBED = """\
Name:             orders-0
Namespace:        shop
Node:             node-1/10.0.0.4
Labels:           app=orders
Controlled By:    StatefulSet/orders
Containers:
  app:
    Container ID:   containerd://3f2a
    State:          Running
      Started:      Fri, 20 Nov 2026 10:15:33 +0000
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Fri, 20 Nov 2026 09:00:10 +0000
      Finished:     Fri, 20 Nov 2026 10:15:30 +0000
    Ready:          True
    Restart Count:  1
Conditions:
  Type              Status
  Ready             True
Events:
  Type     Reason     Age                From     Message
  ----     ------     ----               ----     -------
  Warning  Unhealthy  60s (x5 over 64s)  kubelet  Liveness probe failed: HTTP probe failed with statuscode: 503
"""
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "orders-0", "namespace": "shop"},
    "spec": {"nodeName": "node-1"},
    "status": {
        "containerStatuses": [
            {
                "name": "app",
                "restartCount": 1,
                "lastState": {
                    "terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-11-20T10:15:30Z"}
                },
                "state": {"running": {"startedAt": "2026-11-20T10:15:33Z"}},
            }
        ]
    },
}
LIST = {"apiVersion": "v1", "kind": "List", "items": EVENTS, "metadata": {"resourceVersion": ""}}
AS_EVENTS = {
    "a list as JSON": json.dumps(LIST, indent=4),
    "a list as YAML": yaml.safe_dump(LIST),
    "documents with comments": "".join(f"---\n# recorded\n{yaml.safe_dump(event)}" for event in EVENTS),
    "one event a line": "".join(json.dumps(event) + "\n" for event in EVENTS),
    "event exporters that wrap it": "".join(json.dumps({"verb": "ADDED", "event": event}) + "\n" for event in EVENTS),
    "an export of a log store": "".join(
        json.dumps({"_index": "k8s", "_source": {"@timestamp": "2026-11-20T10:16:00Z", "kubernetes": {"event": event}}})
        + "\n"
        for event in EVENTS
    ),
}
AS_PODS = {
    "JSON": json.dumps(POD, indent=4),
    "a list as JSON": json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD]}, indent=4),
    "YAML": yaml.safe_dump(POD),
    "described": DESCRIBED,
}


def lines(tmp_path: Path, text: str) -> list[tuple[int | None, str]]:
    path = tmp_path / "events"
    path.write_text(text)
    return sorted(((record.at, record.message) for record in read(path)[0]), key=lambda line: line[0] or 0)


@pytest.mark.parametrize("printed", AS_EVENTS.values(), ids=AS_EVENTS)
def test_an_event_that_recurred_is_known_at_its_first_and_last_time(printed: str, tmp_path: Path) -> None:
    about = "Unhealthy pod/orders-0 in shop on node-1"
    scaled = "ScalingReplicaSet deployment/orders in shop: Scaled down replica set orders-7d9f8b6c5d to 2 from 3"
    assert lines(tmp_path, printed) == [
        (1795169710000, f"{about} container app: {PROBE}"),
        (1795169730000, f"{about} x3 container app: {PROBE}"),
        (1795169731000, scaled),
    ]


@pytest.mark.parametrize("printed", AS_PODS.values(), ids=AS_PODS)
def test_a_pods_status_shows_how_its_container_ended_and_since_when_it_runs(printed: str, tmp_path: Path) -> None:
    timed = [line for line in lines(tmp_path, printed) if line[0] is not None]
    assert timed == [
        (
            1795169730000,
            "Terminated pod/orders-0 in shop on node-1: Container app ended with exit code 137 (OOMKilled)",
        ),
        (1795169733000, "Running pod/orders-0 in shop on node-1: Container app is running, restarted 1 times"),
    ]


# What clusters were seen to report, as the patterns' samples have it; a status and what Docker says are no events.
PATTERNS = Path(__file__).parents[2] / "patterns"
REPORTED = re.compile(
    r"(?P<reason>(?!Terminated|Running|OutOfMemory|DisruptionTarget|LastScale)[A-Z]\w+) "
    r"(?P<kind>[a-z]+)/(?P<name>[\w.-]+)(?: in (?P<namespace>[\w-]+))?: (?P<message>.+)"
)
AT = "2026-11-20T10:15:30Z"


def reported() -> list[tuple[str, re.Match[str]]]:
    files = sorted((PATTERNS / "kubernetes").glob("*.yaml"))
    samples = (sample["message"] for file in files for sample in document(file)["samples"])
    return [(text, found) for text in samples if (found := REPORTED.fullmatch(text))]


def about(found: re.Match[str]) -> dict[str, str]:
    named = {"kind": found["kind"].title(), "name": found["name"]}
    return named | ({"namespace": found["namespace"]} if found["namespace"] else {})


def as_core(found: re.Match[str]) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{found['name']}.17f2b1c4e5d6a7b8"},
        "involvedObject": about(found),
        "reason": found["reason"],
        "message": found["message"],
        "lastTimestamp": AT,
        "type": "Normal",
    }


def as_events_v1(found: re.Match[str]) -> dict[str, object]:
    return {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "regarding": about(found),
        "reason": found["reason"],
        "note": found["message"],
        "eventTime": AT,
        "type": "Normal",
    }


def listed(all_found: list[re.Match[str]]) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "List", "items": [*map(as_core, all_found)]}


def as_row(found: re.Match[str]) -> str:
    cells = (found["namespace"], AT, "Normal", found["reason"], f"{found['kind']}/{found['name']}", found["message"])
    return "   ".join(filter(None, cells)) + "\n"


SHAPES: dict[str, Callable[[list[re.Match[str]]], str]] = {
    "core/v1 as JSON": lambda all_found: json.dumps(listed(all_found), indent=4),
    "core/v1 as YAML": lambda all_found: yaml.safe_dump(listed(all_found)),
    "events.k8s.io/v1": lambda all_found: "".join(json.dumps(as_events_v1(found)) + "\n" for found in all_found),
    "exported": lambda all_found: "".join(json.dumps({"event": as_core(found)}) + "\n" for found in all_found),
    "a table": lambda all_found: "".join(map(as_row, all_found)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_event_that_is_known_is_read_alike_in_each_shape(shape: str, tmp_path: Path) -> None:
    texts, found = zip(*reported(), strict=True)
    assert len(texts) > 30
    read_back = {text for at, text in lines(tmp_path, SHAPES[shape]([*found])) if at == 1795169730000}
    assert sorted({" ".join(text.split()) for text in texts} - read_back) == []


def test_an_age_is_no_time(tmp_path: Path) -> None:
    row = f"57m   Warning   Unhealthy   pod/orders-0   {PROBE}\n"
    heading = "LAST SEEN   TYPE      REASON      OBJECT         MESSAGE\n"
    assert lines(tmp_path, heading + row) == [(None, f"Unhealthy pod/orders-0: {PROBE}")]
    assert (None, f"Unhealthy pod/orders-0 in shop on node-1 x5: {PROBE}") in lines(tmp_path, DESCRIBED)
