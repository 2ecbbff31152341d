"""The job on executors in processes of their own, which have nothing of ours but a zip."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.spark.java import find_java
from tests.conftest import ROOT
from tests.job.conftest import Run, rows
from tests.job.sparks import submit
from tests.job.test_growing_logs import busy
from tests.job.test_zipped_package import zipped

SINCE, UNTIL = "2026-03-01", "2026-03-04"
TWO_EXECUTORS = "local-cluster[2,1,1024]"
pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _with_java() -> None:
    try:
        find_java()
    except InputError as refusal:
        pytest.skip(str(refusal))


def on_executors(logs: Path, tmp_path: Path, *more: str) -> subprocess.CompletedProcess[str]:
    given = ["--input", str(logs), "--output", str(tmp_path / "from-executors"), "--since", SINCE, "--until", UNTIL]
    package = zipped(tmp_path / "rebalance_forensics.zip", compiled=True)
    program = ROOT / "deploy" / "run_job.py"
    return submit(program, *given, *more, master=TWO_EXECUTORS, files=[package], source=None)


@pytest.mark.long
def test_two_executors_write_the_tables_of_one_process(run: Run, logs: Path, tmp_path: Path) -> None:
    done = on_executors(logs, tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    run(SINCE, UNTIL)
    assert rows(tmp_path / "from-executors") == rows(tmp_path / "tables")
    assert len(rows(tmp_path / "tables")["incidents"]) == 6


def children(pid: int) -> Iterator[int]:
    """All processes below one, the farthest first."""
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, tasks.read_text().split()):
            yield from children(child)
            yield child


def kill_an_executor(stopped: threading.Event, killed: list[int]) -> None:
    """Wait for executors among our own children, let one get to work, and kill it."""
    while not stopped.wait(0.05):
        for pid in list(children(os.getpid())):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_text()
            except OSError:
                continue
            if "CoarseGrainedExecutorBackend" in command and not killed:
                time.sleep(4)
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return


@pytest.mark.long
def test_an_executor_that_is_killed_is_made_up_for(run: Run, logs: Path, tmp_path: Path) -> None:
    (logs / "broker-1" / "server.log").write_bytes(busy(48))
    killed: list[int] = []
    stopped = threading.Event()
    killer = threading.Thread(target=kill_an_executor, args=(stopped, killed))
    killer.start()
    done = on_executors(logs, tmp_path, "--tasks", "8")
    stopped.set()
    killer.join()
    assert (done.returncode, len(killed)) == (0, 1), done.stderr[-4000:]
    run(SINCE, UNTIL)
    assert rows(tmp_path / "from-executors") == rows(tmp_path / "tables")
