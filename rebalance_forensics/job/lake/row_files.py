"""Rows into the waiting files of a run, one file a table, date and cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rebalance_forensics.job.lake.journal import FILES, Journal
from rebalance_forensics.job.lake.layout import directory_of
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.tables.schemas import BY_NAME, Cells, plain

_ROWS_AT_ONCE = 4096


class PartWriter:
    """The files that one task writes; `part` distinguishes them from those of other tasks of the run."""

    def __init__(self, store: Store, work: str, part: str) -> None:
        self._store, self._work, self._part = store, work, part
        self._open: dict[tuple[str, int, str], _Part] = {}
        self.finished: list[str] = []

    def add(self, table: str, day: int, cluster: str, row: Cells) -> None:
        """One more row."""
        key = (table, day, cluster)
        if key not in self._open:
            path = f"{self._work}/{FILES}/{directory_of(table, day, cluster)}/part-{self._part}.parquet"
            self._open[key] = _Part(self._store, path, plain(BY_NAME[table].schema))
        self._open[key].add(row)

    def next_part(self, part: str) -> None:
        """Go on in other files; a task does so at each date, so that few are open."""
        self.finish()
        self._part = part

    def finish(self) -> None:
        """Close all files that are open."""
        for part in self._open.values():
            part.close()
            self.finished.append(part.path)
        self._open.clear()


class _Part:
    def __init__(self, store: Store, path: str, schema: pa.Schema) -> None:
        self.path = path
        self._schema = schema
        self._rows: list[Cells] = []
        self._stream: Any = store.create(path)
        self._writer = pq.ParquetWriter(self._stream, schema, compression="zstd", write_page_checksum=True)

    def add(self, row: Cells) -> None:
        self._rows.append(row)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, self._schema))
            self._rows = []

    def close(self) -> None:
        self._flush()
        self._writer.close()
        self._stream.close()


def put_rows(journal: Journal, rows: Iterable[tuple[str, int, str, Cells]]) -> None:
    """Rows that the driver itself writes, by table, date and cluster."""
    writer = PartWriter(journal.store, journal.work, journal.run)
    for row in rows:
        writer.add(*row)
    writer.finish()
    journal.put(*writer.finished)
