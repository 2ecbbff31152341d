"""--keep-warm leaves a Spark behind that the next command uses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rebalance_forensics
from rebalance_forensics.pipeline.spark import jvm_launch, warm_server

pytest.importorskip("grpc", reason="--keep-warm needs the extra `warm`")
pytest.importorskip("grpc_status", reason="--keep-warm needs the extra `warm`")

SAMPLE = Path(__file__).parents[2] / "sample_logs" / "process-crash"


def analyzed(out: Path, *options: str) -> str:
    command = [sys.executable, "-m", "rebalance_forensics", "analyze", str(SAMPLE), "--json", str(out), "--quiet"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return out.read_text()


def test_the_next_command_uses_the_spark_that_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    try:
        first = analyzed(tmp_path / "first.json", "--keep-warm")
        kept = warm_server.running()
        second = analyzed(tmp_path / "second.json", "--keep-warm")
        assert kept is not None
        assert warm_server.running() == kept
        assert first == second == analyzed(tmp_path / "local.json", "--engine", "local")
        assert warm_server.place().stat().st_mode & 0o077 == 0, "no other user may read the token"
    finally:
        stopped = warm_server.stop()
    assert stopped
    assert warm_server.running() is None


@pytest.mark.long
def test_an_unused_spark_server_stops_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    server = warm_server.start(idle_seconds=1)
    deadline = time.monotonic() + 60
    while server.listens and time.monotonic() < deadline:
        time.sleep(0.2)
    assert warm_server.running() is None


def test_a_note_of_a_server_that_is_gone_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = warm_server.place()
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"port": 9, "token": "x", "keeper": os.getpid()}))
    assert warm_server.running() is None
    assert not warm_server.stop()


def test_python_workers_of_spark_import_the_program_that_started_them() -> None:
    package = Path(rebalance_forensics.__file__).resolve().parent
    assert package.parent == jvm_launch.ROOT
    assert package == warm_server.PACKAGE.resolve()
