"""Handles files of the tables that were deleted or truncated since the last run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rebalance_forensics.job.lake.editions import Edition
from rebalance_forensics.job.lake.intervals import date_text
from rebalance_forensics.job.lake.layout import EVERY_CLUSTER, Partition
from rebalance_forensics.job.lake.ledger import Entry, Kinship
from rebalance_forensics.pipeline.tables.schemas import EVENTS, INPUTS, MADE_OF_EVENTS, PENDING, Table
from rebalance_forensics.records import DAY_MS

_WATCHED = (EVENTS, PENDING, *MADE_OF_EVENTS, INPUTS)


@dataclass(frozen=True, slots=True)
class Lost:
    """Files that an edition names but that no longer exist."""

    files: frozenset[str] = frozenset()
    partitions: frozenset[tuple[str, Partition]] = frozenset()
    """Tables with date and cluster of lost files."""
    explained: frozenset[Partition] = frozenset()
    """Dates and clusters whose findings still exist."""

    def of(self, *tables: Table) -> set[Partition]:
        """The dates and clusters for which these tables lack rows."""
        names = {table.name for table in tables}
        return {partition for table, partition in self.partitions if table in names}


def lost_from(edition: Edition, scope: str) -> Lost:
    """Find the missing files among those that a run of this scope may change, and remove them from the edition."""
    files, partitions = set[str](), set[tuple[str, Partition]]()
    for table in _WATCHED:
        named = edition.files(table)
        if not named:
            continue
        there = {file.path: file.size for file in edition.store.files(table.name)}
        for path, file in named.items():
            if there.get(path) != file.size and scope in (EVERY_CLUSTER, file.partition[1]):
                files.add(path)
                partitions.add((table.name, file.partition))
        edition.known[table.name] = {path: file for path, file in named.items() if path not in files}
    left = (file.partition for table in MADE_OF_EVENTS for file in edition.files(table).values())
    return Lost(frozenset(files), frozenset(partitions), frozenset(left) if files else frozenset())


@dataclass(slots=True)
class Losses:
    """What to do about lost files."""

    again: set[str] = field(default_factory=set)
    """Paths of logs to read again."""
    restored: set[int] = field(default_factory=set)
    """Dates whose events are read again."""
    incomplete: set[int] = field(default_factory=set)
    """Dates with events that remain lost: they are investigated again only if another log of them arrives."""
    days: set[int] = field(default_factory=set)
    """Dates to investigate again."""
    notes: list[str] = field(default_factory=list)


def losses_of(missing: Lost, kin: Kinship) -> Losses:
    """Reread every log that exists. Findings from events that cannot be read again are kept: partial ones mislead."""
    found = Losses()
    lost = set[Partition]()
    for partition in sorted(missing.of(EVENTS, PENDING)):
        day, cluster = partition
        # Clocks jump, and lines are not always in order.
        there = {path for path in kin.identities if _may_tell(kin, path, cluster, {day - 1, day, day + 1})}
        logged = (e for e in kin.removed if e.cluster == cluster and e.cells["matched"] and day in _days(e))
        removed = sorted({entry.path for entry in logged})
        known = kin.current.keys() | kin.former.keys()
        if there and (not removed or any(_may_tell(kin, path, cluster, {day}) for path in there & known)):
            # A log that has grown must not be continued where it was last read.
            found.again |= there
            found.restored.add(day)
            then = "they are read again from the logs"
            if removed:
                more = f" and {len(removed) - 1} more" if removed[1:] else ""
                then += f", but for those of {removed[0]}{more}, no longer in the input"
        else:
            then = "the logs that told of them are gone too, so they stay lost"
        if removed or not there:
            lost.add(partition)
            found.incomplete.add(day)
            if partition in missing.explained:
                then += "; the findings stay as they are until another log reaches this date"
        found.notes.append(_note("events", partition, then))
    for partition in sorted(missing.of(*MADE_OF_EVENTS)):
        # A new investigation of incomplete events would remove existing findings.
        if partition in lost and (partition in missing.explained or partition[0] not in found.restored):
            continue
        found.days.add(partition[0])
        found.notes.append(_note("findings", partition, "they are made again from the events"))
    return found


def _may_tell(kin: Kinship, path: str, cluster: str, days: set[int]) -> bool:
    # True if a log may contain events of these dates; a log that is not in the ledger is always read.
    entry = kin.current.get(path) or next(iter(kin.former.get(path, ())), None)
    return entry is None or (entry.cluster == cluster and not days.isdisjoint(_days(entry)))


def _days(entry: Entry) -> Iterator[int]:
    first, last = entry.cells["first"], entry.cells["last"]
    if first is not None and last is not None:
        yield from range(int(first.timestamp() * 1000) // DAY_MS, int(last.timestamp() * 1000) // DAY_MS + 1)


def _note(what: str, partition: Partition, then: str) -> str:
    day, cluster = partition
    return f"{what} of {date_text(day)} (cluster {cluster}) are missing from the tables (deleted or cut); {then}."
