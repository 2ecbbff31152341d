"""The start: a sample incident through Spark beside a bare session that runs one mapInArrow."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.measuring import ROOT, command, ours, table, timed
from rebalance_forensics.pipeline.archives import archive_for
from rebalance_forensics.pipeline.java import find_java

SAMPLE = ROOT / "sample_logs" / "slow-processing"


def measure(runs: int) -> str:
    """One table; the class archive is put aside for the runs without it."""
    bare = timed(command(sys.executable, "-m", "benchmarks.bare_spark", "start"), runs)
    analyze = ours("analyze", SAMPLE, "--quiet", "--json", "/dev/null")
    archive = archive_for(find_java()).path
    aside = Path(f"{archive}.aside")
    if archive.exists():
        archive.rename(aside)
    cold = timed(analyze, runs)
    if aside.exists():
        aside.rename(archive)
    else:
        ours("warmup")()
    warm = timed(analyze, runs)
    local = timed(ours("analyze", SAMPLE, "--quiet", "--json", "/dev/null", "--engine", "local"), runs)
    rows = [
        [name, timing, f"{timing.best / bare.best:.2f}"]
        for name, timing in (
            ("bare session, default settings, one mapInArrow", bare),
            ("analyze a sample, before warmup", cold),
            ("analyze a sample, after warmup", warm),
            ("analyze a sample, --engine local", local),
        )
    ]
    return "### Start\n\n" + table(("", "s (min / median)", "x bare"), rows)
