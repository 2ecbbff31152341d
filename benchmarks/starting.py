"""Start-up time: a sample incident on Spark, compared with a bare session that runs one mapInArrow."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import ROOT, command, ours, table, timed_in_turn

SAMPLE = ROOT / "sample_logs" / "slow-processing"


def measure(runs: int) -> str:
    """Measure; returns the table."""
    with tempfile.TemporaryDirectory() as caches:
        cold, warm = Path(caches, "cold"), Path(caches, "warm")
        analyze = ("analyze", SAMPLE, "--quiet", "--json", "/dev/null", "--engine")
        ours(*analyze, "local", cache=cold)()
        ours("warmup", cache=warm)()
        bare = "bare session, default settings, one mapInArrow"
        timings = timed_in_turn(
            {
                bare: command(sys.executable, "-m", "benchmarks.bare_spark", "start"),
                "analyze a sample, before warmup": ours(*analyze, "spark", cache=cold),
                "analyze a sample, after warmup": ours(*analyze, "spark", cache=warm),
                "analyze a sample, --engine local": ours(*analyze, "local", cache=cold),
            },
            runs,
        )
    rows = [[name, timing, f"{timing.median / timings[bare].median:.2f}"] for name, timing in timings.items()]
    return "### Start\n\n" + table(("", "s (min / median)", "x bare (medians)"), rows)
