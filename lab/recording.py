"""The results of a run: logs, truth.json and listener.jsonl."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from lab.members import ASSIGNORS, Group

FaultKind = Literal[
    "kill-process", "pause-process", "stall-polling-thread", "fill-heap", "fill-memory", "restart-process",
    "start-process", "set-request-quota",
]  # fmt: skip
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An injected fault with its kind, target and time (epoch ms); `ms` is its duration, if it has one."""

    ts: int
    kind: FaultKind
    target: str
    ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The expected diagnosis: a cause (docs/adding-a-root-cause.md) and its culprit."""

    cause: str
    culprit: str | list[str]


def now() -> int:
    """The current time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def listened(scratch: Path) -> list[Row]:
    """The rows of all members' rebalance listeners in order of time, without incomplete lines."""
    return [row for row in _written(scratch) if row["event"] != "dry"]


def ran_dry(scratch: Path) -> list[Row]:
    """The partitions from which a member got no records between `since` and `ts`, although records were written."""
    return [row for row in _written(scratch) if row["event"] == "dry"]


def _written(scratch: Path) -> list[Row]:
    rows = []
    for file in sorted(scratch.glob("*.listener.jsonl")):
        rows += [json.loads(line) for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return sorted(rows, key=lambda row: int(row["ts"]))


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write each row as a line of JSON."""
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))


def truth_of(
    scenario: str, group: Group, broker: str, brokers: int, faults: list[Fault], expected: Expected, ended: int
) -> dict[str, object]:
    """The contents of truth.json."""
    members = range(1, 1 + max(group.members, *(_number(fault.target) for fault in faults)))
    hosts: dict[str, object] = {
        f"broker-{n}": {"kind": "broker", "layout": "kafka", "tz": "UTC"} for n in range(1, 1 + brokers)
    }
    for number in members:
        hosts[f"node-{number}"] = {
            "kind": "consumer",
            "layout": "kafka",
            "tz": "UTC",
            "kafka": group.release,
            "client_id": group.client_id(number),
            "group": group.name,
        }
    return {
        "scenario": scenario,
        "kafka_broker": broker,
        "kafka_client": group.release,
        "groups": {
            group.name: {
                "kind": "consumer",
                "assignor": ASSIGNORS[group.protocol].rpartition(".")[2] if group.protocol in ASSIGNORS else None,
                "static": group.protocol == "static",
                "new_protocol": group.protocol == "kip-848",
                "topic": group.topic,
                "batch_ms": group.batch_ms,
            }
        },
        "faults": [{k: v for k, v in asdict(fault).items() if v is not None} for fault in faults],
        "hosts": hosts,
        "expected": {"group": group.name, **asdict(expected)},
        "window": {"from": faults[0].ts, "to": ended},
    }


def _number(target: str) -> int:
    return int(target.rpartition("-")[2])
