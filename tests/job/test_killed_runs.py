"""A run that is killed at any moment leaves nothing that the next run does not put right, and tells nobody twice."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rebalance_forensics import tables
from rebalance_forensics.job.lake.editions import edition_of
from rebalance_forensics.job.lake.layout import WORK
from rebalance_forensics.job.written_tables import WrittenTables
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.tables.schemas import RUNS
from tests.conftest import ROOT
from tests.forks import STARTED_ANEW
from tests.job.conftest import Run, rows
from tests.job.days import START
from tests.job.receiver import Receiver
from tests.job.test_growing_logs import busy

SINCE, UNTIL = "2026-03-01", "2026-03-04"
KILLED_BY_A_POWER_CUT = 9
MANY = 50
COMMITS = 7
"""Of a run that changes all that it can change but for what waits in `_pending`; the last one is that of `runs`."""
DIES_BEFORE_A_COMMIT = """
import os, sys
from deltalake import DeltaTable
from rebalance_forensics.job import main
left, commit = [int(sys.argv[1])], DeltaTable.create_write_transaction
def dying(*arguments, **named):
    left[0] -= 1
    if left[0] < 0:
        os._exit(9)
    commit(*arguments, **named)
DeltaTable.create_write_transaction = dying
sys.exit(main(sys.argv[2:]))
"""


def arguments(logs: Path, engine: str = "local") -> list[str]:
    given = ["--engine", engine, "--input", str(logs), "--since", SINCE, "--until", UNTIL]
    return [*given, "--cluster", "blue", "--reports", "info"]


Contents = Mapping[str, list[dict[str, Any]]]


def contents(opened: WrittenTables) -> Contents:
    """All rows as readers get them, but for those of the runs themselves."""
    return {name: sorted(table.to_arrow().to_pylist(), key=repr) for name, table in opened.items() if name != RUNS.name}


class Reader:
    """Opens the tables before a run and reads these versions on, and the newest ones, while runs are at work."""

    def __init__(self, output: str, whole: Contents) -> None:
        self.output, self.whole = output, whole
        self.opened = tables(output)
        self.rows = contents(self.opened)
        self.reads = self.newer = 0

    def read(self) -> None:
        """Neither the versions opened first nor the newest ones are a mixture of two runs."""
        assert contents(self.opened) == self.rows
        self.reads += 1
        newest = tables(self.output)
        if newest.version != self.opened.version:
            assert contents(newest) == self.whole
            self.newer += 1

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read for as long as this lasts, and once more."""
        over = threading.Event()
        with ThreadPoolExecutor(1) as thread:
            reads = thread.submit(self._read_until, over)
            try:
                yield
            finally:
                over.set()
            reads.result()

    def _read_until(self, over: threading.Event) -> None:
        while not over.wait(0.1):
            self.read()
        self.read()


