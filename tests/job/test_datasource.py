"""Logs in Spark SQL and as a stream give the events of the job."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rebalance_forensics.pipeline.datasource import LogStream, Portion, RebalanceLogs
from rebalance_forensics.pipeline.refusals import InputError
from tests.job.conftest import Run, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def registered(spark: SparkSession) -> SparkSession:
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
    batches: list[int] = []

    def on_batch(batch: DataFrame, _number: int) -> None:
        found = [(row.path, row.byte_offset, row.event) for row in batch.collect()]
        batches.append(len({path for path, _, _ in found}))
        seen.extend(found)

    def follow() -> None:
        read = registered.readStream.format("rebalance_logs").option("maxFilesPerTrigger", 2)
        stream = read.option("offsets", str(tmp_path / "offsets")).load(str(logs)).writeStream
        query = (
            stream.foreachBatch(on_batch)
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
    assert batches == [2, 1, 1]
    checkpoint = b"".join(path.read_bytes() for path in (tmp_path / "checkpoint" / "offsets").iterdir())
    assert b"server.log" not in checkpoint


def stream_of(logs: Path, **options: str) -> LogStream:
    stream = RebalanceLogs({"path": str(logs), **options}).streamReader(None)
    assert isinstance(stream, LogStream)
    return stream


def batches_of(stream: LogStream, start: dict[str, str]) -> Iterator[list[tuple[str, int]]]:
    """The files of each batch up to the last, and their bytes."""
    while (end := stream.latestOffset(start, stream.getDefaultReadLimit())) != start:
        portions = [portion for portion in stream.partitions(start, end) if isinstance(portion, Portion)]
        yield [(s.file.path, (s.end or s.file.size) - s.start) for portion in portions for s in portion.splits]
        stream.commit(end)
        start = end


@pytest.mark.parametrize("kept", [True, False])
def test_a_batch_is_as_large_as_its_limit_and_no_file_is_skipped(*, kept: bool, logs: Path, tmp_path: Path) -> None:
    files = sorted((logs / "broker-1").iterdir())
    for age, path in enumerate(reversed(files)):
        os.utime(path, (age + 1_000_000, age + 1_000_000))
    offsets = {"offsets": str(tmp_path / "offsets")} if kept else {}
    oldest = [(f"broker-1/{path.name}", path.stat().st_size) for path in reversed(files)]
    by_number = list(batches_of(stream_of(logs, maxFilesPerTrigger="2", **offsets), {"files": "{}"}))
    assert by_number == [sorted(oldest[:2]), oldest[2:]]
    # A file that is larger than the limit comes alone.
    stream = stream_of(logs, maxBytesPerTrigger="10", **offsets)
    assert list(batches_of(stream, stream.initialOffset())) == [[each] for each in oldest]
    stream = stream_of(logs, **offsets)
    start = stream.latestOffset()
    files[0].write_bytes(files[0].read_bytes() + b"[2026-03-04 00:00:00,000] INFO one more line\n")
    stream.prepareForTriggerAvailableNow()
    files[1].write_bytes(files[1].read_bytes() + b"[2026-03-04 00:00:00,000] INFO another line\n")
    assert list(batches_of(stream, start)) == [[(oldest[-1][0], 45)]]
    assert (len(start["files"]) == 49) is kept


def test_a_recreated_log_is_read_from_its_beginning_whichever_log_preceded_it(tmp_path: Path) -> None:
    rolled, other = tmp_path / "a.log", tmp_path / "b.log"
    line = b"[2026-03-04 00:00:00,000] INFO one line\n"
    rolled.write_bytes(line * 3)
    stream = stream_of(tmp_path, maxFilesPerTrigger="1")
    start = stream.latestOffset(stream.initialOffset(), stream.getDefaultReadLimit())
    other.write_bytes(line)
    os.utime(other, (1_000_000, 1_000_000))
    rolled.write_bytes(line)
    second = stream.latestOffset(start, stream.getDefaultReadLimit())
    rolled.write_bytes(line * 5)
    assert list(batches_of(stream, second)) == [[("a.log", 5 * len(line))]]


def test_a_stream_keeps_its_last_offsets_and_those_of_other_streams(logs: Path, tmp_path: Path) -> None:
    place = tmp_path / "offsets"
    stream, other = (stream_of(logs, offsets=str(place), cluster=cluster) for cluster in ("blue", "green"))
    kept = other.latestOffset()
    os.utime(place / kept["files"], (1, 1))
    (logs / "more.log").write_bytes(b"[2026-03-04 00:00:00,000] INFO one line\n")
    end = stream.latestOffset()
    own = (place / end["files"]).parent
    for number in range(300):
        (own / f"{number}").write_bytes(b"")
        os.utime(own / f"{number}", (number + 2, number + 2))
    stream.commit(end)
    assert {path.name for path in own.iterdir()} == {Path(end["files"]).name, *map(str, range(101, 300))}
    assert other.partitions(other.initialOffset(), kept)


def test_an_offset_that_is_missing_is_named(logs: Path, tmp_path: Path) -> None:
    stream = stream_of(logs, offsets=str(tmp_path / "offsets"))
    end = stream.latestOffset()
    (tmp_path / "offsets" / end["files"]).unlink()
    with pytest.raises(InputError, match="delete the checkpoint to read the logs from their beginning"):
        stream.partitions(stream.initialOffset(), end)
