"""CPU time from a log of a coordinator's lines to the report as JSON, in one process: other work disturbs it little."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import NamedTuple

from benchmarks.coordinator_log import write
from benchmarks.measuring import ROOT, table
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
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


CASES = (
    Case("a coordinator's lines alone", LINES, 200),
    Case("2 % of them among start-up and partition traffic", 4 * LINES, 200, 0.02),
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
            write(log, case.lines, groups=case.groups, share=case.share)
        seconds, mib = min(_run(warm, log) for _ in range(runs))
        rate = log.stat().st_size / 1e6 / seconds
        rows.append([case.what, case.lines, case.groups, f"{seconds:.1f}", f"{seconds / case.lines * 1e3:.3f}",
                     f"{rate:.1f}", mib])  # fmt: skip
    head = ("log", "lines", "groups", "CPU s", "CPU ms a line", "MB/s of CPU", "peak MiB")
    return f"### CPU time from bytes to report, one process\n\n{SHARED}\n\n{table(head, rows)}"


def _run(warm: Path, log: Path) -> tuple[float, int]:
    """CPU seconds, and the most memory in MiB, of a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.group_lines", warm, log],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds, mib = done.stdout.split()
    return float(seconds), int(mib)


def _cpu() -> float:
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Analyze the logs one after another and tell what the last one took."""
    before = 0.0
    for log in sys.argv[1:]:
        before = _cpu()
        to_json(analyze([log], AnalyzeOptions(engine="local", lanes=False)))
    print(_cpu() - before, getrusage(RUSAGE_SELF).ru_maxrss >> 10)


if __name__ == "__main__":
    main()
