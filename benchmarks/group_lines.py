"""CPU time from a log of a coordinator's lines to the report as JSON, in one process: other work disturbs it little."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import NamedTuple

from benchmarks.coordinator_log import CONNECTION_TRAFFIC, PARTITION_TRAFFIC, write
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
"""So many lines first, so that what is loaded once is not counted."""


SHARED = "`python -m benchmarks --only group-lines`; CPU seconds, for other work may share the machine and the caches."


class Case(NamedTuple):
    """A log to be measured."""

    what: str
    lines: int
    groups: int
    share: float = 1.0
    traffic: tuple[str, ...] = PARTITION_TRAFFIC


CASES = (
    Case("a coordinator's lines alone", LINES, 200),
    Case("2 % of them among start-up and partition traffic", 4 * LINES, 200, 0.02),
    Case("a fifth of them among lines without a group", 35_000, 200, 0.2, CONNECTION_TRAFFIC),
    Case("many groups", LINES, 2_000),
    Case("one group", LINES // 15, 1),
    Case("one group, twice as long", 2 * LINES // 15, 1),
)


def measure(directory: Path, *, runs: int) -> str:
    """One row a log, each the best of several runs."""
    rows: list[Sequence[object]] = []
    warm = write(directory / "coordinator-warm-up.log", WARM_UP, groups=4)
    for case in CASES:
        log = directory / f"coordinator-{case.lines}-{case.groups}-{case.share}.log"
        if not log.exists():
            write(log, case.lines, groups=case.groups, share=case.share, traffic=case.traffic)
        spent = [_run(warm, log) for _ in range(runs)]
        read, seconds = (min(each[part] for each in spent) for part in (0, 1))
        rate = log.stat().st_size / 1e6 / seconds
        rows.append([case.what, case.lines, case.groups, f"{seconds:.1f}", f"{seconds / case.lines * 1e3:.3f}",
                     f"{read / case.lines * 1e3:.3f}", f"{rate:.1f}", min(mib for *_, mib in spent)])  # fmt: skip
    head = ("log", "lines", "groups", "CPU s", "CPU ms a line", "bytes to events alone, ms", "MB/s of CPU", "peak MiB")
    return f"### CPU time from bytes to report, one process\n\n{SHARED}\n\n{table(head, rows)}"


def _run(warm: Path, log: Path) -> tuple[float, float, int]:
    """CPU seconds to the events and to the report, and the most memory in MiB, of a process of its own."""
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
    """Read all events of a log and let each go."""
    plan = plan_reading([log], AnalyzeOptions(engine="local"), workers=1)
    catalog = catalog_of(plan.reading.patterns)
    with collecting_rarely():
        for split in (split for portion in plan.portions for split in portion):
            deque(read_split(split, catalog, plan.reading), maxlen=0)


def main() -> None:
    """Analyze the logs one after another and tell what the last one took."""
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
