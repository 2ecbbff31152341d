"""Ctrl-C and its like: one sentence, the exit code of the signal, no traceback and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rebalance_forensics.process.resources import cores
from tests.conftest import ROOT, SHORT_LOG, Command

SAID = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated (SIGTERM)",
    signal.SIGHUP: "its terminal was closed (SIGHUP)",
}
posix = pytest.mark.skipif(os.name != "posix", reason="no signals to send")


@contextmanager
def waiting(spools: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A run that waits for the lines of standard input, which never end."""
    with subprocess.Popen(
        [sys.executable, "-m", "rebalance_forensics", "analyze", "-", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(spools)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # A shell in the background has one ignored, nohup another, and children inherit that.
        preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in SAID],  # noqa: PLW1509
    ) as running:  # fmt: skip
        assert running.stdin
        running.stdin.write(SHORT_LOG)
        running.stdin.flush()
        until = time.monotonic() + 60
        while not list(spools.rglob("*.stdin")) and time.monotonic() < until:
            time.sleep(0.05)
        try:
            yield running
        finally:
            running.kill()


@posix
@pytest.mark.parametrize("number", SAID)
def test_an_interrupted_run_says_so_and_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with waiting(tmp_path, "--engine", "local", "--json", str(tmp_path / "report.json")) as running:
        running.send_signal(number)
        out, err = running.communicate(timeout=60)
    assert out == ""
    assert err == f"rebalance-forensics: {SAID[number]}; results are incomplete.\n"
    assert running.returncode == 128 + number
    assert list(tmp_path.iterdir()) == []


@posix
@pytest.mark.skipif(cores() < 2, reason="one process reads")
@pytest.mark.parametrize(("number", "kill"), [*((number, os.killpg) for number in SAID), (signal.SIGTERM, os.kill)])
def test_an_interrupted_run_of_several_processes_says_so_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals, kill: Callable[[int, int], None]
) -> None:
    # The path of a Unix socket holds 107 characters: pytest's directories, behind a worker's name, leave too few.
    logs, spools = tmp_path / "logs", Path(tempfile.mkdtemp(prefix="rf-"))
    logs.mkdir()
    for name in ("broker-1.log", "broker-2.log"):
        (logs / name).write_text(SHORT_LOG * 10_000)
    with subprocess.Popen(
        [sys.executable, "-m", "rebalance_forensics", "analyze", str(logs), "--engine", "local"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(spools)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in SAID],  # noqa: PLW1509
    ) as running:  # fmt: skip
        until = time.monotonic() + 60
        while not list(spools.glob("pymp-*/listener-*")) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)
        kill(running.pid, number)
        out, err = running.communicate(timeout=60)
    assert (out, running.returncode) == ("", 128 + number)
    assert err == f"rebalance-forensics: {SAID[number]}; results are incomplete.\n"
    assert list(spools.iterdir()) == []
    spools.rmdir()


@posix
@pytest.mark.spark
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_spark_ends_with_the_command_and_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with waiting(tmp_path, "--engine", "spark") as running:
        until = time.monotonic() + 60
        while not list(tmp_path.rglob("jvm.log")) and time.monotonic() < until:
            time.sleep(0.05)
        running.send_signal(number)
        out, err = running.communicate(timeout=60)
    assert (out, running.returncode) == ("", 128 + number)
    assert err == f"rebalance-forensics: {SAID[number]}; results are incomplete.\n"
    assert list(tmp_path.iterdir()) == []


@posix
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system tells nothing of its processes")
def test_what_a_killed_run_left_goes_with_the_next(command: Command, tmp_path: Path) -> None:
    spools = tmp_path / "spools"
    (spools / "rebalance-forensics-of-somebody").mkdir(parents=True)
    with waiting(spools, "--engine", "local") as running:
        running.kill()
    assert list(spools.rglob("*.stdin"))
    done = command("analyze", "-", "--engine", "local", input=SHORT_LOG, env={**os.environ, "TMPDIR": str(spools)})
    assert done.returncode == 0
    assert [left.name for left in spools.iterdir()] == ["rebalance-forensics-of-somebody"]


@posix
def test_a_signal_that_is_ignored_stays_so() -> None:
    """As nohup asks for it."""
    asked = "import signal; from rebalance_forensics.process.stop_signals import heeded\n"
    asked += "with heeded():\n    print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)"
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, check=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )  # fmt: skip
    assert done.stdout == "True\n"


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.long])])
def test_standard_input_is_not_kept(command: Command, tmp_path: Path, engine: str) -> None:
    spools = tmp_path / "spools"
    spools.mkdir()
    done = command("analyze", "-", "--engine", engine, input=SHORT_LOG, env={**os.environ, "TMPDIR": str(spools)})
    assert done.returncode == 0
    assert list(spools.iterdir()) == []
