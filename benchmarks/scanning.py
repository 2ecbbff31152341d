"""Throughput of `analyze`, grep, ripgrep and plain Spark on the same bytes in the same run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.cluster_logs import write_broker
from benchmarks.generate import generate
from benchmarks.measuring import ROOT, Work, command, ours, table, timed_in_turn

FILES = 4
ENGINES = ("analyze --engine spark", "analyze --engine local")
GREP = "grep -c -F GroupCoordinator"
GUNZIP = "gzip -dc"
INFLATE = "our own decompressor alone"
INFLATING = (
    "import sys\nfrom rebalance_forensics.sources.files.decompression import chunks_of\n"
    "from rebalance_forensics.sources.files.places import Place\n"
    "for file in sys.argv[1:]:\n    for chunk in chunks_of(Place(file)): pass"
)
Contender = Callable[[Sequence[Path]], Work]


def inputs(directory: Path, mib: int, share: float) -> list[Path]:
    """Four different files, generated only if they do not exist."""
    files = [directory / f"broker-{share}-{mib}-{number}.log" for number in range(FILES)]
    for number, file in enumerate(files):
        if not file.exists():
            generate(file, mib << 20, share=share, seed=number)
    return files


def contenders() -> Iterator[tuple[str, Contender]]:
    """The measured programs, each as a function of the files."""
    on_spark, locally = ENGINES
    yield on_spark, lambda files: _analyze(files, "spark")
    yield locally, lambda files: _analyze(files, "local")
    yield "analyze --engine spark, without Hyperscan", lambda files: _analyze(files, "spark", without="hyperscan")
    # If its output is /dev/null, grep stops at the first match.
    searched = ("-c", "-F", "GroupCoordinator")
    yield GREP, lambda files: command("grep", *searched, *files, heard=True)
    if shutil.which("rg"):
        yield "rg -c -F GroupCoordinator", lambda files: command("rg", *searched, *files, heard=True)
    yield "one pass over the bytes (memchr)", lambda files: lambda: _memchr(files)


def _analyze(files: Sequence[Path], engine: str, without: str | None = None) -> Work:
    """`analyze` with an explicit engine, because the default depends on the size of the input."""
    return ours("analyze", *files, "--quiet", "--json", "/dev/null", "--engine", engine, without=without)


def _memchr(files: Sequence[Path]) -> None:
    for file in files:
        with file.open("rb", buffering=0) as stream:
            while chunk := stream.read(1 << 22):
                chunk.count(b"\0")


def plain_spark(files: Sequence[Path]) -> float:
    """Seconds of a scan by Spark itself, without its start."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bare_spark", "count", *map(str, files)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout)


def measure(directory: Path, *, mib: int, runs: int, share: float) -> str:
    """The table with the time for one file and for four, and the marginal rate between them."""
    title = f"### {share:.1%} relevant lines, files of {mib} MiB\n\n"
    return title + _beside_plain_spark(inputs(directory, mib, share), dict(contenders()), runs)


def measure_clusters(directory: Path, *, runs: int) -> str:
    """The table for a broker's log of which a fifth matches, mostly lines without a group."""
    files = [directory / f"cluster-{number}.log" for number in range(FILES)]
    for number, file in enumerate(files):
        if not file.exists():
            write_broker(file, 32, seed=number)
    few = {name: runner for name, runner in contenders() if name in (*ENGINES, GREP)}
    return "### A broker's log through Spark, files of 32 MiB\n\n" + _beside_plain_spark(files, few, runs)


def _beside_plain_spark(files: list[Path], runners: dict[str, Contender], runs: int) -> str:
    more = sum(file.stat().st_size for file in files[1:]) / 1e6
    table_of, rates = _compared(runners, files, more, GREP, runs)
    plain = more / max(plain_spark(files) - plain_spark(files[:1]), 1e-9)
    table_of.append(
        ["spark read.text + contains (14 words)", "", "", f"{plain:.0f}", f"{plain / rates[GREP]:.3f}", "", ""]
    )
    return table(_head("grep"), table_of)


def measure_compressed(directory: Path, *, mib: int, runs: int, share: float) -> str:
    """The table for gzip files, compared with gzip itself."""
    plain = inputs(directory, mib, share)
    packed = [file.with_name(f"{file.name}.gz") for file in plain]
    for file, target in zip(plain, packed, strict=True):
        if not target.exists():
            with target.open("wb") as out:
                subprocess.run(["gzip", "-1", "-c", file], stdout=out, check=True)
    more = sum(file.stat().st_size for file in plain[1:]) / 1e6
    runners: dict[str, Contender] = {
        "analyze --engine spark": lambda files: _analyze(files, "spark"),
        GUNZIP: lambda files: command("gzip", "-dc", *files),
        INFLATE: lambda files: command(sys.executable, "-c", INFLATING, *files),
    }
    rows, _ = _compared(runners, packed, more, GUNZIP, runs)
    head = _head("gzip")
    return f"### Compressed: {share:.1%} relevant lines, gzip files of {mib} MiB of log\n\n" + table(head, rows)


def _head(yardstick: str) -> Sequence[str]:
    return (
        "",
        "1 file, s (min / median)",
        f"{FILES} files, s",
        "marginal MB/s",
        f"x {yardstick}",
        "4 files / 1",
        "peak MiB",
    )


def _compared(
    runners: dict[str, Contender], files: list[Path], more: float, yardstick: str, runs: int
) -> tuple[list[list[object]], dict[str, float]]:
    """A row per contender with its marginal rate by medians, in MB/s of log."""
    ones = timed_in_turn({name: runner(files[:1]) for name, runner in runners.items()}, runs)
    fours = timed_in_turn({name: runner(files) for name, runner in runners.items()}, runs)
    rates = {name: more / max(fours[name].median - ones[name].median, 1e-9) for name in ones}
    rows: list[list[object]] = [
        [name, ones[name], fours[name], f"{rate:.0f}", f"{rate / rates[yardstick]:.2f}",
         f"{fours[name].median / ones[name].median:.2f}", fours[name].peak_mib]
        for name, rate in rates.items()
    ]  # fmt: skip
    return rows, rates
