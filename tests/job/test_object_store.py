"""Logs and tables in a real S3 server: what a directory gives, byte for byte read by ranges."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.fs as pafs
import pytest

from rebalance_forensics.job import main
from tests.job.conftest import TABLES, Run, rows
from tests.job.days import packed

SINCE, UNTIL = "2026-03-01", "2026-03-04"
SERVER = shutil.which("versitygw") or shutil.which("versitygw", path=str(Path.home() / "go" / "bin"))
pytestmark = pytest.mark.skipif(SERVER is None, reason="the S3 server versitygw is not installed")


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory behind the bucket `lake` of a server of the test's own."""
    root = tmp_path / "s3"
    sidecar = tmp_path / "meta"
    sidecar.mkdir()
    (root / "lake").mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test-key",
        "AWS_SECRET_ACCESS_KEY": "test-secret",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    assert SERVER is not None
    command = [SERVER, "--access", "test-key", "--secret", "test-secret", "--port", f"127.0.0.1:{port}"]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    with subprocess.Popen(
        [*command, "posix", "--sidecar", str(sidecar), str(root)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=env,
    ) as server:
        _wait_for(port)
        yield root / "lake"
        server.terminate()


def _wait_for(port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the S3 server does not answer")


def in_bucket(table: str) -> list[dict[str, object]]:
    endpoint = os.environ["AWS_ENDPOINT_URL"].removeprefix("http://")
    store = pafs.S3FileSystem(endpoint_override=endpoint, scheme="http", region="us-east-1")
    place = f"lake/tables/{table}"
    if store.get_file_info(place).type == pafs.FileType.NotFound:
        return []
    found = ds.dataset(place, filesystem=store, partitioning="hive", ignore_prefixes=["."]).to_table()
    return sorted(found.to_pylist(), key=repr)


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_logs_and_tables_in_a_bucket(scheme: str, bucket: Path, run: Run, logs: Path, tmp_path: Path) -> None:
    packed(sorted((logs / "broker-1").iterdir())[1])
    run(SINCE, UNTIL)
    shutil.copytree(logs, bucket / "kafka")
    given = ["--engine", "local", "--input", f"{scheme}://lake/kafka", "--output", f"{scheme}://lake/tables"]
    for _ in range(2):
        assert main([*given, "--since", SINCE, "--until", UNTIL]) == 0
        for name in set(TABLES) - {"inputs"}:
            assert in_bucket(name) == rows(tmp_path / "tables")[name]


def test_a_bucket_that_is_not_there(bucket: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bucket.is_dir()
    code = main(["--engine", "local", "--input", "s3://nowhere/kafka", "--output", str(tmp_path / "tables"),
                 "--since", SINCE, "--until", UNTIL])  # fmt: skip
    said = capsys.readouterr().err
    assert (code, len(said.splitlines())) == (2, 1)
    assert "s3://nowhere/kafka" in said


def test_wrong_credentials(
    bucket: Path, logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    # Another URI than that of the other tests: a store is made once in each process.
    code = main(["--engine", "local", "--input", str(logs), "--output", "s3://lake/refused",
                 "--since", SINCE, "--until", UNTIL])  # fmt: skip
    said = capsys.readouterr().err
    assert (code, len(said.splitlines())) == (2, 1), said
    assert not (bucket / "refused").exists()
