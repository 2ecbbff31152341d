"""What the last run left: when it listed its inputs, and of which files the tables consisted then.

A file that is missing since, or has another size, was deleted or cut: a ledger that says "read" about events that are
nowhere would be a lie for good. A byte that changed is found by Parquet's page checksums when the file is read.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from rebalance_forensics.job.lake.damage import undamaged
from rebalance_forensics.job.lake.journal import FILES, Journal
from rebalance_forensics.job.lake.layout import Partition, partition_of
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.tables.schemas import EVENTS, INPUTS, MADE_OF_EVENTS, PENDING, Table

STOCK = "_stock"
_WATCHED = (EVENTS, PENDING, *MADE_OF_EVENTS, INPUTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """The state that a run leaves; `missing` is what was gone of it when the next one began."""

    listed_ms: int | None = None
    files: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Directory of a partition -> name of a file -> its size in bytes."""
    missing: frozenset[str] = frozenset()
    """Directories of which a file was deleted or cut."""

    def missing_of(self, *tables: Table) -> set[Partition]:
        """The dates and clusters of which some tables lack rows."""
        names = {table.name for table in tables}
        known = (partition_of(f"{directory}/") for directory in self.missing)
        return {(day, cluster) for table, day, cluster in filter(None, known) if table in names}


def stock_of(store: Store, scope: str) -> Stock:
    """What the last run of a scope left, beside what is there now."""
    files = [file.path for file in store.files(_directory(scope)) if file.path.endswith(".json")]
    if not files:
        return Stock()
    with undamaged(store.uri, files[-1]):
        inventory = json.loads(store.read(files[-1]))
        listed_ms = int(inventory["listed_ms"])
        left = {directory: dict(sizes) for directory, sizes in inventory["sizes"].items()}
    there: dict[str, dict[str, int]] = defaultdict(dict)
    for table in _WATCHED:
        for file in store.files(table.name):
            directory, _, name = file.path.rpartition("/")
            there[directory][name] = file.size
    missing = frozenset(
        directory
        for directory, sizes in left.items()
        # A run for another choice of clusters may have put files of its own in the place of all of them.
        if not there[directory] or (there[directory].keys() & sizes and not sizes.items() <= there[directory].items())
    )
    return Stock(listed_ms=listed_ms, files=left, missing=missing)


def put_stock(
    store: Store, journal: Journal, work: str, name: str, scope: str, *, before: Stock, listed_ms: int
) -> None:
    """Note what will be there once the journal is done; what is missing is forgotten, for it was said."""
    watched = {table.name for table in _WATCHED}
    sizes = {file.path: file.size for file in store.files(f"{work}/{FILES}")}
    files = {directory: dict(left) for directory, left in before.files.items() if directory not in before.missing}
    files |= {
        directory: {path.rpartition("/")[2]: sizes[path] for path in sorted(put)}
        for directory, put in journal.replaced.items()
        if directory.partition("/")[0] in watched
    }
    left = {directory: names for directory, names in sorted(files.items()) if names}
    path = f"{work}/{FILES}/{_directory(scope)}/{name}.json"
    store.write(path, json.dumps({"listed_ms": listed_ms, "sizes": left}).encode())
    journal.put(_directory(scope), path)


def _directory(scope: str) -> str:
    return f"{STOCK}/{quote(scope, safe='')}"
