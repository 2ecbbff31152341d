"""Parts of the tables that were deleted or cut: written again from the logs if these still exist, else named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rebalance_forensics.job.lake.intervals import date_text
from rebalance_forensics.job.lake.layout import Partition
from rebalance_forensics.job.lake.ledger import Entry, Kinship
from rebalance_forensics.job.lake.stock import Stock
from rebalance_forensics.pipeline.tables.schemas import EVENTS, MADE_OF_EVENTS, PENDING
from rebalance_forensics.records import DAY_MS


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
        if there and not any(_tells(entry, partition) for entry in kin.removed):
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
    """True if a log may hold events of a date; one that the ledger does not know is read in any case."""
    entry = kin.current.get(path)
    return entry is None or (entry.cluster == partition[1] and bool(set(_days(entry)) & _around(partition[0])))


def _around(day: int) -> set[int]:
    """Clocks jump, and lines are not always in order."""
    return {day - 1, day, day + 1}


def _tells(entry: Entry, partition: Partition) -> bool:
    return entry.cluster == partition[1] and bool(entry.cells["matched"]) and partition[0] in _days(entry)


def _days(entry: Entry) -> Iterator[int]:
    first, last = entry.cells["first"], entry.cells["last"]
    if first is not None and last is not None:
        yield from range(int(first.timestamp() * 1000) // DAY_MS, int(last.timestamp() * 1000) // DAY_MS + 1)


def _note(what: str, partition: Partition, then: str) -> str:
    day, cluster = partition
    return f"{what} of {date_text(day)} (cluster {cluster}) are missing from the tables (deleted or cut); {then}."
