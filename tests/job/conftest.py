"""The job in this process, and its tables as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rebalance_forensics.job.arguments import parse
from rebalance_forensics.job.job_run import run_job
from rebalance_forensics.job.lake.editions import Edition, edition_of
from rebalance_forensics.job.lake.intervals import date_text
from rebalance_forensics.job.lake.layout import EVERY_CLUSTER
from rebalance_forensics.job.run import Outcome
from rebalance_forensics.job.steps.engines import InProcess, JobEngine
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.tables.schemas import BY_NAME
from tests.job.days import week
from tests.job.receiver import Receiver, receiving
from tests.job.s3_server import serving, settings

TABLES = ("events", "generations", "pauses", "unread", "incidents", "incident_groups", "findings", "inputs", "_pending")
Rows = dict[str, list[dict[str, Any]]]
Run = Callable[..., Outcome]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Somebody to call."""
    with receiving() as server:
        yield server


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Three days of a broker."""
    week(tmp_path / "logs" / "broker-1", days=3)
    return tmp_path / "logs"


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Path, int]]:
    """One S3 server for the tests of a module: the directory behind its bucket `lake`, and its port."""
    with serving("lake") as (bucket, port):
        yield bucket, port


@pytest.fixture
def prefix(served: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A prefix of the test's own in the bucket `lake`; a store is made once in each process, so no two are alike."""
    for name, value in settings(served[1]).items():
        monkeypatch.setenv(name, value)
    return f"lake/{tmp_path.name}"


@pytest.fixture(params=["disk", pytest.param("s3", marks=pytest.mark.long)])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where tables may lie: a directory, and in `make test-long` a bucket too."""
    return str(tmp_path) if request.param == "disk" else f"s3://{request.getfixturevalue('prefix')}"


@pytest.fixture
def run(logs: Path, tmp_path: Path) -> Run:
    """One run over an interval."""

    def run(
        since: str, until: str, *more: str, output: str | Path = tmp_path / "tables", engine: JobEngine | None = None
    ) -> Outcome:
        given = ["--input", str(logs), "--output", str(output), "--since", since, "--until", until, *more]
        outcome = run_job(parse(given).options, engine or InProcess())
        assert not outcome.failures
        return outcome

    return run


def rows(output: str | Path, tables: Sequence[str] = TABLES) -> Rows:
    """All rows of the newest edition of the tables, in one order."""
    edition = edition_of(Store(str(output)))
    return {name: sorted(_rows(edition, name), key=repr) for name in tables}


def _rows(edition: Edition, name: str) -> Iterator[dict[str, Any]]:
    for (day, cluster), row in edition.rows(BY_NAME[name], None, EVERY_CLUSTER):
        yield {**row, "date": date_text(day), "cluster": cluster}
