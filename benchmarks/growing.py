"""Growth of costs: more events in many groups and in one group, and logs that grow in one dimension each."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.cluster_logs import write_node
from benchmarks.generate import generate
from benchmarks.growth_logs import GROWING, write_growing
from benchmarks.measuring import calls_of, ours, table
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

BYTES_A_LINE = 200


def measure(directory: Path, *, events: int) -> str:
    """Measure a log of relevant lines with a quarter, half and all of the events, then with all events in one group."""
    rows = []
    for share, groups in ((0.25, 5_000), (0.5, 10_000), (1.0, 20_000)):
        rows.append(_row(directory, int(events * share), int(groups * events / 1_000_000)))
    rows.append(_row(directory, events // 20, 1))
    head = ("lines", "groups", "CPU s", "CPU ms a line", "peak MiB")
    return "### Growth: a log of nothing but group lines, its report as JSON, one process\n\n" + table(head, rows)


def _row(directory: Path, events: int, groups: int) -> list[object]:
    file = directory / f"events-{events}-{groups}.log"
    if not file.exists():
        generate(file, events * BYTES_A_LINE, share=1.0, seed=5, groups=max(groups, 1))
    lines = sum(chunk.count(b"\n") for chunk in iter(file.open("rb").read, b""))
    # The workers are children of a fork server, so only the run itself knows their CPU time.
    with tempfile.NamedTemporaryFile("r") as stages, tempfile.TemporaryDirectory(dir=directory) as written:
        run = ("analyze", file, "--quiet", "--timings", "--json", Path(written) / "report.json", "--engine", "local")
        mib = ours(*run, errors=Path(stages.name))()
        seconds = float(stages.read().split()[-1])
    return [lines, groups, f"{seconds:.1f}", f"{seconds / lines * 1e3:.3f}", mib]


def measure_directions(directory: Path, *, size: int) -> str:
    """Measure CPU seconds from the log to the report for each of GROWING at three sizes, and their growth."""
    rows = []
    _seconds(directory, "groups", 10)  # warm-up
    for what in GROWING:
        seconds = [_seconds(directory, what, size * factor) for factor in (1, 2, 4)]
        growth = seconds[2] / seconds[1]
        rows.append([what, *(f"{one:.2f}" for one in seconds), f"{growth:.1f}"])
        print(*rows[-1], sep=" | ", flush=True)
    head = ("what grows", *(f"{size * factor:,}" for factor in (1, 2, 4)), "last doubling")
    return f"### Growth in one direction, CPU seconds\n\n{table(head, rows)}"


LAW = (
    *("groups", "members of a group", "generations of a group", "evictions of a member", "incidents hours apart"),
    *("members with a log each", "files of a rolled log", "connections that its process loses"),
)
"""The logs of GROWING that show the growth of a cluster."""


def measure_calls(directory: Path, *, size: int) -> str:
    """Count calls from the log to the report for each of LAW, then for groups x lines without a group."""
    write_to = directory / "growing"
    _calls(write_growing(write_to, "groups", 10))  # warm-up
    rows: list[list[object]] = []
    for what in LAW:
        calls = [_calls(write_growing(write_to, what, size * factor)) for factor in (1, 2, 4)]
        rows.append([what, *(f"{one:,}" for one in calls), f"{calls[2] / calls[1]:.2f}"])
        print(*rows[-1], sep=" | ", flush=True)
    head = ("what grows", *(f"{size * factor:,}" for factor in (1, 2, 4)), "last doubling")
    lines = (2_000, 4_000, 8_000)
    pairs: list[list[object]] = []
    for groups in (50, 100, 200):
        calls = [_calls(write_node(directory / f"node-{groups}-{others}.log", groups, others)) for others in lines]
        pairs.append([f"{groups} groups", *(f"{one:,}" for one in calls), f"{calls[2] / calls[1]:.2f}"])
        print(*pairs[-1], sep=" | ", flush=True)
    of_pairs = ("a node's log with", *(f"{others:,} lines without a group" for others in lines), "last doubling")
    return f"### Growth, in calls of functions\n\n{table(head, rows)}\n{table(of_pairs, pairs)}"


def _calls(logs: Path) -> int:
    return calls_of(lambda: analyze([str(logs)], AnalyzeOptions(engine="local")))


def _seconds(directory: Path, what: str, size: int) -> float:
    logs = write_growing(directory / "growing", what, size)
    begun = time.process_time()
    analyze([str(logs)], AnalyzeOptions(engine="local"))
    return time.process_time() - begun
