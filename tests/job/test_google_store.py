"""Logs in a server that speaks as Google's store does.

Tables cannot be tried in it: fake-gcs-server lacks the puts of the XML API (its issue 331) by which delta-rs and the
lease write.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rebalance_forensics.job import main
from tests.job.conftest import TABLES, Run, rows
from tests.job.s3_server import installed_by_go

MODULE = "github.com/fsouza/fake-gcs-server@latest"
SINCE, UNTIL = "2026-03-01", "2026-03-04"


@pytest.fixture
def lake(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket with the logs in it."""
    program = installed_by_go("fake-gcs-server", MODULE)
    shutil.copytree(logs, tmp_path / "data" / "lake" / "kafka")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here = f"127.0.0.1:{port}"
    command = [program, "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory"]
    command += ["-external-url", f"http://{here}", "-public-host", here, "-data", str(tmp_path / "data")]
    monkeypatch.setenv("CLOUD_STORAGE_EMULATOR_ENDPOINT", f"http://{here}")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield "gs://anonymous@lake"
        server.terminate()


@pytest.mark.long
def test_logs_in_a_bucket_of_googles(lake: str, run: Run, tmp_path: Path) -> None:
    run(SINCE, UNTIL)
    output = tmp_path / "of-a-bucket"
    given = ["--engine", "local", "--input", f"{lake}/kafka", "--output", str(output)]
    for _ in range(2):
        assert main([*given, "--since", SINCE, "--until", UNTIL]) == 0
    assert sorted(row["scanned"] for row in rows(output, ["runs"])["runs"]) == [0, 3]
    there, here = rows(output), rows(tmp_path / "tables")
    assert all(there[name] == here[name] for name in set(TABLES) - {"inputs"})
