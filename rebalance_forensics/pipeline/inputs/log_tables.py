"""Logs in tables: the mapping of columns, and rows to events. One row is one log record."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace
from numpy.typing import NDArray

from rebalance_forensics.catalog.event_assembly import event_of
from rebalance_forensics.catalog.exceptions import exception_in
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.events.base import Event
from rebalance_forensics.pipeline.catalogs import catalog_of
from rebalance_forensics.pipeline.read_split import Reading, speaks_of_groups
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.schemas import BATCH_ROWS, Kind, Row, batch_of, payload_of, row_of
from rebalance_forensics.pipeline.stats import SplitStats
from rebalance_forensics.records import HOUR_MS, EpochMs, LogRecord, Origin
from rebalance_forensics.sources.records.record_reader import SplitCounts, parse_line
from rebalance_forensics.timeline.coverage import LogSpan

REQUIRED = ("time", "message")
OPTIONAL = ("host", "file", "cluster", "level", "logger", "thread", "line", "offset")
CANONICAL = pa.schema(
    [
        ("time", pa.timestamp("us", tz="UTC")),
        ("line", pa.int64()),
        ("offset", pa.int64()),
        *((name, pa.string()) for name in ("message", "host", "file", "cluster", "level", "logger", "thread")),
    ]
)
"""The schema of a table's rows after mapping its columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTable:
    """A table, and pairs of a canonical column and the table's column for it."""

    name: str
    columns: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """The prefix of the paths of its rows."""
        return self.name.rstrip("/").rpartition("/")[2]

    def hour(self, at: EpochMs) -> str:
        """The path of one hour of the table, which is one entry of the ledger."""
        return f"{self.label}/hour={at // HOUR_MS * HOUR_MS}"

    def check(self, there: Sequence[str]) -> None:
        """Raise InputError if the table lacks a column of the mapping."""
        for name, column in self.columns:
            if column not in there and column.partition(".")[0] not in there:
                raise InputError(
                    f"--input {self.name} has no column {column} for {name}; it has {', '.join(sorted(there))}: "
                    f"name another one with --column {name}=…."
                )


