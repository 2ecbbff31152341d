"""Two jobs on the same tables: one writes, the other waits or says who does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rebalance_forensics.job import main
from rebalance_forensics.job.arguments import parse
from rebalance_forensics.job.lake.delta import TableLog
from rebalance_forensics.job.lake.leases import Clock, Lease, Record, Watch, slot_of
from rebalance_forensics.job.tenure import TablesTaken, following_up, holding
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.process.identity import Process
from tests.conftest import ROOT
from tests.job.conftest import Run, rows
from tests.job.days import START, failure, line

SINCE, UNTIL = "2026-03-01", "2026-03-04"
STANDS_STILL_BEFORE_ITS_TABLES_STAND = """
import sys
from rebalance_forensics.job import main, tenure
def renew(self, real=tenure.Tenure.renew):
    tenure.Tenure.renew = real
    print("ready", flush=True)
    sys.stdin.readline()
    real(self)
tenure.Tenure.renew = renew
sys.exit(main(sys.argv[1:]))
"""
RUNS_OF_EACH_JOB = 25


def arguments(logs: Path, output: Path | str, *more: str) -> list[str]:
    given = ["--engine", "local", "--input", str(logs), "--output", str(output), "--cluster", "blue"]
    return [*given, "--since", SINCE, "--until", UNTIL, *more]


@contextmanager
def standing_still(given: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A job in a process of its own that has written its files and is about to make them the tables."""
    with subprocess.Popen(
        [sys.executable, "-c", STANDS_STILL_BEFORE_ITS_TABLES_STAND, *given], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as job:  # fmt: skip
        try:
            assert job.stdout
            assert job.stdout.readline() == "ready\n"
            yield job
        finally:
            job.kill()


def test_the_second_says_who_writes_and_touches_nothing(
    logs: Path, tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "tables"
    with standing_still(arguments(logs, output)) as first:
        assert main(arguments(logs, output, "--wait", "1ms")) == 75
        said = capsys.readouterr().err
        assert (
            f"{output} is being written by another job ({Process.current().host}, process {first.pid}, since 20" in said
        )
        assert said.endswith("Run this one later, or let it wait longer with --wait.\n")
        first.communicate("go on\n")
        assert first.returncode == 0
    run(SINCE, UNTIL, "--cluster", "blue", output=tmp_path / "undisturbed")
    assert rows(output) == rows(tmp_path / "undisturbed")


def test_the_second_waits_for_the_first(logs: Path, tmp_path: Path) -> None:
    output = tmp_path / "tables"
    with standing_still(arguments(logs, output)) as first:
        command = [sys.executable, "-m", "rebalance_forensics.job", *arguments(logs, output)]
        with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as second:
            assert second.stderr
            assert "waiting for it." in second.stderr.readline()
            first.communicate("go on\n")
            told, _ = second.communicate()
    assert (first.returncode, second.returncode) == (0, 0)
    assert json.loads(told)["scanned"] == 0


def test_a_job_that_was_killed_on_this_host_is_not_waited_for(logs: Path, tmp_path: Path) -> None:
    output = tmp_path / "tables"
    with standing_still(arguments(logs, output)) as first:
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert main(arguments(logs, output, "--wait", "1ms")) == 0


def test_a_job_that_is_terminated_releases_its_tables(logs: Path, tmp_path: Path) -> None:
    output = tmp_path / "tables"
    with standing_still(arguments(logs, output)) as first:
        first.send_signal(signal.SIGTERM)
        _, said = first.communicate()
        assert (first.returncode, said) == (
            143, "rebalance-forensics: terminated (SIGTERM); results are incomplete.\n",
        )  # fmt: skip
    slot = slot_of(Store(str(output)), "clusters/blue")
    assert slot
    assert Watch(slot, 60_000, Clock(), is_gone=lambda _: False).standing() is None
    assert not list((output / "_work").rglob("*.parquet"))


def take_over(output: Path, *leases: str) -> None:
    """What a job on another machine does that has seen no sign of life for the time of the lease."""
    for name in leases:
        slot = slot_of(Store(str(output)), name)
        assert slot
        taken = Watch(slot, 60_000, Clock(), is_gone=lambda _: True).take(Process.current())
        assert not isinstance(taken, Record)
        taken.release()


def test_a_job_that_was_paused_for_too_long_leaves_the_tables_to_the_other(
    logs: Path, tmp_path: Path, run: Run
) -> None:
    output = tmp_path / "tables"
    with standing_still(arguments(logs, output)) as first:
        take_over(output, "clusters/blue")
        run(SINCE, UNTIL, "--cluster", "blue")
        before = {path: path.stat().st_mtime_ns for path in output.rglob("*.parquet") if "_work" not in path.parts}
        _, said = first.communicate("go on\n")
        assert first.returncode == 75
        assert "this job did not renew its lease in time, and another job has taken its lease over" in said
    assert {p: p.stat().st_mtime_ns for p in output.rglob("*.parquet") if "_work" not in p.parts} == before


@pytest.mark.parametrize("notices", [True, False])
def test_a_lease_lost_between_two_commits_leaves_the_others_tables_alone(
    *, notices: bool, logs: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next job has undone what it was at, and committed since; a commit that comes late finds its turn taken."""
    output, real, tables = tmp_path / "tables", TableLog.replace, list[str]()

    def stand_still(log: TableLog, *given: Any, **named: Any) -> int:  # noqa: ANN401 - as it is called
        tables.append(log.table.name)
        if len(tables) == 3:
            monkeypatch.setattr(TableLog, "replace", real)
            take_over(output, "clusters/blue", "commits")
            run(SINCE, UNTIL, "--cluster", "blue")
            if notices:
                monkeypatch.setattr(Lease, "confirm", Lease.renew)

        return real(log, *given, **named)

    monkeypatch.setattr(TableLog, "replace", stand_still)
    assert main(arguments(logs, output)) == 75
    run(SINCE, UNTIL, "--cluster", "blue", output=tmp_path / "undisturbed")
    assert rows(output) == rows(tmp_path / "undisturbed")
    assert len(rows(output, ["runs"])["runs"]) == 1


def test_clusters_run_in_parallel_but_none_in_parallel_with_all_of_them(logs: Path, tmp_path: Path) -> None:
    def options(*more: str) -> list[str]:
        given = ["--input", str(logs), "--output", str(tmp_path / "tables"), "--since", SINCE, "--wait", "1ms"]
        return [*given, *more]

    blue, green = parse(options("--cluster", "blue")).options, parse(options("--cluster", "green")).options
    every = parse(options("--cluster-per-directory")).options
    with holding(blue), holding(green), following_up(blue):
        with pytest.raises(TablesTaken), holding(every):
            pass
        with pytest.raises(TablesTaken), following_up(green):
            pass
    with holding(every), pytest.raises(TablesTaken), holding(blue):
        pass
    with holding(blue):
        pass


class GrowingLog:
    """The log of a cluster, which is an hour longer before each run of a job over it."""

    def __init__(self, logs: Path) -> None:
        self.logs, self.hours, self._turn = logs, 0, threading.Lock()
        (logs / "broker-1").mkdir(parents=True)

    def grow(self) -> None:
        """Add what a broker writes in an hour with a failure."""
        with self._turn, (self.logs / "broker-1" / "server.log").open("a") as log:
            evictions = failure(START + timedelta(hours=self.hours), "payments", 10 * self.hours + 1)
            log.writelines(line(moment, words) for moment, words in evictions)
            self.hours += 1


@pytest.mark.long
def test_jobs_side_by_side_all_finish_and_lose_nothing(
    lake: str, tmp_path: Path, program: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two jobs of one cluster and one each of two others, a hundred runs over logs that grow."""
    jobs = ["blue", "blue", "green", "red"]
    logs = {cluster: GrowingLog(tmp_path / "of" / cluster) for cluster in set(jobs)}
    ended: list[tuple[int, str]] = []

    def run_often(cluster: str) -> None:
        given = arguments(logs[cluster].logs, f"{lake}/tables", "--cluster", cluster, "--wait", "30m")
        for _ in range(RUNS_OF_EACH_JOB):
            logs[cluster].grow()
            done = subprocess.run([*program, "job", *given], cwd=ROOT, text=True, capture_output=True, check=False)
            ended.append((done.returncode, done.stderr))

    begin = time.monotonic()
    with ThreadPoolExecutor(len(jobs)) as side_by_side:
        list(side_by_side.map(run_often, jobs))
    lasted_s = time.monotonic() - begin
    assert [each for each in ended if each[0]] == []
    for cluster, log in logs.items():
        assert main(arguments(log.logs, f"{lake}/undisturbed", "--cluster", cluster)) == 0
    assert rows(f"{lake}/tables") == rows(f"{lake}/undisturbed")
    assert len(rows(f"{lake}/tables", ["runs"])["runs"]) == len(ended)
    with capsys.disabled():
        incidents = len(rows(f"{lake}/tables")["incidents"])
        sys.stdout.write(f"\n{len(ended)} runs in {lasted_s:.0f} s, all ended with 0; {incidents} incidents\n")


def test_a_lease_is_long_enough_to_be_renewed(capsys: pytest.CaptureFixture[str], logs: Path, tmp_path: Path) -> None:
    assert main(arguments(logs, tmp_path / "tables", "--lease", "1s")) == 2
    assert "--lease 1s: a lease has to be renewed in time; write 3s or more." in capsys.readouterr().err
