"""The loaded program that the other tests run is the program that a user starts."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import SHORT_LOG
from tests.forks import STARTED_ANEW, starts_alike

posix = pytest.mark.skipif(os.name != "posix", reason="nothing is forked")


def outcome_of(call: list[str], here: Path, *arguments: str) -> tuple[int, str, str, dict[str, int]]:
    """The exit code, the outputs, and the written files with their permissions."""
    here.mkdir()
    done = subprocess.run(
        [*call, *arguments], cwd=here, input=SHORT_LOG, capture_output=True, text=True, check=False, umask=0o027
    )
    return done.returncode, done.stdout, done.stderr, {path.name: path.stat().st_mode for path in here.iterdir()}


@posix
@pytest.mark.parametrize(
    "arguments",
    [
        ("analyze", "-", "--engine", "local", "--json", "report.json", "--output-mode", "640"),
        ("analyze", "-", "--engine", "local", "--fail-on", "info", "--tz", "Europe/Berlin"),
        ("analyze", "nowhere"),
        ("patterns", "match"),
        ("job", "--help"),
    ],
    ids=" ".join,
)
def test_a_fork_does_the_same_as_a_separate_process(
    program: list[str], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    assert program != STARTED_ANEW
    anew = outcome_of(STARTED_ANEW, tmp_path / "anew", *arguments)
    assert outcome_of(program, tmp_path / "forked", *arguments) == anew
    assert anew[1] or anew[2] or anew[3]


@posix
def test_a_fork_ends_with_its_caller(program: list[str], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, SHORT_LOG.encode())
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([*program, "analyze", "-", "--engine", "local"], stdin=reading, env=environment) as asked:
        until = time.monotonic() + 60
        while not list(tmp_path.rglob("*.stdin")) and time.monotonic() < until:
            time.sleep(0.01)
        asked.kill()
    # Its standard input has no end yet, and the program runs one after the other.
    assert list(tmp_path.rglob("*.stdin"))
    done = subprocess.run([*program, "--version"], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.startswith("rebalance-forensics ")
    os.close(reading)
    os.close(writing)


def test_what_an_interpreter_reads_when_it_starts_needs_a_start() -> None:
    assert starts_alike({"PATH": "x"}, {"PATH": "y", "PYTHONPATH": "z"})
    assert not starts_alike({"LC_ALL": "C"}, {})
