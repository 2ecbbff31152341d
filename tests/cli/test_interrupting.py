"""Ctrl-C: one sentence, exit code 130, no traceback and no half file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT, SHORT_LOG, Command


@pytest.mark.skipif(os.name != "posix", reason="no signals to send")
def test_an_interrupted_run_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    """It waits for the lines of standard input, which never end."""
    target = tmp_path / "report.json"
    running = subprocess.Popen(
        [sys.executable, "-m", "rebalance_forensics", "analyze", "-", "--engine", "local", "--json", str(target)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # A shell in the background has it ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )  # fmt: skip
    until = time.monotonic() + 60
    while not list(tmp_path.rglob("*.stdin")) and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert out == ""
    assert err == "rebalance-forensics: interrupted; run it again for a whole result.\n"
    assert running.returncode in (130, -signal.SIGINT)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_standard_input_is_not_kept(command: Command, tmp_path: Path, engine: str) -> None:
    spools = tmp_path / "spools"
    spools.mkdir()
    done = command("analyze", "-", "--engine", engine, input=SHORT_LOG, env={**os.environ, "TMPDIR": str(spools)})
    assert done.returncode == 0
    assert list(spools.iterdir()) == []
