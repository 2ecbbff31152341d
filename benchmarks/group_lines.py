"""CPU time from a coordinator's log to the report as JSON, in one process, which other load disturbs little."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import NamedTuple

from benchmarks.cluster_logs import write_broker, write_gc_log, write_node
from benchmarks.coordinator_log import CONNECTION_TRAFFIC, write
from benchmarks.measuring import ROOT, table
from rebalance_forensics.pipeline.catalogs import catalog_of
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.read_plan import plan_reading
from rebalance_forensics.pipeline.read_split import read_split
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.process.resources import collecting_rarely
from rebalance_forensics.report.json_report import to_json

LINES = 30_000
WARM_UP = 40
"""Lines to read first, so that one-time loading is not measured."""


class Case(NamedTuple):
    """A log to measure, with the name of its file."""

    what: str
    name: str
    write: Callable[[Path], Path]


CASES = (
    Case("a coordinator's lines alone", "coordinator", partial(write, lines=LINES)),
    Case("2 % of them among start-up and partition traffic", "start-up", partial(write, lines=4 * LINES, share=0.02)),
    Case(
        "a fifth of them among lines without a group",
        "connections",
        partial(write, lines=35_000, share=0.2, traffic=CONNECTION_TRAFFIC),
    ),
    Case("many groups", "groups", partial(write, lines=LINES, groups=2_000)),
    Case("one group", "group", partial(write, lines=LINES // 15, groups=1)),
    Case("one group, twice as long", "longer-group", partial(write, lines=2 * LINES // 15, groups=1)),
)
CLUSTERS = (
    Case("100 MiB of a GC log", "gc", partial(write_gc_log, mib=100)),
    *(Case(f"{mib} MiB of a broker's log", f"broker-{mib}", partial(write_broker, mib=mib)) for mib in (32, 64, 128)),
    *(
        Case(
            f"a node with {groups} groups and {others:,} lines without one",
            f"node-{groups}-{others}",
            partial(write_node, groups=groups, others=others),
        )
        for groups in (50, 200, 800)
        for others in (2_000, 8_000, 32_000)
    ),
)


def measure(directory: Path, *, runs: int) -> str:
    """Measure logs with only group lines, and logs in which few lines name a group."""
    return _measured("CPU time from bytes to report, one process", "group-lines", CASES, directory, runs)


def measure_clusters(directory: Path, *, runs: int) -> str:
    """Measure logs of a cluster and of a node in which most lines name no group."""
    return _measured("Groups x lines without a group, one process", "clusters", CLUSTERS, directory, runs)


def _measured(title: str, name: str, cases: Sequence[Case], directory: Path, runs: int) -> str:
    """The table with one row per log, the best of several runs."""
    rows: list[Sequence[object]] = []
    warm = write(directory / "warm-up.log", WARM_UP, groups=4)
    for case in cases:
        log = directory / f"{case.name}.log"
        if not log.exists():
            case.write(log)
        with log.open("rb") as read_again:
            lines = sum(1 for _ in read_again)
        spent = [_run(warm, log) for _ in range(runs)]
        read, seconds = (min(each[part] for each in spent) for part in (0, 1))
        rate = log.stat().st_size / 1e6 / seconds
        rows.append([case.what, lines, f"{seconds:.1f}", f"{seconds / lines * 1e3:.3f}",
                     f"{read / lines * 1e3:.3f}", f"{rate:.1f}", min(mib for *_, mib in spent)])  # fmt: skip
        print(*rows[-1], sep=" | ", flush=True)
    head = ("log", "lines", "CPU s", "CPU ms a line", "bytes to events alone, ms", "MB/s of CPU", "peak MiB")
    shared = f"`python -m benchmarks --only {name}`; CPU seconds, for other work may share the machine and the caches."
    return f"### {title}\n\n{shared}\n\n{table(head, rows)}"


def _run(warm: Path, log: Path) -> tuple[float, float, int]:
    """CPU seconds until the events and until the report, and the peak memory in MiB, in a separate process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.group_lines", warm, log],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    read, seconds, mib = done.stdout.split()
    return float(read), float(seconds), int(mib)


def _cpu() -> float:
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _read(log: str) -> None:
    """Read all events of a log and discard them."""
    plan = plan_reading([log], AnalyzeOptions(engine="local"), workers=1)
    catalog = catalog_of(plan.reading.patterns)
    with collecting_rarely():
        for split in (split for portion in plan.portions for split in portion):
            deque(read_split(split, catalog, plan.reading), maxlen=0)


def main() -> None:
    """Analyze the logs in turn and print the cost of the last one."""
    read = whole = 0.0
    for log in sys.argv[1:]:
        begun = _cpu()
        to_json(analyze([log], AnalyzeOptions(engine="local", lanes=False)))
        whole = _cpu() - begun
        begun = _cpu()
        _read(log)
        read = _cpu() - begun
    print(read, whole, getrusage(RUSAGE_SELF).ru_maxrss >> 10)


if __name__ == "__main__":
    main()
