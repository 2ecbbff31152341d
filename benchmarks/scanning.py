"""Throughput: `analyze` beside grep, ripgrep and plain Spark, on the same bytes in the same run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.generate import generate
from benchmarks.measuring import ROOT, Work, command, ours, table, timed_in_turn

FILES = 4
GREP = "grep -c -F GroupCoordinator"


def inputs(directory: Path, mib: int, share: float) -> list[Path]:
    """Four different files; made once."""
    files = [directory / f"broker-{share}-{mib}-{number}.log" for number in range(FILES)]
    for number, file in enumerate(files):
        if not file.exists():
            generate(file, mib << 20, share=share, seed=number)
    return files


def contenders() -> Iterator[tuple[str, Callable[[Sequence[Path]], Work]]]:
    """Who is measured, each as a function of the files."""
    out = "/dev/null"
    yield "analyze --engine spark", lambda files: ours("analyze", *files, "--quiet", "--json", out)
    yield "analyze --engine local", lambda files: ours("analyze", *files, "--quiet", "--json", out, "--engine", "local")
    yield GREP, lambda files: command("grep", "-c", "-F", "GroupCoordinator", *files)
    if shutil.which("rg"):
        yield "rg -c -F GroupCoordinator", lambda files: command("rg", "-c", "-F", "GroupCoordinator", *files)
    yield "one pass over the bytes (memchr)", lambda files: lambda: _memchr(files)


def _memchr(files: Sequence[Path]) -> None:
    for file in files:
        with file.open("rb", buffering=0) as stream:
            while chunk := stream.read(1 << 22):
                chunk.count(b"\0")


def plain_spark(files: Sequence[Path]) -> float:
    """Seconds of Spark's own scan, its start not counted."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bare_spark", "count", *map(str, files)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout)


def measure(directory: Path, *, mib: int, runs: int, share: float) -> str:
    """One table: total of one file, of four, and the marginal rate between them."""
    files = inputs(directory, mib, share)
    more = sum(file.stat().st_size for file in files[1:]) / 1e6
    ones = timed_in_turn({name: contender(files[:1]) for name, contender in contenders()}, runs)
    fours = timed_in_turn({name: contender(files) for name, contender in contenders()}, runs)
    rates = {name: more / max(fours[name].median - ones[name].median, 1e-9) for name in ones}
    plain = more / max(plain_spark(files) - plain_spark(files[:1]), 1e-9)
    grep = rates[GREP]
    rows: list[list[object]] = [
        [name, ones[name], fours[name], f"{rate:.0f}", f"{rate / grep:.2f}",
         f"{fours[name].median / ones[name].median:.2f}", fours[name].peak_mib]
        for name, rate in rates.items()
    ]  # fmt: skip
    rows.append(["spark read.text + contains (14 words)", "", "", f"{plain:.0f}", f"{plain / grep:.2f}", "", ""])
    head = ("", "1 file, s (min / median)", f"{FILES} files, s", "marginal MB/s", "x grep", "4 files / 1", "peak MiB")
    return f"### {share:.1%} relevant lines, files of {mib} MiB\n\n" + table(head, rows)
