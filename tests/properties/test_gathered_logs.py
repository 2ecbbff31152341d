"""How logs were gathered, and what else a process does, leave the verdict as it was."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from gzip import compress
from pathlib import Path
from zlib import crc32

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.model import Report
from tests.conftest import SAMPLES

NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]\d{3}(?:Z|[+-]\d\d:?\d\d)?")
HOUR_MS = 3_600_000
VERSION = re.compile(r"Kafka version: \S+")

Verdict = tuple[list[tuple[object, ...]], dict[str, int]]


def verdict(report: Report) -> Verdict:
    """Each incident with its first cause and its culprits, and for each group how long its partitions were unread."""
    incidents = [
        (i.group, i.severity, i.root_causes[0].cause, *sorted(c.name for c in i.root_causes[0].culprits))
        for i in report.incidents
    ]
    unread = {g.group: sum((u.ended_at or u.started_at) - u.started_at for u in g.unread) for g in report.groups}
    return sorted(incidents, key=str), unread


@cache
def as_it_was(name: str) -> Verdict:
    return verdict(read(SAMPLES / name))


def read(directory: Path) -> Report:
    return analyze([str(directory)], AnalyzeOptions(engine="local"))


def shown(names: list[str], *always: str) -> Iterator[object]:
    """All of them in the long run; in the short one a fifth, by their hash, and those named."""
    for name in names:
        short = name in always or crc32(name.encode()) % 5 == 0
        yield pytest.param(name, marks=[] if short else [pytest.mark.long])


def with_other_clients(log: str, kind: str, *, configuration: bool) -> str:
    """The log of a process that makes and closes an AdminClient or a producer at most every seven lines."""
    lines = log.split("\n")
    version = next((line for line in lines if VERSION.search(line) and TIME.search(line)), None)
    if version is None:
        return log
    name = {"AdminClient": "admin.client", "Producer": "producer"}[kind]
    made = [f"{kind}Config values: \n\tclient.id = other-1\n\trequest.timeout.ms = 30000\n"] if configuration else []
    messages = [*made, "Kafka version: 3.9.1", f"App info kafka.{name} for other-1 unregistered"]
    found = []
    for number, line in enumerate(lines):
        if number % 7 == 6 and (time := TIME.search(line)):
            before, after = VERSION.split(TIME.sub(time[0], version, count=1), maxsplit=1)
            found += [f"{before}{message}{after}" for message in messages]
        found.append(line)
    return "\n".join(found)


@pytest.mark.parametrize(
    "name",
    [*shown(NAMES, "connect-config-change", "member-removed", "slow-processing", "static-member-restart")],
)
@pytest.mark.parametrize("kind", ["AdminClient", "Producer"])
def test_other_clients_of_a_running_process_are_no_restart_of_it(name: str, kind: str, tmp_path: Path) -> None:
    logs = shutil.copytree(SAMPLES / name, tmp_path / name)
    for log in sorted(path for path in logs.rglob("*.log") if "broker" not in path.parent.name):
        log.write_text(with_other_clients(log.read_text(), kind, configuration=kind == "AdminClient"))
    assert verdict(read(logs)) == as_it_was(name)


def rolled_and_exported(log: Path) -> None:
    """The log is cut in two, and lines of both are exported into another file."""
    lines = [f"{line}\n" for line in log.read_text().splitlines()]
    begin, cut, end = (_record_from(lines, len(lines) * tenths // 10) for tenths in (4, 6, 8))
    log.with_name(f"{log.name}.1").write_text("".join(lines[:cut]))
    log.write_text("".join(lines[cut:]))
    log.parent.with_name(f"export-of-{log.parent.name}-{log.name}").write_text("".join(lines[begin:end]))


def _record_from(lines: list[str], number: int) -> int:
    return next((n for n in range(number, len(lines)) if TIME.search(lines[n])), len(lines))


def with_kubectls_times(log: Path) -> None:
    """The same log once more, as `kubectl logs --timestamps` prints it; its lines must print their dates."""
    text, lines, utc = log.read_text(), [], ""
    if TIME.search(text) is None:
        pytest.skip("the log prints no date to make kubectl's times of")
    start = re.search(r"startTimeMs: (\d+)", text)
    east_ms = (
        round((local_ms(text[: start.start()].splitlines()[-1]) - int(start[1])) / HOUR_MS) * HOUR_MS if start else 0
    )
    for line in text.splitlines():
        if TIME.search(line):
            utc = f"{datetime.fromtimestamp((local_ms(line) - east_ms) / 1000, UTC):%Y-%m-%dT%H:%M:%S.%f}"
        if line and utc:
            lines.append(f"{utc}345Z {line}\n")
    log.parent.with_name(f"kubectl-{log.parent.name}-{log.name}").write_text("".join(lines))


def local_ms(line: str) -> int:
    """The time in a line as if it were in UTC."""
    time = TIME.search(line)
    assert time is not None
    return round(datetime.fromisoformat(f"{time[0][:23].replace(',', '.')}+00:00").timestamp() * 1000)


COPIES: dict[str, Callable[[Path], object]] = {
    "another host": lambda log: shutil.copytree(log.parent, log.parent.with_name(f"{log.parent.name}-copy")),
    "another name": lambda log: shutil.copy(log, log.with_name(f"copy-of-{log.name}")),
    "packed twice": lambda log: log.with_name(f"{log.name}.gz.gz").write_bytes(compress(compress(log.read_bytes()))),
    "rolled and exported": rolled_and_exported,
    "kubectl": with_kubectls_times,
}


@pytest.mark.parametrize("name", [*shown(NAMES, "member-removed", "probing-loop")])
@pytest.mark.parametrize("copied", COPIES)
def test_a_log_that_was_collected_twice_is_of_one_process(name: str, copied: str, tmp_path: Path) -> None:
    logs = shutil.copytree(SAMPLES / name, tmp_path / name)
    clients = sorted(path for path in logs.rglob("*.log") if "broker" not in path.parent.name)
    for log in {log.parent: log for log in clients[:2]}.values() or sorted(logs.rglob("*.log"))[:1]:
        COPIES[copied](log)
    assert verdict(read(logs)) == as_it_was(name)


@pytest.mark.parametrize(
    ("one", "two"),
    [("scale-in", "slow-processing"), ("coordinator-failover", "offsets-expired"), ("process-crash", "startup")],
)
def test_two_clusters_side_by_side_give_the_verdicts_of_both(one: str, two: str, tmp_path: Path) -> None:
    """Each in a directory of its own, which nobody says: their brokers register for the first time twice."""
    shutil.copytree(SAMPLES / one, tmp_path / "east")
    shutil.copytree(SAMPLES / two, tmp_path / "west")
    report = read(tmp_path)
    assert {group.cluster for group in report.groups} == {"east", "west"}
    assert {found.cluster for found in report.inputs if found.component == "broker"} == {"east", "west"}
    incidents, _ = verdict(report)
    assert incidents == sorted([*as_it_was(one)[0], *as_it_was(two)[0]], key=str)


def test_brokers_of_another_cluster_in_the_same_directory_do_not_concern_a_group(tmp_path: Path) -> None:
    for name, cluster in (("rolling-restart", "east"), ("member-left", "west")):
        for host in (path for path in (SAMPLES / name).iterdir() if path.is_dir()):
            shutil.copytree(host, tmp_path / f"{host.name}-{cluster}")
    incidents, _ = verdict(read(tmp_path))
    assert incidents == sorted([*as_it_was("rolling-restart")[0], *as_it_was("member-left")[0]], key=str)
