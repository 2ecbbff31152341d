"""Measure everything and write RESULTS.md: `python -m benchmarks`."""

from __future__ import annotations

import argparse
import os
import platform
import re
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from benchmarks import group_lines, growing, scanning, starting
from benchmarks.measuring import ROOT
from rebalance_forensics.pipeline.spark.java import find_java

MOST_COUNTED = 100
"""Counting calls takes more than twice their time."""
RESULTS = ROOT / "benchmarks" / "RESULTS.md"


def machine() -> str:
    """The machine and its software, as printed below each table."""
    model = next((line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if "model name" in line), "?")
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "pyarrow", "hyperscan"))
    return (
        f"Measured on {os.cpu_count()} cores ({model}), {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, "
        f"Java {find_java().release}, {packages}. Load when it began: {load}."
    )


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def main() -> None:
    """Run the selected measurements and write RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of each of the four files")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=8_000, help="of logs that grow in one direction: this, 2x, 4x")
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "rebalance-forensics-bench")
    parser.add_argument(
        "--only",
        nargs="*",
        default=[
            "start",
            "scan",
            "scan-much",
            "compressed",
            "group-lines",
            "clusters",
            "clusters-spark",
            "growth",
            "directions",
            "calls",
        ],
    )
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    sections = sections_of(RESULTS.read_text()) if RESULTS.exists() else {}
    for name, measure in measures(arguments).items():
        if name in arguments.only:
            sections[name] = f"{measure().rstrip()}\n\n{machine()}\n"
            RESULTS.write_text(document_of(sections))
    print(RESULTS.read_text())


def measures(arguments: argparse.Namespace) -> dict[str, Callable[[], str]]:
    """All measurements by their `--only` name."""
    sizes = {"mib": arguments.mib, "runs": arguments.runs}
    return {
        "start": lambda: starting.measure(arguments.runs),
        "scan": lambda: scanning.measure(arguments.directory, share=0.001, **sizes),
        "scan-much": lambda: scanning.measure(arguments.directory, share=0.02, **sizes),
        "compressed": lambda: scanning.measure_compressed(arguments.directory, share=0.001, **sizes),
        "group-lines": lambda: group_lines.measure(arguments.directory, runs=arguments.runs),
        "clusters": lambda: group_lines.measure_clusters(arguments.directory, runs=arguments.runs),
        "clusters-spark": lambda: scanning.measure_clusters(arguments.directory, runs=arguments.runs),
        "growth": lambda: growing.measure(arguments.directory, events=arguments.events),
        "directions": lambda: growing.measure_directions(arguments.directory, size=arguments.size),
        "calls": lambda: growing.measure_calls(arguments.directory, size=min(arguments.size, MOST_COUNTED)),
    }


def sections_of(document: str) -> dict[str, str]:
    """The tables of earlier runs by title; each is kept until it is measured again."""
    return dict(re.findall(r"<!-- (\S+) -->\n(.*?)(?=\n<!-- |\Z)", document, re.DOTALL))


def document_of(sections: dict[str, str]) -> str:
    """The document with all tables; each states the machine and the load on which it was measured."""
    tables = "\n".join(f"<!-- {name} -->\n{text}" for name, text in sections.items())
    return f"# Results\n\n`make bench` measures everything, `--only start scan` some of it.\n\n{tables}"


if __name__ == "__main__":
    main()
