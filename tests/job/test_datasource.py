"""Logs in Spark SQL and as a stream give the events of the job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.job.conftest import Run, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def registered(spark: SparkSession) -> SparkSession:
    from rebalance_forensics.pipeline.datasource import RebalanceLogs  # noqa: PLC0415 - Spark only where it is tested

    spark.dataSource.register(RebalanceLogs)
    return spark


def places(events: DataFrame) -> list[tuple[str, int, int | None, str]]:
    return sorted((row.path, row.byte_offset, row.line, row.event) for row in events.collect())


def test_the_events_in_sql(registered: SparkSession, run: Run, logs: Path, tmp_path: Path) -> None:
    run("2026-03-01", "2026-03-09")
    read = registered.read.format("rebalance_logs").option("cluster", "blue").load(str(logs))
    expected = [(r["path"], r["byte_offset"], r["line"], r["event"]) for r in rows(tmp_path / "tables")["events"]]
    assert places(read) == sorted(expected)
    read.createOrReplaceTempView("events")
    failed = registered.sql("SELECT count(*) AS n FROM events WHERE event = 'MemberFailed' AND cluster = 'blue'")
    assert failed.collect()[0].n == 6


def test_a_stream_reads_every_line_once(registered: SparkSession, logs: Path, tmp_path: Path) -> None:
    live = max((logs / "broker-1").iterdir())
    text = live.read_bytes()
    cut = text.index(b"Stabilized group payments")
    seen: list[tuple[str, int, str]] = []

    def follow() -> None:
        stream = registered.readStream.format("rebalance_logs").load(str(logs)).writeStream
        query = (
            stream.foreachBatch(lambda batch, _: seen.extend((r.path, r.byte_offset, r.event) for r in batch.collect()))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    live.write_bytes(text[:cut])
    follow()
    first = len(seen)
    live.write_bytes(text)
    follow()
    whole = registered.read.format("rebalance_logs").load(str(logs))
    assert sorted(seen) == sorted((r.path, r.byte_offset, r.event) for r in whole.collect())
    assert 0 < first < len(seen)
