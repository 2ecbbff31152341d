"""`analyze --follow` tells of incidents while the logs are written, and ends with the report of all of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, SHORT_LOG, Command

PATIENCE_S = 400


@pytest.fixture
def following(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The program at work on a log of which half is there."""
    (tmp_path / "live" / "broker-1").mkdir(parents=True)
    (tmp_path / "live" / "broker-1" / "server.log").write_text(SHORT_LOG[: SHORT_LOG.index("[2026-03-01 10:05")])
    command = [sys.executable, "-m", "rebalance_forensics", "analyze", str(tmp_path / "live"), "--follow"]
    with (
        (tmp_path / "out").open("w") as out,
        (tmp_path / "err").open("w") as err,
        subprocess.Popen(
            [*command, "--json", str(tmp_path / "live.json"), "--fail-on", "warning"],
            env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, text=True, stdout=out, stderr=err,
        ) as process,
    ):  # fmt: skip
        yield process
        process.kill()


def wait_until(known: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not known() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
    assert known()


def test_a_log_that_is_still_written(following: subprocess.Popen[str], tmp_path: Path, command: Command) -> None:
    message, live = tmp_path / "out", tmp_path / "live" / "broker-1" / "server.log"
    wait_until((tmp_path / "live.json").is_file, following)
    with live.open("a") as log:
        log.write(SHORT_LOG[SHORT_LOG.index("[2026-03-01 10:05") :])
    wait_until(lambda: "process-crash" in message.read_text(), following)
    following.send_signal(signal.SIGINT)
    assert following.wait(60) == 1
    command("analyze", tmp_path / "live", "--engine", "local", "--json", tmp_path / "at-once.json")
    assert json.loads((tmp_path / "live.json").read_text()) == json.loads((tmp_path / "at-once.json").read_text())
    assert (tmp_path / "err").read_text() == "rebalance-forensics: following; Ctrl-C ends.\n"


def test_standard_input_is_followed_to_its_end(tmp_path: Path) -> None:
    at = SHORT_LOG.index("[2026-03-01 10:05")
    with subprocess.Popen(
        [sys.executable, "-m", "rebalance_forensics", "analyze", "-", "--follow", "--fail-on", "warning"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(SHORT_LOG[:at])
        process.stdin.flush()
        assert process.stdout.readline().startswith("No fault so far: 1 group with 1 generation, ")
        process.stdin.write(SHORT_LOG[at:])
        output, errors = process.communicate(timeout=PATIENCE_S)
    assert "process-crash" in output
    assert errors == "rebalance-forensics: following; Ctrl-C ends.\n"
    assert process.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-", "--engine", "spark"], "--follow works without Spark; leave out --engine spark."),
        (["s3://logs/"], "--follow follows files and standard input; for an object store run job --stream."),
    ],
)
def test_an_input_that_cannot_be_followed_is_reported(command: Command, arguments: list[str], sentence: str) -> None:
    done = command("analyze", "--follow", *arguments)
    assert done.returncode == 2
    assert done.stderr == f"rebalance-forensics: {sentence}\n"
