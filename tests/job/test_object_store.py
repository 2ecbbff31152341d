"""Logs and tables in a real S3 server: what a directory gives, byte for byte read by ranges."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rebalance_forensics.job import main
from tests.job.conftest import TABLES, Run, rows
from tests.job.days import packed

SINCE, UNTIL = "2026-03-01", "2026-03-04"


@pytest.fixture
def behind(served: tuple[Path, int], prefix: str) -> Path:
    """The directory behind the prefix."""
    directory = served[0].parent / prefix
    directory.mkdir()
    directory.chmod(0o777)
    return directory


def put(logs: Path, behind: Path) -> None:
    shutil.copytree(logs, behind / "kafka")


def job(source: str, output: str) -> int:
    given = ["--engine", "local", "--input", source, "--output", output, "--since", SINCE, "--until", UNTIL]
    return main(given)


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_logs_and_tables_in_a_bucket(
    scheme: str, prefix: str, behind: Path, run: Run, logs: Path, tmp_path: Path
) -> None:
    packed(sorted((logs / "broker-1").iterdir())[1])
    run(SINCE, UNTIL)
    put(logs, behind)
    for _ in range(2):
        assert job(f"{scheme}://{prefix}/kafka", f"{scheme}://{prefix}/tables") == 0
        there, here = rows(f"{scheme}://{prefix}/tables"), rows(tmp_path / "tables")
        assert all(there[name] == here[name] for name in set(TABLES) - {"inputs"})


def test_one_object_is_an_input_too(prefix: str, behind: Path, logs: Path, tmp_path: Path) -> None:
    put(logs, behind)
    assert job(f"s3://{prefix}/kafka/broker-1/server.log.2026-03-02", str(tmp_path / "tables")) == 0
    assert {row["path"] for row in rows(tmp_path / "tables")["inputs"]} == {"server.log.2026-03-02"}


def test_an_object_that_may_not_be_read_is_named_and_the_rest_is_written(
    prefix: str, behind: Path, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(logs, behind)
    forbidden = behind / "kafka" / "broker-1" / "server.log.2026-03-02"
    forbidden.chmod(0)
    assert job(f"s3://{prefix}/kafka", str(tmp_path / "tables")) == 3
    assert f"s3://{prefix}/kafka/broker-1/server.log.2026-03-02 cannot be read" in capsys.readouterr().err
    ledger = {row["path"]: row["errors"] for row in rows(tmp_path / "tables")["inputs"]}
    assert [path for path, errors in ledger.items() if errors] == ["broker-1/server.log.2026-03-02"]
    assert len(ledger) == 3
    forbidden.chmod(0o644)
    assert job(f"s3://{prefix}/kafka", str(tmp_path / "tables")) == 0
    put(logs, tmp_path)
    assert job(str(tmp_path / "kafka"), str(tmp_path / "undisturbed")) == 0
    assert rows(tmp_path / "tables")["incidents"] == rows(tmp_path / "undisturbed")["incidents"]


def refused(source: str, output: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence of a run that is refused."""
    code, error = job(source, output), capsys.readouterr().err
    assert (code, len(error.splitlines())) == (2, 1), error
    return error


def test_a_bucket_that_is_not_there(prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prefix
    error = refused("s3://nowhere/kafka", str(tmp_path / "tables"), capsys)
    assert "s3://nowhere/kafka: no files here" in error


def test_a_store_that_does_not_answer(
    prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    error = refused(f"s3://{prefix}/unreachable", str(tmp_path / "tables"), capsys)
    assert "cannot be reached" in error
    assert "check the address, the network and the credentials" in error


def test_wrong_credentials(
    prefix: str, behind: Path, logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    assert "credentials" in refused(str(logs), f"s3://{prefix}/refused", capsys)
    assert not (behind / "refused").exists()
