"""First step of a job: the fresh files' events, as they are read, into waiting files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rebalance_forensics.pipeline.inputs.log_tables import LogTable, read_rows
from rebalance_forensics.pipeline.inputs.stores import Store, open_location
from rebalance_forensics.pipeline.inputs.task_messages import message_batch
from rebalance_forensics.pipeline.read_plan import ReadPlan
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.schemas import EVENT_KINDS, ROWS, Kind
from rebalance_forensics.pipeline.stages import read_portion
from rebalance_forensics.pipeline.tables.rows import hashed
from rebalance_forensics.records import DAY_MS
from rebalance_forensics.sources.files.places import open_remote_with

Spans = dict[str, dict[str, tuple[int, int]]]
"""By path and date, the first and last time of its events."""
_COLUMNS = ("cluster", "group", "ts", "path", "byte_offset", "line", "event", "pattern", "payload")
SCANNED = pa.schema([*(ROWS.field(name) for name in _COLUMNS), ("file_id", pa.string())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Everything a scanning task needs."""

    plan: ReadPlan
    store: Store
    work: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableScan:
    """Everything a task needs that reads rows of a table; `hours` are those that are new."""

    table: LogTable
    hours: tuple[int, ...]
    reading: Reading
    store: Store
    work: str


def scan_task(scan: Scan, task: int) -> Iterator[pa.RecordBatch]:
    """Read one portion; the counts of its splits, and the dates its events are of, go to the driver."""
    open_remote_with(open_location)
    yield from keep_events(read_portion(scan.plan.portions[task], scan.plan.reading), scan.store, scan.work, unnamed)


def scan_rows(batches: Iterable[pa.RecordBatch], scan: TableScan) -> Iterator[pa.RecordBatch]:
    """Scan canonical rows of a table: events into waiting files, counts to the driver."""

    def named(events: pa.RecordBatch) -> pa.Array:
        times = events["ts"].cast(pa.int64()).to_pylist()
        return pa.array([hour_id(scan.table.hour(at // 1000)) for at in times], pa.string())

    yield from keep_events(read_rows(batches, scan.table, scan.reading), scan.store, scan.work, named)


def hour_id(hour: str) -> str:
    """What one hour of a table is known by, as a file is by its beginning."""
    return hashed("table", hour)


def unnamed(events: pa.RecordBatch) -> pa.Array:
    """Files are named later: the driver tells which is which."""
    return pa.nulls(events.num_rows, pa.string())


def keep_events(
    batches: Iterable[pa.RecordBatch], store: Store, work: str, file_ids: Callable[[pa.RecordBatch], pa.Array]
) -> Iterator[pa.RecordBatch]:
    """Events into a waiting file, all else to the driver."""
    spans: Spans = {}
    events = undated = 0
    messages: list[tuple[str, str]] = []
    # Spark may try a task twice, even at the same time; the driver hears of the file of one that was finished.
    path = f"{work}/scanned/{uuid4().hex}.parquet"
    with store.create(path) as stream, pq.ParquetWriter(stream, SCANNED) as writer:
        for batch in batches:
            messages.extend(("counts", text) for text in _counts(batch))
            found = batch.filter(pc.is_in(batch["kind"], EVENT_KINDS))
            dated = found.filter(pc.is_valid(found["ts"]))
            events += dated.num_rows
            undated += found.num_rows - dated.num_rows
            _widen(spans, dated)
            writer.write_batch(_scanned(dated, file_ids))
    messages.append(("scan", json.dumps({"file": path, "spans": spans, "events": events, "undated": undated})))
    yield message_batch(messages)


def _counts(batch: pa.RecordBatch) -> list[str]:
    return [str(text) for text in batch.filter(pc.equal(batch["kind"], int(Kind.COUNTS)))["payload"].to_pylist()]


def _widen(spans: Spans, dated: pa.RecordBatch) -> None:
    """Take in the times of some events; keys are text, for they travel as JSON."""
    times = dated["ts"].cast(pa.int64()).to_pylist()
    for path, micros in zip(dated["path"].to_pylist(), times, strict=True):
        at = micros // 1000
        days = spans.setdefault(path, {})
        first, last = days.get(str(at // DAY_MS), (at, at))
        days[str(at // DAY_MS)] = (min(first, at), max(last, at))


def _scanned(dated: pa.RecordBatch, file_ids: Callable[[pa.RecordBatch], pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*(dated[name] for name in _COLUMNS), file_ids(dated)], schema=SCANNED)