def columns_of(given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The mapping given by `--column time=ts --column message=msg`."""
    columns: dict[str, str] = {}
    for text in given:
        name, _, column = text.partition("=")
        if name not in (*REQUIRED, *OPTIONAL) or not column:
            raise InputError(f"--column {text}: write NAME=COLUMN, NAME one of {', '.join((*REQUIRED, *OPTIONAL))}.")
        columns[name] = column
    missing = [name for name in REQUIRED if columns and name not in columns]
    if missing:
        raise InputError(f"--column {missing[0]}=… is missing; a table needs the columns of time and message.")
    return tuple(sorted(columns.items()))


def read_rows(batches: Iterable[pa.RecordBatch], table: LogTable, reading: Reading) -> Iterator[pa.RecordBatch]:
    """The events in canonical rows, then one row of counts per hour of the table."""
    catalog, counts = catalog_of(reading.patterns), defaultdict[str, _Count](_Count)
    rows: list[Row] = []
    for batch in batches:
        _count(batch, table, counts)
        for event in _events(batch, table, reading, catalog, counts):
            rows.append(row_of(event, shard=0, split=0))
            if len(rows) >= BATCH_ROWS:
                yield batch_of(rows)
                rows = []
    counted = (
        Row(shard=0, kind=Kind.COUNTS, path=hour, payload=payload_of(c.stats(hour))) for hour, c in counts.items()
    )
    yield batch_of([*rows, *counted])


def _count(batch: pa.RecordBatch, table: LogTable, counts: Mapping[str, _Count]) -> None:
    # All rows are counted; only those that the prefilter finds are read.
    times = batch["time"].cast(pa.int64()).to_numpy() // 1000
    sizes = pc.fill_null(pc.binary_length(batch["message"]), 0).to_numpy()
    hours = times // HOUR_MS
    for hour in np.unique(hours):
        within = hours == hour
        counts[table.hour(int(hour) * HOUR_MS)].see(times[within], sizes[within])
    named = pa.table([pa.array(hours), pa.array(times), batch["host"], batch["file"]], ["hour", "at", "host", "file"])
    for row in named.group_by(["hour", "host", "file"]).aggregate([("at", "min"), ("at", "max")]).to_pylist():
        place = _path(table, row["host"], row["file"])
        span = LogSpan(
            path=place, host=row["host"] or None, opening=row["at_min"], closing=row["at_max"], start=row["at_min"]
        )
        counts[table.hour(row["hour"] * HOUR_MS)].heard.append(span)


def _events(
    batch: pa.RecordBatch, table: LogTable, reading: Reading, catalog: Catalog, counts: Mapping[str, _Count]
) -> Iterator[Event]:
    texts = pc.binary_join_element_wise(
        *(pc.fill_null(batch[name], "").cast(pa.binary()) for name in ("message", "logger")), b" (", b" ("
    ).to_pylist()
    ends = list(accumulate(len(text) + 1 for text in texts))
    hits = sorted({bisect_right(ends, at) for at in catalog.prefilter().hits(b"\n".join(texts))})
    for row in batch.take(pa.array(hits, pa.int64())).to_pylist():
        at = EpochMs(int(row["time"].timestamp() * 1000))
        count = counts[table.hour(at)]
        try:
            event = _event(row, at, table, reading, catalog, count)
        except Exception as error:  # noqa: BLE001 - whatever it was, the hour is named, and the other rows are read
            count.spoiled.spoil(row["offset"] if row["offset"] is not None else 0, error)
            continue
        if event is not None:
            yield event


def _event(
    row: Mapping[str, Any], at: EpochMs, table: LogTable, reading: Reading, catalog: Catalog, count: _Count
) -> Event | None:
    record = _record(row, at, table)
    match = catalog.match(record.message, logger=record.logger, level=record.level)
    match = match or exception_in(record, None)
    if match is None:
        count.unmatched_kafka += speaks_of_groups(record, catalog)
        return None
    count.matched += 1
    return event_of(match, record, cluster=row["cluster"] or reading.cluster, host=record.host, component=None)


def _record(row: Mapping[str, Any], at: EpochMs, table: LogTable) -> LogRecord:
    # A row as a record: its message may be the logged message, or the whole line in some layout.
    parsed = parse_line(row["message"] or "")
    place = Origin(
        path=_path(table, row["host"], row["file"]),
        byte_offset=row["offset"] if row["offset"] is not None else _key_of(row),
        line=row["line"] or 0,
    )
    return replace(
        parsed,
        origin=place,
        at=at,
        zoned=True,
        level=(row["level"] or parsed.level or "").upper() or None,
        logger=row["logger"] or parsed.logger,
        thread=row["thread"] or parsed.thread,
        host=row["host"] or parsed.host,
    )


def _path(table: LogTable, host: str | None, file: str | None) -> str:
    return "/".join(filter(None, (table.label, host, (file or "").lstrip("/"))))


def _key_of(row: Mapping[str, Any]) -> int:
    # Distinguishes rows without an offset.
    key = f"{row['time'].isoformat()}\0{row['message']}".encode("utf-8", "replace")
    return int.from_bytes(sha256(key).digest()[:6], "big")


@dataclass(slots=True)
class _Count:
    rows: int = 0
    bytes: int = 0
    matched: int = 0
    unmatched_kafka: int = 0
    first: EpochMs | None = None
    last: EpochMs | None = None
    heard: list[LogSpan] = field(default_factory=list)
    spoiled: SplitCounts = field(default_factory=SplitCounts)

    def see(self, times: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        first, last = EpochMs(times.min()), EpochMs(times.max())
        self.rows += len(times)
        self.bytes += int(sizes.sum())
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)

    def stats(self, hour: str) -> SplitStats:
        return SplitStats(
            path=hour, index=0, start=0, bytes=self.bytes, lines=self.rows, records=self.rows, unparsed=0,
            matched=self.matched, unmatched_kafka=self.unmatched_kafka, first=self.first, last=self.last,
            heard=tuple(self.heard), errors=tuple(self.spoiled.errors),
            defects=self.spoiled.defects(), try_again=self.spoiled.try_again,
        )  # fmt: skip
