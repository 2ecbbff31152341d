"""Parquet files next to a report: its events, groups and incidents as tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rebalance_forensics.pipeline.event_files import COLUMNS, event_table
from rebalance_forensics.pipeline.run import Analysis
from rebalance_forensics.pipeline.tables.rows import history_rows, incident_rows
from rebalance_forensics.pipeline.tables.schemas import MADE_OF_EVENTS, Cells
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.output_files import OutputError, replacing

CLUSTER = pa.field("cluster", pa.string())


def write_events(analysis: Analysis, directory: Path, mode: int | None = None) -> None:
    """Write all events to `events.parquet` in the directory."""
    _write(event_table(analysis).select(COLUMNS), directory / "events.parquet", mode)


def write_tables(report: Report, directory: Path, mode: int | None = None) -> None:
    """Write the report's groups and incidents, one Parquet file per table, with the columns of docs/tables.md."""
    rows: dict[str, list[Cells]] = {table.name: [] for table in MADE_OF_EVENTS}
    for history in report.groups:
        for table, row in history_rows(history):
            rows[table.name].append({"cluster": history.cluster, **row})
    for incident in report.incidents:
        for table, row in incident_rows(incident):
            rows[table.name].append({"cluster": incident.cluster, **row})
    for table in MADE_OF_EVENTS:
        schema = pa.schema([CLUSTER, *table.schema])
        _write(pa.Table.from_pylist(rows[table.name], schema=schema), directory / f"{table.name}.parquet", mode)


def _write(table: pa.Table, target: Path, mode: int | None) -> None:
    # Write the complete file or none.
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target, mode) as unfinished:
            pq.write_table(table, unfinished, compression="zstd")
    except OSError as error:
        raise OutputError.of(target, error) from error
