"""Measure everything side by side and write the table: `python -m benchmarks`."""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from importlib.metadata import version
from pathlib import Path

from benchmarks import growing, scanning, starting
from benchmarks.measuring import ROOT
from rebalance_forensics.pipeline.java import find_java

RESULTS = ROOT / "benchmarks" / "RESULTS.md"


def machine() -> str:
    """What it was measured on."""
    model = next((line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if "model name" in line), "?")
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "pyarrow", "hyperscan"))
    return (
        f"{os.cpu_count()} cores ({model}), {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, "
        f"Java {find_java().release}, {packages}. Load when it began: {load}."
    )


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def main() -> None:
    """Run what is asked for and write RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of each of the four files")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "rebalance-forensics-bench")
    parser.add_argument("--only", nargs="*", default=["start", "scan", "growth"])
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    parts = [f"# Results\n\n`make bench`, in one run. {machine()}\n"]
    if "start" in arguments.only:
        parts.append(starting.measure(arguments.runs))
    if "scan" in arguments.only:
        for share in (0.001, 0.02):
            parts.append(  # noqa: PERF401 - each takes minutes; an exception must not lose the others' place
                scanning.measure(arguments.directory, mib=arguments.mib, runs=arguments.runs, share=share)
            )
    if "growth" in arguments.only:
        parts.append(growing.measure(arguments.directory, events=arguments.events))
    RESULTS.write_text("\n".join(parts))
    print(RESULTS.read_text())


if __name__ == "__main__":
    main()
