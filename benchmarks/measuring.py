"""Timing of commands, several times under the same conditions."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from cProfile import Profile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds of several runs, and the peak memory of all Python processes together."""

    seconds: tuple[float, ...]
    peak_mib: int = 0

    @property
    def best(self) -> float:
        """The time of the run that other load disturbed least."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The typical time."""
        return statistics.median(self.seconds)

    def __str__(self) -> str:
        """Best and median, as in the tables."""
        return f"{self.best:.2f} / {self.median:.2f}"


Work = Callable[[], int | None]
"""Work to be timed; may return its peak memory in MiB."""


def calls_of(work: Callable[[], object]) -> int:
    """The number of calls of functions, Python's and C's, which unlike seconds is the same on every machine."""
    profile = Profile(builtins=True)
    with profile:
        work()
    return sum(entry.callcount for entry in profile.getstats())


def timed(work: Work, runs: int) -> Timing:
    """Time some work several times."""
    return timed_in_turn({"": work}, runs)[""]


def timed_in_turn(contenders: Mapping[str, Work], runs: int) -> dict[str, Timing]:
    """Time several contenders in turn, so that other load of the machine affects all of them equally."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    peaks = dict.fromkeys(contenders, 0)
    for _ in range(runs):
        for name, work in contenders.items():
            started = time.perf_counter()
            peaks[name] = max(peaks[name], work() or 0)
            seconds[name].append(time.perf_counter() - started)
    return {name: Timing(seconds=tuple(seconds[name]), peak_mib=peaks[name]) for name in contenders}


@dataclass(slots=True)
class _Watch:
    """Samples the memory of a process and its descendants until it is stopped."""

    process: int
    peak_kib: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        while not self.done.wait(0.1):
            self.peak_kib = max(self.peak_kib, sum(map(python_kib, family(self.process))))


def family(process: int) -> Iterator[int]:
    """A process and all its descendants."""
    yield process
    children = []
    # A JVM may start processes from any of its threads.
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            children += (thread / "children").read_text().split()
    for child in children:
        yield from family(int(child))


def python_kib(process: int) -> int:
    """The memory of a Python process in KiB, 0 for other processes; shared pages count once."""
    # Forked workers share most pages: the sum of their resident sizes would count these once per worker.
    try:
        name = Path(f"/proc/{process}/comm").read_text()
        rows = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:] if "python" in name else []
    except OSError:
        return 0
    return next((int(row.split()[1]) for row in rows if row.startswith("Pss:")), 0)


def command(
    *arguments: str | Path,
    heard: bool = False,
    environment: Mapping[str, str] | None = None,
    errors: Path | None = None,
) -> Callable[[], int]:
    """A command to be timed, its output dropped or `heard`; it may fail only like `grep`. Returns its peak MiB.

    Its standard error is written to `errors`.
    """

    def run() -> int:
        process = subprocess.Popen(
            list(map(str, arguments)),
            stdout=subprocess.PIPE if heard else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
        )
        watch = _Watch(process.pid)
        thread = threading.Thread(target=watch.watch)
        thread.start()
        _, complaint = process.communicate()
        watch.done.set()
        thread.join()
        if process.returncode > 1:
            sys.exit(f"{arguments}: {complaint}")
        if errors:
            errors.write_text(complaint)
        return watch.peak_kib >> 10

    return run


def ours(
    *arguments: str | Path, cache: Path | None = None, without: str | None = None, errors: Path | None = None
) -> Callable[[], int]:
    """A rebalance-forensics command with its own cache directory, or as if a package was not installed."""
    environment = {"XDG_CACHE_HOME": str(cache)} if cache else {}
    if without:
        environment["PYTHONPATH"] = str(_hiding(without))
    return command(sys.executable, "-m", "rebalance_forensics", *arguments, environment=environment, errors=errors)


@cache
def _hiding(package: str) -> Path:
    """A directory that hides an installed package if it precedes all others on the path."""
    directory = Path(tempfile.mkdtemp())
    (directory / f"{package}.py").write_text("raise ImportError(__name__)\n")
    return directory


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)
