"""Logs that lie in a table give what the same logs give as files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rebalance_forensics.job import main
from rebalance_forensics.job.arguments import parse
from rebalance_forensics.job.job_run import run_job
from rebalance_forensics.job.run import Outcome
from rebalance_forensics.job.steps.engines import InProcess, JobEngine, OnSpark
from tests.job.conftest import Run, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SINCE, UNTIL = "2026-03-01", "2026-03-04"
COLUMNS = ("--column", "time=ts", "--column", "message=msg", "--column", "host=node", "--column", "offset=seq")
_RECORD = re.compile(r"\[(.{23})\] (\w+) (.*) \((\S+)\)\n")
Cells = dict[str, Any]
Read = Callable[..., Outcome]


def records(logs: Path) -> list[Cells]:
    """One row a record, as a collector stores them: the logger's own text, everything else in columns."""
    text = "".join(path.read_text() for path in sorted((logs / "broker-1").iterdir()))
    return [
        {
            "ts": datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC),
            "msg": message, "severity": level, "class": logger, "node": "broker-1", "seq": place, "source": "blue",
        }
        for place, (stamp, level, message, logger) in enumerate(_RECORD.findall(text))
    ]  # fmt: skip


def stored(cells: list[Cells], directory: Path) -> Path:
    """The rows as two Parquet files, the later ones first."""
    directory.mkdir(exist_ok=True)
    for old in directory.iterdir():
        old.unlink()
    half = len(cells) // 2
    for name, part in (("a", cells[half:]), ("b", cells[:half])):
        pq.write_table(pa.Table.from_pylist(part), directory / f"{name}.parquet")
    return directory


def incidents_in(output: Path) -> list[tuple[object, ...]]:
    return sorted((r["group"], r["started_at"], r["cause"], tuple(r["generations"])) for r in rows(output)["incidents"])


@pytest.fixture
def table(logs: Path, tmp_path: Path) -> Path:
    return stored(records(logs), tmp_path / "logs_of_kafka")


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """One run over a table."""

    def read(
        table: Path | str, *more: str, output: Path = tmp_path / "from-table", engine: JobEngine | None = None
    ) -> Outcome:
        given = ["--input", str(table), "--output", str(output), "--since", SINCE, "--until", UNTIL, *COLUMNS, *more]
        outcome = run_job(parse(given).options, engine or InProcess())
        assert not outcome.failures
        return outcome

    return read


def test_the_incidents_are_those_of_the_files(table: Path, run: Run, read: Read, tmp_path: Path) -> None:
    run(SINCE, UNTIL)
    read(table, "--column", "logger=class", "--column", "level=severity")
    assert incidents_in(tmp_path / "from-table") == incidents_in(tmp_path / "tables")
    assert len(incidents_in(tmp_path / "tables")) == 6


def test_whole_lines_are_understood_too(logs: Path, run: Run, read: Read, tmp_path: Path) -> None:
    lines = [line for path in sorted((logs / "broker-1").iterdir()) for line in path.read_text().splitlines()]
    cells = [{**row, "msg": line} for row, line in zip(records(logs), lines, strict=True)]
    run(SINCE, UNTIL)
    read(stored(cells, tmp_path / "raw"))
    assert incidents_in(tmp_path / "from-table") == incidents_in(tmp_path / "tables")


def test_only_hours_with_other_rows_are_read_again(logs: Path, table: Path, read: Read, tmp_path: Path) -> None:
    late = datetime(2026, 3, 2, 12, tzinfo=UTC)
    cells = records(logs)
    stored([row for row in cells if not late <= row["ts"] < late + timedelta(hours=1)], table)
    first = read(table).summary
    stored(cells, table)
    again = read(table).summary
    assert (first["scanned"], again["scanned"], read(table).summary["scanned"]) == (7, 1, 0)
    read(table, output=tmp_path / "at-once")
    assert rows(tmp_path / "from-table") == rows(tmp_path / "at-once")


def test_each_row_may_name_its_cluster(table: Path, read: Read, tmp_path: Path) -> None:
    read(table, "--column", "cluster=source")
    assert {row["cluster"] for row in rows(tmp_path / "from-table")["incidents"]} == {"blue"}


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"time": "ts"}, "--column message=… is missing"),
        ({"time": "ts", "message": "text"}, "has no column text for message; it has class, msg, node, seq, severity"),
        ({"time": "msg", "message": "msg"}, "column msg is no time"),
        ({"when": "ts"}, "--column when=ts: write NAME=COLUMN, NAME one of time, message, host"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], columns: Mapping[str, str], sentence: str
) -> None:
    mapped = [part for name, column in columns.items() for part in ("--column", f"{name}={column}")]
    code = main(
        ["--engine", "local", "--input", str(table), "--output", str(tmp_path / "t"), "--since", SINCE, *mapped]
    )
    said = capsys.readouterr().err
    assert (code, len(said.splitlines())) == (2, 1), said
    assert sentence in said
    assert not list((tmp_path / "t").rglob("*.parquet"))


def test_rows_without_a_time_are_counted(logs: Path, read: Read, tmp_path: Path) -> None:
    cells = records(logs)
    outcome = read(stored([*cells, {**cells[0], "ts": None}], tmp_path / "some"))
    assert outcome.summary["exit_code"] == 3
    assert "1 row(s) have no time in column ts" in outcome.errors[0]


@pytest.mark.spark
def test_spark_reads_tables_of_its_catalog(spark: SparkSession, table: Path, read: Read, tmp_path: Path) -> None:
    read(table, output=tmp_path / "alone")
    frame = spark.read.parquet(str(table))
    frame.selectExpr("cast(ts AS string) AS ts", "msg", "node", "seq", "source").createOrReplaceTempView(
        "logs_of_kafka"
    )
    engine = OnSpark(session=spark, workers=2)
    read("logs_of_kafka", engine=engine)
    assert rows(tmp_path / "from-table")["incidents"] == rows(tmp_path / "alone")["incidents"]
    assert rows(tmp_path / "from-table")["events"] == rows(tmp_path / "alone")["events"]
    assert read("logs_of_kafka", engine=engine).summary["scanned"] == 0
