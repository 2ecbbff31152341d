"""What a run left in the tables, and what is to be done where some of it was deleted or cut since."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from rebalance_forensics.job.lake.intervals import date_text
from rebalance_forensics.job.lake.journal import FILES, Journal
from rebalance_forensics.job.lake.layout import Partition, partition_of, undamaged
from rebalance_forensics.job.lake.ledger import Entry, Kinship
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.tables.schemas import EVENTS, INPUTS, MADE_OF_EVENTS, PENDING, Table
from rebalance_forensics.records import DAY_MS

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


def put_stock(journal: Journal, scope: str, *, before: Stock, listed_ms: int) -> None:
    """Note what will be there once the journal is done; what is missing is forgotten, for it was said."""
    watched = {table.name for table in _WATCHED}
    sizes = {file.path: file.size for file in journal.store.files(f"{journal.work}/{FILES}")}
    files = {directory: dict(left) for directory, left in before.files.items() if directory not in before.missing}
    files |= {
        directory: {path.rpartition("/")[2]: sizes[path] for path in sorted(put)}
        for directory, put in journal.replaced.items()
        if directory.partition("/")[0] in watched
    }
    left = {directory: names for directory, names in sorted(files.items()) if names}
    inventory = json.dumps({"listed_ms": listed_ms, "sizes": left})
    journal.write(f"{_directory(scope)}/{journal.run}.json", inventory.encode())


def _directory(scope: str) -> str:
    return f"{STOCK}/{quote(scope, safe='')}"


@dataclass(slots=True)
class Losses:
    """What to do about them."""

    again: set[str] = field(default_factory=set)
    """Paths of logs to read again."""
    days: set[int] = field(default_factory=set)
    """Dates to investigate again."""
    notes: list[str] = field(default_factory=list)


def losses_of(stock: Stock, kin: Kinship) -> Losses:
    """Decide it. Dates of which some logs are gone are left as they are: half of their events tell a wrong story."""
    found = Losses()
    lost = set[Partition]()
    for partition in sorted(lost_events(stock)):
        there = {path for path in kin.identities if _may_tell(kin, path, partition)}
        day, cluster = partition
        logged = (e for e in kin.removed if e.cluster == cluster and e.cells["matched"] and day in _days(e))
        if there and not any(logged):
            found.again |= there & kin.current.keys()
            found.notes.append(_note("events", partition, "they are read again from the logs"))
        else:
            lost.add(partition)
            found.notes.append(_note("events", partition, "the logs that told of them are gone too, so they stay lost"))
    for partition in sorted(stock.missing_of(*MADE_OF_EVENTS) - lost):
        found.days.add(partition[0])
        found.notes.append(_note("findings", partition, "they are made again from the events"))
    return found


def lost_events(stock: Stock) -> set[Partition]:
    """The dates and clusters of which events were deleted."""
    return stock.missing_of(EVENTS, PENDING)


def _may_tell(kin: Kinship, path: str, partition: Partition) -> bool:
    # True if a log may hold events of a date; one that the ledger does not know is read in any case.
    entry = kin.current.get(path)
    day, cluster = partition
    # Clocks jump, and lines are not always in order.
    return entry is None or (entry.cluster == cluster and not {day - 1, day, day + 1}.isdisjoint(_days(entry)))


def _days(entry: Entry) -> Iterator[int]:
    first, last = entry.cells["first"], entry.cells["last"]
    if first is not None and last is not None:
        yield from range(int(first.timestamp() * 1000) // DAY_MS, int(last.timestamp() * 1000) // DAY_MS + 1)


def _note(what: str, partition: Partition, then: str) -> str:
    day, cluster = partition
    return f"{what} of {date_text(day)} (cluster {cluster}) are missing from the tables (deleted or cut); {then}."
