"""A run that is killed at any moment leaves nothing that the next run does not put right, and tells nobody twice."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from rebalance_forensics.job import main
from tests.conftest import ROOT
from tests.job.conftest import Run, rows
from tests.job.receiver import Receiver
from tests.job.test_growing_logs import busy

SINCE, UNTIL = "2026-03-01", "2026-03-04"
WHOLE_RUN_S = 3.0
"""About how long a run takes; on a busy machine it takes longer, and more kills meet it at work."""
KILLED_BY_A_POWER_CUT = 9
DIES_WHILE_MOVING = """
import os, sys
from rebalance_forensics.pipeline.tables.stores import Store
from rebalance_forensics.job import main
left, move = [int(sys.argv[1])], Store.move
def dying(*arguments):
    left[0] -= 1
    if left[0] < 0:
        os._exit(9)
    move(*arguments)
Store.move = dying
sys.exit(main(sys.argv[2:]))
"""


def arguments(logs: Path, output: Path, engine: str = "local") -> list[str]:
    given = ["--engine", engine, "--input", str(logs), "--output", str(output), "--since", SINCE, "--until", UNTIL]
    return [*given, "--cluster", "blue", "--reports", "info"]


def killed_after(seconds: float, given: list[str], output: Path) -> str:
    """Run the job and kill it; what it was at."""
    command = [sys.executable, "-m", "rebalance_forensics.job", *given]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
        time.sleep(seconds)
        over = job.poll() is not None
        job.kill()
        job.wait()
    if over:
        return "after its end"
    if list((output / "_work").rglob("journal.json")):
        return "while tables were replaced"
    if list((output / "_work").rglob("*.parquet")):
        return "while files were written"
    return "while messages were sent" if (output / "incidents").is_dir() else "before anything was written"


def kill_often(kills: int, logs: Path, tmp_path: Path, receiver: Receiver, engine: str = "local") -> Counter[str]:
    """Kill runs at random moments, run to the end, compare; when the kills met the runs."""
    chance = random.Random(7)  # noqa: S311 - the same moments in every run of the test
    (logs / "broker-1" / "server.log").write_bytes(busy(12))
    assert main([*arguments(logs, tmp_path / "undisturbed")]) == 0
    moments: Counter[str] = Counter()
    while moments.total() < kills:
        output = tmp_path / f"tables-{moments.total()}"
        given = arguments(logs, output, engine)
        given += ["--webhook", f"generic={receiver.url}/{output.name}", "--alert-from", "info"]
        for _ in range(min(chance.randint(1, 3), kills - moments.total())):
            moments[killed_after(chance.uniform(0.5, WHOLE_RUN_S), given, output)] += 1
        assert main(given) == 0
        assert rows(output) == rows(tmp_path / "undisturbed")
        assert pages(output) == pages(tmp_path / "undisturbed")
        assert_told_once(receiver, {row["id"] for row in rows(output)["incidents"]})
        assert not list((output / "_work").rglob("*.parquet"))
    return moments


def pages(output: Path) -> list[str]:
    return sorted(str(page.relative_to(output)) for page in (output / "reports").rglob("*.html"))


def assert_told_once(receiver: Receiver, incidents: set[str]) -> None:
    """Each incident by one message; a kill between an answer and its note may repeat one, under the same key."""
    assert {message["dedup_key"] for message in receiver.accepted} == incidents
    assert len(set(receiver.keys)) == len(incidents)
    receiver.repeated += len(receiver.keys) - len(incidents)
    receiver.keys.clear()
    receiver.accepted.clear()


def test_killed_at_random_moments(logs: Path, tmp_path: Path, receiver: Receiver) -> None:
    assert kill_often(3, logs, tmp_path, receiver).total() == 3


@pytest.mark.long
def test_killed_at_many_random_moments(
    logs: Path, tmp_path: Path, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = kill_often(50, logs, tmp_path, receiver)
    with capsys.disabled():
        told = ", ".join(f"{number} {moment}" for moment, number in sorted(moments.items()))
        sys.stdout.write(f"\n50 kills: {told}; {receiver.repeated} message(s) repeated under their key\n")
    assert len(moments) > 2


@pytest.mark.parametrize("moves", [0, 1, 6])
def test_killed_while_the_tables_are_replaced(moves: int, run: Run, logs: Path, tmp_path: Path) -> None:
    run(SINCE, UNTIL, "--cluster", "blue", output=tmp_path / "undisturbed")
    done = subprocess.run(
        [sys.executable, "-c", DIES_WHILE_MOVING, str(moves), *arguments(logs, tmp_path / "tables")],
        cwd=ROOT, check=False, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == KILLED_BY_A_POWER_CUT
    run(SINCE, UNTIL, "--cluster", "blue")
    assert rows(tmp_path / "tables") == rows(tmp_path / "undisturbed")
    assert not list((tmp_path / "tables" / "_work").rglob("*.parquet"))
