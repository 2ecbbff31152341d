"""What `analyze` writes as Parquet beside the report."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from rebalance_forensics.pipeline.tables.schemas import MADE_OF_EVENTS
from tests.conftest import SAMPLES, Command

PAUSED = SAMPLES / "process-pause"


def test_events_and_tables_go_into_one_directory(command: Command, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    done = command("analyze", PAUSED, "--engine", "local", "--quiet", "--events", lake, "--tables", lake)
    assert done.returncode == 0
    tables = {table.name: table for table in MADE_OF_EVENTS}
    assert {path.stem for path in lake.iterdir()} == {"events", *tables}
    for name, table in tables.items():
        assert pq.read_schema(lake / f"{name}.parquet").names == ["cluster", *table.schema.names]
    pauses = pq.read_table(lake / "pauses.parquet").to_pylist()
    assert {pause["client_id"] for pause in pauses} == {"billing-v2-1", "billing-v2-2", "billing-v2-3"}


def test_tables_can_be_anonymized_and_events_cannot(command: Command, tmp_path: Path) -> None:
    done = command("analyze", PAUSED, "--engine", "local", "--quiet", "--anonymize", "--tables", tmp_path / "lake")
    assert done.returncode == 0
    assert pq.read_table(tmp_path / "lake" / "incidents.parquet")["group"].unique().to_pylist() == ["group-1"]
    refused = command("analyze", PAUSED, "--engine", "local", "--anonymize", "--events", tmp_path / "lake")
    assert refused.returncode == 2
    assert "--events holds the log lines as they are" in refused.stderr
