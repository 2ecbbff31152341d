"""What earlier runs left: the version of the tables, the intervals they cover."""

from __future__ import annotations

import json
from typing import Any

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.intervals import Coverage, Interval
from rebalance_forensics.pipeline.tables.layout import partition_files
from rebalance_forensics.pipeline.tables.schemas import RUNS, SCHEMA_VERSION, Table
from rebalance_forensics.pipeline.tables.stores import Store, batches_of

MARK = "_schema.json"


def refuse_other_version(store: Store, uri: str) -> None:
    """Tables of another version are not touched."""
    if store.kind(MARK) != "file":
        return
    try:
        version = json.loads(store.read(MARK))["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"--output {uri}: {MARK} cannot be read; name another directory.") from error
    if version != SCHEMA_VERSION:
        raise InputError(
            f"--output {uri} holds tables of schema version {version}, this release writes {SCHEMA_VERSION}; "
            "name another directory and run over the intervals again."
        )


def mark_version(store: Store) -> None:
    """Say which version the tables are of."""
    if store.kind(MARK) != "file":
        store.write(MARK, json.dumps({"version": SCHEMA_VERSION}).encode())


def coverage_of(store: Store, scope: str) -> Coverage:
    """The intervals of all runs of a scope."""
    rows = (row for files in partition_files(store, RUNS, None, scope).values() for row in rows_in(store, files))
    return Coverage.of(Interval(_ms(row["since"]), _ms(row["until"])) for row in rows)


def rows_in(store: Store, files: list[str]) -> list[dict[str, Any]]:
    """The rows of some files of a table."""
    return [row for path in files for batch in batches_of(store, path) for row in batch.to_pylist()]


def rows_of_day(store: Store, table: Table, day: int, cluster: str) -> list[dict[str, Any]]:
    """The rows of one partition."""
    return rows_in(store, partition_files(store, table, [day], cluster).get((day, cluster), []))


def _ms(at: Any) -> int:  # noqa: ANN401 - a datetime of pyarrow's making
    return int(at.timestamp() * 1000)
