"""Logs and tables in a real S3 server: what a directory gives, byte for byte read by ranges."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rebalance_forensics.job import main
from tests.job.conftest import TABLES, Run, rows
from tests.job.days import packed
from tests.job.s3_server import serving, settings

SINCE, UNTIL = "2026-03-01", "2026-03-04"


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Path, int]]:
    """One server for all these tests."""
    with serving("lake") as (bucket, port):
        yield bucket, port


@pytest.fixture
def lake(served: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A prefix of the test's own in the bucket `lake`; a store is made once in each process, so no two are alike."""
    for name, value in settings(served[1]).items():
        monkeypatch.setenv(name, value)
    return f"lake/{tmp_path.name}"


@pytest.fixture
def behind(served: tuple[Path, int], lake: str) -> Path:
    """The directory behind the prefix."""
    directory = served[0].parent / lake
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
    scheme: str, lake: str, behind: Path, run: Run, logs: Path, tmp_path: Path
) -> None:
    packed(sorted((logs / "broker-1").iterdir())[1])
    run(SINCE, UNTIL)
    put(logs, behind)
    for _ in range(2):
        assert job(f"{scheme}://{lake}/kafka", f"{scheme}://{lake}/tables") == 0
        there, here = rows(f"{scheme}://{lake}/tables"), rows(tmp_path / "tables")
        assert all(there[name] == here[name] for name in set(TABLES) - {"inputs"})


def test_one_object_is_an_input_too(lake: str, behind: Path, logs: Path, tmp_path: Path) -> None:
    put(logs, behind)
    assert job(f"s3://{lake}/kafka/broker-1/server.log.2026-03-02", str(tmp_path / "tables")) == 0
    assert {row["path"] for row in rows(tmp_path / "tables")["inputs"]} == {"server.log.2026-03-02"}


def test_an_object_that_may_not_be_read_is_named_and_the_rest_is_written(
    lake: str, behind: Path, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(logs, behind)
    forbidden = behind / "kafka" / "broker-1" / "server.log.2026-03-02"
    forbidden.chmod(0)
    assert job(f"s3://{lake}/kafka", str(tmp_path / "tables")) == 3
    assert f"s3://{lake}/kafka/broker-1/server.log.2026-03-02 cannot be read" in capsys.readouterr().err
    ledger = {row["path"]: row["errors"] for row in rows(tmp_path / "tables")["inputs"]}
    assert [path for path, errors in ledger.items() if errors] == ["broker-1/server.log.2026-03-02"]
    assert len(ledger) == 3
    forbidden.chmod(0o644)
    assert job(f"s3://{lake}/kafka", str(tmp_path / "tables")) == 0
    put(logs, tmp_path)
    assert job(str(tmp_path / "kafka"), str(tmp_path / "undisturbed")) == 0
    assert rows(tmp_path / "tables")["incidents"] == rows(tmp_path / "undisturbed")["incidents"]


def refused(source: str, output: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence of a run that is refused."""
    code, said = job(source, output), capsys.readouterr().err
    assert (code, len(said.splitlines())) == (2, 1), said
    return said


def test_a_bucket_that_is_not_there(lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lake
    said = refused("s3://nowhere/kafka", str(tmp_path / "tables"), capsys)
    assert "s3://nowhere/kafka: no files here" in said


def test_a_store_that_does_not_answer(
    lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    said = refused(f"s3://{lake}/unreachable", str(tmp_path / "tables"), capsys)
    assert "cannot be reached" in said
    assert "check the address, the network and the credentials" in said


def test_wrong_credentials(
    lake: str, behind: Path, logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    assert "credentials" in refused(str(logs), f"s3://{lake}/refused", capsys)
    assert not (behind / "refused").exists()
