"""However a log travelled: the same generations and the same first cause as in the plain one."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.sources import envelopes

_PREPARING = "Preparing to rebalance group payments in state PreparingRebalance with old generation"
_ADDING = "(reason: Adding new member {} with group instance id None; client reason: not provided)"
_ASSIGNED = "Assignment received from leader c-1-77aa for group payments for generation"
_MESSAGES = [
    ("10:00:00,000", f"{_PREPARING} 0 (__consumer_offsets-3) {_ADDING.format('c-1-77aa')}"),
    ("10:00:03,000", "Stabilized group payments generation 1 (__consumer_offsets-3) with 2 members"),
    ("10:00:03,050", f"{_ASSIGNED} 1. The group has 2 members, 0 of which are static."),
    ("10:05:00,000", "Member c-2-91bc in group payments has failed, removing it from the group"),
    (
        "10:05:00,001",
        f"{_PREPARING} 1 (__consumer_offsets-3) (reason: removing member c-2-91bc on heartbeat expiration)",
    ),
    ("10:05:02,400", "Stabilized group payments generation 2 (__consumer_offsets-3) with 1 members"),
    ("10:05:02,430", f"{_ASSIGNED} 2. The group has 1 members, 0 of which are static."),
    ("10:09:10,000", f"{_PREPARING} 2 (__consumer_offsets-3) {_ADDING.format('c-3-02de')}"),
    ("10:09:12,000", "Stabilized group payments generation 3 (__consumer_offsets-3) with 2 members"),
    ("10:09:12,040", f"{_ASSIGNED} 3. The group has 2 members, 0 of which are static."),
]
LINES = [
    (
        time := f"2026-11-20 {clock}",
        f"[{time}] INFO [GroupCoordinator 1]: {message} (kafka.coordinator.group.GroupCoordinator)",
    )
    for clock, message in _MESSAGES
]
REPORTS = {"containerd-events", "docker-events", "kubernetes-object", "kubernetes-row", "thread-dump"}
"""What Docker, Kubernetes and an actuator report: an object or a row of theirs wraps no line of a log."""
ENVELOPES = [name for name in envelopes.definitions() if name not in REPORTS]


def wrapped(name: str, time: str, line: str) -> str:
    """The envelope's first sample around another line, its times moved to that line's."""
    at = datetime.strptime(time, "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
    if name == "csv-export":
        out = io.StringIO()
        csv.writer(out).writerow([at.isoformat(), "b1", line])
        return out.getvalue().rstrip()
    sample = envelopes.definitions()[name].samples[0]
    is_json = sample.line.startswith("{")
    before, after = (json.dumps(text)[1:-1] if is_json else text for text in (sample.fields["text"], line))
    head, found, tail = sample.line.partition(before)
    assert found
    return f"{_moved(head, at)}{after}{_moved(tail, at)}"


def _moved(text: str, at: datetime) -> str:
    fraction = f"{at.microsecond * 1000:09}"

    def clock(match: re.Match[str]) -> str:
        time = at + timedelta(hours=int(match["hour"]) - 10)
        return f"{time:%H:%M:%S}" + (f".{fraction}"[: len(match["fraction"])] if match["fraction"] else "")

    text = re.sub(r"(?P<hour>\d\d):15:30(?P<fraction>\.\d+)?", clock, text)
    return re.sub(r"1795169730(\d*)", lambda match: f"{at.timestamp() // 1:.0f}{fraction[: len(match[1])]}", text)


Findings = tuple[list[tuple[int, int | None, int | None, tuple[str, ...], tuple[str, ...]]], list[tuple[str, str]]]


def findings(path: Path) -> Findings:
    """The generations of the group, and the first cause of each incident."""
    report = analyze([str(path)], AnalyzeOptions(engine="local"))
    (group,) = report.groups
    generations = [
        (each.generation, each.started_at, each.completed_at, each.joined, each.left) for each in group.generations
    ]
    return generations, [(incident.group_name, incident.root_causes[0].cause) for incident in report.incidents]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    path = tmp_path_factory.mktemp("plain") / "server.log"
    path.write_text("".join(f"{line}\n" for _, line in LINES))
    return findings(path)


def test_the_plain_log_shows_three_generations_and_a_crash(plain: Findings) -> None:
    generations, causes = plain
    assert [number for number, *_ in generations] == [1, 2, 3]
    assert ("payments", "process-crash") in causes


@pytest.mark.parametrize("name", ENVELOPES)
def test_the_wrapped_log_shows_the_same(name: str, plain: Findings, tmp_path: Path) -> None:
    header = ["_time,host,_raw"] if name == "csv-export" else []
    path = tmp_path / "export"
    path.write_text("\n".join([*header, *(wrapped(name, time, line) for time, line in LINES)]) + "\n")
    assert findings(path) == plain
