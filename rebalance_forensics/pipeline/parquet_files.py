"""Parquet files beside a report: its events, and what it says of groups and incidents as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rebalance_forensics.pipeline.event_files import COLUMNS, event_table
from rebalance_forensics.pipeline.run import Analysis
from rebalance_forensics.pipeline.tables.columns import Cells
from rebalance_forensics.pipeline.tables.rows import (
    finding_rows,
    generation_row,
    incident_group_rows,
    incident_row,
    pause_row,
    unread_row,
)
from rebalance_forensics.pipeline.tables.schemas import (
    FINDINGS,
    GENERATIONS,
    INCIDENT_GROUPS,
    INCIDENTS,
    PAUSES,
    UNREAD,
    Table,
)
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.output_files import OutputError, replacing

CLUSTER = pa.field("cluster", pa.string())


def write_events(analysis: Analysis, directory: Path, mode: int | None = None) -> None:
    """One Parquet file of all events in the directory."""
    _write(event_table(analysis).select(COLUMNS), directory / "events.parquet", mode)


def write_tables(report: Report, directory: Path, mode: int | None = None) -> None:
    """What was made of the events, a Parquet file a table, with the columns of docs/tables.md."""
    for table, rows in _tables(report):
        schema = pa.schema([CLUSTER, *table.schema])
        _write(pa.Table.from_pylist(list(rows), schema=schema), directory / f"{table.name}.parquet", mode)


def _tables(report: Report) -> Iterator[tuple[Table, Iterable[Cells]]]:
    groups = report.groups
    yield (
        GENERATIONS,
        ({"cluster": g.cluster, **generation_row(g, generation)} for g in groups for generation in g.generations),
    )
    yield PAUSES, ({"cluster": g.cluster, **pause_row(g, pause)} for g in groups for pause in g.pauses)
    yield UNREAD, ({"cluster": g.cluster, **unread_row(g, span)} for g in groups for span in g.unread)
    incidents = report.incidents
    yield INCIDENTS, ({"cluster": each.cluster, **incident_row(each)} for each in incidents)
    yield INCIDENT_GROUPS, ({"cluster": each.cluster, **row} for each in incidents for row in incident_group_rows(each))
    yield FINDINGS, ({"cluster": each.cluster, **row} for each in incidents for row in finding_rows(each))


def _write(table: pa.Table, target: Path, mode: int | None) -> None:
    """Write the file whole or not at all."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target, mode) as unfinished:
            pq.write_table(table, unfinished, compression="zstd")
    except OSError as error:
        raise OutputError.of(target, error) from error
