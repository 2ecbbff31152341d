"""Writes rows to files, one for each table, date and cluster; they become visible when the run is committed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rebalance_forensics.job.lake.layout import DataFile, directory_of
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.tables.schemas import BY_NAME, Cells, plain

_ROWS_AT_ONCE = 4096


class PartWriter:
    """The files that one task writes; `part` starts with the run's id and is unique for the task."""

    def __init__(self, store: Store, part: str) -> None:
        self._store, self._part = store, part
        self._open: dict[tuple[str, int, str], _Part] = {}
        self.finished: list[str] = []
        """A DataFile each, as JSON: what the driver commits."""

    def add(self, table: str, day: int, cluster: str, row: Cells) -> None:
        """Add a row."""
        key = (table, day, cluster)
        if key not in self._open:
            path = f"{directory_of(table, day, cluster)}/part-{self._part}.parquet"
            self._open[key] = _Part(self._store, path, plain(BY_NAME[table].schema))
        self._open[key].add(row)

    def next_part(self, part: str) -> None:
        """Continue in new files; tasks do so for each date, so that few files are open."""
        self.finish()
        self._part = part

    def finish(self) -> None:
        """Close all open files."""
        for part in self._open.values():
            self.finished.append(msgspec.json.encode(part.close()).decode())
        self._open.clear()


class _Part:
    def __init__(self, store: Store, path: str, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        self._rows: list[Cells] = []
        self._written = 0
        self._stream: Any = store.create(path)
        self._writer = pq.ParquetWriter(self._stream, schema, compression="zstd", write_page_checksum=True)

    def add(self, row: Cells) -> None:
        self._rows.append(row)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, self._schema))
            self._written += len(self._rows)
            self._rows = []

    def close(self) -> DataFile:
        self._flush()
        self._writer.close()
        size = self._stream.tell()
        self._stream.close()
        return DataFile(path=self._path, size=size, rows=self._written)


def written(store: Store, run: str, rows: Iterable[tuple[str, int, str, Cells]]) -> list[str]:
    """Write rows on the driver, by table, date and cluster; returns the finished files."""
    writer = PartWriter(store, run)
    for row in rows:
        writer.add(*row)
    writer.finish()
    return writer.finished
