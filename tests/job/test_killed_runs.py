"""A run that is killed at any moment leaves nothing that the next run does not put right, and tells nobody twice."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rebalance_forensics.job.lake.editions import edition_of
from rebalance_forensics.pipeline.inputs.stores import Store
from tests.conftest import ROOT
from tests.forks import STARTED_ANEW
from tests.job.conftest import Run, rows
from tests.job.receiver import Receiver
from tests.job.test_growing_logs import busy

SINCE, UNTIL = "2026-03-01", "2026-03-04"
KILLED_BY_A_POWER_CUT = 9
MANY = 50
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

    def killed(self, output: Path, *more: str) -> str:
        """Kill one; what it was at."""
        with self._started(*more) as job:
            time.sleep(self._chance.uniform(0, 1.05) * self.lasts_s)
            over = job.poll() is not None
            job.kill()
            self.logged += job.communicate()[1]
        if over:
            return "after its end"
        before = edition_of(Store(str(output))).version
        if list((output / "_work").rglob("*.parquet")):
            return "while files were written" if before is None else "after its commit"
        return "while messages were sent" if before is not None else "before anything was written"

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


def kill_often(
    kills: int, logs: Path, tmp_path: Path, receiver: Receiver, program: list[str], engine: str = "local"
) -> Counter[str]:
    """Kill runs at random moments, run to the end, compare; when the kills met the runs."""
    (logs / "broker-1" / "server.log").write_bytes(busy(2 if kills < MANY else 6))
    runs = Runs([*program, "job", *arguments(logs, engine)])
    runs.to_the_end("--output", str(tmp_path / "undisturbed"))
    moments: Counter[str] = Counter()
    while moments.total() < kills:
        output = tmp_path / f"tables-{moments.total()}"
        given = ["--output", str(output), "--webhook", f"generic={receiver.url}/{output.name}", "--alert-from", "info"]
        for _ in range(min(runs.several(), kills - moments.total())):
            moments[runs.killed(output, *given)] += 1
        runs.to_the_end(*given)
        assert rows(output) == rows(tmp_path / "undisturbed")
        assert pages(output) == pages(tmp_path / "undisturbed")
        receiver.unsent += assert_sent_once(receiver, {row["id"] for row in rows(output)["incidents"]}, runs.logged)
        assert not list((output / "_work").rglob("*.parquet"))
    return moments


def pages(output: Path) -> list[str]:
    return sorted(str(page.relative_to(output)) for page in (output / "reports").rglob("*.html"))


def assert_sent_once(receiver: Receiver, incidents: set[str], logged: str) -> int:
    """Each incident once; a kill between a question and its note may leave it unsent, which the run logs."""
    sent = [message["dedup_key"] for message in receiver.accepted]
    assert len(sent) == len(set(sent))
    unsent = incidents - set(sent)
    assert all(f"may not know of incident {incident}" in logged for incident in unsent)
    receiver.accepted.clear()
    return len(unsent)


def test_killed_at_random_moments(logs: Path, tmp_path: Path, receiver: Receiver, program: list[str]) -> None:
    assert kill_often(3, logs, tmp_path, receiver, program).total() == 3


@pytest.mark.long
def test_killed_at_many_random_moments(
    logs: Path, tmp_path: Path, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = kill_often(MANY, logs, tmp_path, receiver, STARTED_ANEW)
    with capsys.disabled():
        kills = ", ".join(f"{number} {moment}" for moment, number in sorted(moments.items()))
        sys.stdout.write(
            f"\n{MANY} kills: {kills}; no message twice, {receiver.unsent} perhaps unsent, as the runs log\n"
        )
    assert len(moments) > 2


@pytest.mark.long
@pytest.mark.spark
def test_killed_on_spark(logs: Path, tmp_path: Path, receiver: Receiver) -> None:
    assert kill_often(4, logs, tmp_path, receiver, STARTED_ANEW, "spark").total() == 4


@pytest.mark.parametrize("commits", [0, pytest.param(3, marks=pytest.mark.long), 6])
def test_killed_between_two_commits(commits: int, run: Run, logs: Path, tmp_path: Path) -> None:
    run(SINCE, UNTIL, "--cluster", "blue", output=tmp_path / "undisturbed")
    run(SINCE, "2026-03-02", "--cluster", "blue")
    before = rows(tmp_path / "tables")
    given = [str(commits), *arguments(logs), "--output", str(tmp_path / "tables")]
    done = subprocess.run(
        [sys.executable, "-c", DIES_BEFORE_A_COMMIT, *given],
        cwd=ROOT, check=False, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == KILLED_BY_A_POWER_CUT
    assert rows(tmp_path / "tables") == before
    run(SINCE, UNTIL, "--cluster", "blue")
    assert rows(tmp_path / "tables") == rows(tmp_path / "undisturbed")
    # Of the killed run not even a file is left; what it had replaced waits for its readers.
    whole = {row["id"] for row in rows(tmp_path / "tables", ["runs"])["runs"]}
    files = [path.name for path in (tmp_path / "tables").glob("*/date=*/*/*.parquet")]
    assert all(any(run_id in name for run_id in whole) for name in files)
