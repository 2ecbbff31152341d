"""A run that is killed at any moment leaves nothing that the next run does not put right."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.job.conftest import Run, rows

SINCE, UNTIL = "2026-03-01", "2026-03-04"
WHOLE_RUN_S = 2.0
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


def arguments(logs: Path, output: Path) -> list[str]:
    given = ["--engine", "local", "--input", str(logs), "--output", str(output), "--since", SINCE, "--until", UNTIL]
    return [*given, "--cluster", "blue"]


def killed_after(seconds: float, logs: Path, output: Path) -> int:
    """Run the job and kill it; its exit code."""
    command = [sys.executable, "-m", "rebalance_forensics.job", *arguments(logs, output)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
        time.sleep(seconds)
        job.kill()
        return job.wait()


def kill_often(times: int, run: Run, logs: Path, tmp_path: Path) -> None:
    """Kill runs at random moments, run once to the end, compare; several times over."""
    chance = random.Random(7)  # noqa: S311 - the same moments in every run of the test
    run(SINCE, UNTIL, "--cluster", "blue", output=tmp_path / "undisturbed")
    for round_ in range(times):
        output = tmp_path / f"tables-{round_}"
        for _ in range(chance.randint(1, 2)):
            killed_after(chance.uniform(0.3, WHOLE_RUN_S), logs, output)
        run(SINCE, UNTIL, "--cluster", "blue", output=output)
        assert rows(output) == rows(tmp_path / "undisturbed")


def test_killed_at_random_moments(run: Run, logs: Path, tmp_path: Path) -> None:
    kill_often(3, run, logs, tmp_path)


@pytest.mark.long
def test_killed_at_many_random_moments(run: Run, logs: Path, tmp_path: Path) -> None:
    kill_often(50, run, logs, tmp_path)


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