class Runs:
    """Runs in processes of their own, killed at moments between their start and about their end."""

    def __init__(self, command: list[str]) -> None:
        self.command, self.lasts_s = command, 0.0
        self.logged = ""
        self._chance = random.Random(7)  # noqa: S311 - the same shares of a run in every run of the test

    def to_the_end(self, *more: str) -> str:
        """Let one be, and hear what it says; the next ones will take about as long from their start on."""
        with self._started(*more) as job:
            begin = time.monotonic()
            _, logged = job.communicate()
            self.logged += logged
            self.lasts_s = time.monotonic() - begin
            assert job.returncode == 0, logged
            return logged

    def killed(self, store: Store, *more: str) -> str:
        """Kill one; what it was at."""
        before = edition_of(store).version
        with self._started(*more) as job:
            time.sleep(self._chance.uniform(0, 1.05) * self.lasts_s)
            over = job.poll() is not None
            job.kill()
            self.logged += job.communicate()[1]
        if over:
            return "after its end"
        committed = edition_of(store).version != before
        if unfinished(store):
            return "after its commit" if committed else "while files were written"
        return "while messages were sent" if committed else "before anything was written"

    def several(self) -> int:
        """How often a run is killed before the next may go to its end."""
        return self._chance.randint(1, 3)

    @contextmanager
    def _started(self, *more: str) -> Iterator[subprocess.Popen[str]]:
        # A run of the loaded program dies with the process that asked for it, whose end is that of all its streams.
        command = [*self.command, *more, "--log", "json"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as job:
            assert job.stderr
            assert "run starts" in job.stderr.readline()
            yield job


@dataclass(slots=True)
class Kills:
    """When they met the runs, how often readers read meanwhile, and how often versions that were newer by then."""

    moments: Counter[str] = field(default_factory=Counter)
    reads: int = 0
    newer: int = 0


def kill_often(
    kills: int, logs: Path, lake: str, receiver: Receiver, run: Run, program: list[str], engine: str = "local"
) -> Kills:
    """Have tables of half a log, kill runs over all of it at random moments, run to the end, compare."""
    log, hours = logs / "broker-1" / "server.log", 2 if kills < MANY else 6
    given = arguments(logs, engine)
    runs, undisturbed = Runs([*program, "job", *given]), f"{lake}/undisturbed"
    write(log, hours)
    runs.to_the_end("--output", undisturbed)
    whole = contents(tables(undisturbed))
    found = Kills()
    moments = found.moments
    while moments.total() < kills:
        output = f"{lake}/tables-{moments.total()}"
        calls = ["--webhook", f"generic={receiver.url}/{moments.total()}", "--alert-from", "info"]
        write(log, hours // 2)
        run(SINCE, UNTIL, "--cluster", "blue", "--reports", "info", *calls, output=output)
        write(log, hours)
        reader = Reader(output, whole)
        assert reader.rows != whole
        with reader.reading():
            for _ in range(min(runs.several(), kills - moments.total())):
                moments[runs.killed(Store(output), "--output", output, *calls)] += 1
                reader.read()
            runs.to_the_end("--output", output, *calls)
        found.reads += reader.reads
        found.newer += reader.newer
        assert rows(output) == rows(undisturbed)
        assert pages(output) == pages(undisturbed)
        receiver.unsent += assert_sent_once(receiver, {row["id"] for row in rows(output)["incidents"]}, runs.logged)
        assert not unfinished(Store(output))
    return found


def write(log: Path, hours: int) -> None:
    """Leave a log as it was after some hours, its time of change included, which the ledger keeps."""
    log.write_bytes(busy(hours))
    at = (START + timedelta(hours=hours)).timestamp()
    os.utime(log, (at, at))


def unfinished(store: Store) -> list[str]:
    return [file.path for file in store.files(WORK) if file.path.endswith(".parquet")]


def pages(output: str) -> list[str]:
    return sorted(file.path for file in Store(output).files("reports") if file.path.endswith(".html"))


def assert_sent_once(receiver: Receiver, incidents: set[str], logged: str) -> int:
    """Each incident once; a kill between a question and its note may leave it unsent, which the run logs."""
    sent = [message["dedup_key"] for message in receiver.accepted]
    assert len(sent) == len(set(sent))
    unsent = incidents - set(sent)
    assert all(f"may not have received incident {incident}" in logged for incident in unsent)
    receiver.accepted.clear()
    return len(unsent)


def test_killed_at_random_moments(logs: Path, tmp_path: Path, receiver: Receiver, run: Run, program: list[str]) -> None:
    assert kill_often(3, logs, str(tmp_path), receiver, run, program).moments.total() == 3


@pytest.mark.long
def test_killed_at_many_random_moments(
    logs: Path, lake: str, receiver: Receiver, run: Run, program: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = kill_often(MANY, logs, lake, receiver, run, program)
    with capsys.disabled():
        kills = ", ".join(f"{number} {moment}" for moment, number in sorted(found.moments.items()))
        sys.stdout.write(
            f"\n{MANY} kills: {kills}; {found.reads} reads of the versions opened before, {found.newer} of newer ones; "
            f"no message twice, {receiver.unsent} perhaps unsent, as the runs log\n"
        )
    assert len(found.moments) > 2


@pytest.mark.long
@pytest.mark.spark
def test_killed_on_spark(logs: Path, tmp_path: Path, receiver: Receiver, run: Run) -> None:
    assert kill_often(4, logs, str(tmp_path), receiver, run, STARTED_ANEW, "spark").moments.total() == 4


@pytest.mark.parametrize(
    "commits",
    [each if each in (0, COMMITS - 1) else pytest.param(each, marks=pytest.mark.long) for each in range(COMMITS)],
)
def test_killed_between_two_commits(commits: int, run: Run, logs: Path, lake: str) -> None:
    output, undisturbed = f"{lake}/tables", f"{lake}/undisturbed"
    run(SINCE, UNTIL, "--cluster", "blue", output=undisturbed)
    run(SINCE, "2026-03-02", "--cluster", "blue", output=output)
    before, reader = rows(output), Reader(output, contents(tables(undisturbed)))
    given = [str(commits), *arguments(logs), "--output", output]
    with reader.reading():
        done = subprocess.run(
            [sys.executable, "-c", DIES_BEFORE_A_COMMIT, *given],
            cwd=ROOT, check=False, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.returncode == KILLED_BY_A_POWER_CUT
        assert rows(output) == before
        run(SINCE, UNTIL, "--cluster", "blue", output=output)
    assert rows(output) == rows(undisturbed)
    # Of the killed run not even a file is left; what it had replaced waits for its readers.
    whole = {row["id"] for row in rows(output, ["runs"])["runs"]}
    names = [file.path for file in Store(output).files() if "/cluster=" in file.path and file.path.endswith(".parquet")]
    assert names
    assert all(any(run_id in name for run_id in whole) for name in names)
