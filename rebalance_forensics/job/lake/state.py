"""What earlier runs left: the version of the tables, the intervals they cover."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from rebalance_forensics.job.lake.intervals import Coverage, Interval
from rebalance_forensics.job.lake.journal import Journal
from rebalance_forensics.job.lake.layout import batches_of, partition_files, undamaged
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.schemas import SCHEMA_VERSION, Table

MARK = "_schema.json"
COVERAGE = "_coverage"


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
    """The intervals of all runs of a scope; where a stopped run left two states, both are true."""
    intervals: list[Interval] = []
    for file in store.files(_coverage_directory(scope)):
        if file.path.endswith(".json"):
            with undamaged(store.uri, file.path):
                intervals += [Interval(int(a), int(b)) for a, b in json.loads(store.read(file.path))]
    return Coverage.of(intervals)


def put_coverage(journal: Journal, scope: str, coverage: Coverage) -> None:
    """Keep them in one small file, for `runs` becomes long."""
    intervals = [(interval.since, interval.until) for interval in coverage.intervals]
    journal.write(f"{_coverage_directory(scope)}/{journal.run}.json", json.dumps(intervals).encode())


def _coverage_directory(scope: str) -> str:
    return f"{COVERAGE}/{quote(scope, safe='')}"


def rows_in(store: Store, files: list[str]) -> list[dict[str, Any]]:
    """The rows of some files of a table."""
    return [row for path in files for batch in batches_of(store, path) for row in batch.to_pylist()]


def rows_of_day(store: Store, table: Table, day: int, cluster: str) -> list[dict[str, Any]]:
    """The rows of one partition."""
    return rows_in(store, partition_files(store, table, [day], cluster).get((day, cluster), []))
