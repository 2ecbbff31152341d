"""Which files are known, which are new or have changed: the `inputs` table at work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from rebalance_forensics.pipeline.tables.layout import partition_files
from rebalance_forensics.pipeline.tables.listing import Listed
from rebalance_forensics.pipeline.tables.looking import Looked
from rebalance_forensics.pipeline.tables.rows import Cells, hashed
from rebalance_forensics.pipeline.tables.schemas import INPUTS
from rebalance_forensics.pipeline.tables.stores import Store, batches_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of `inputs`, and in which partition it stands."""

    day: int
    cluster: str
    cells: Cells

    @property
    def path(self) -> str:
        """The file's name when it was read last."""
        return str(self.cells["path"])

    @property
    def file_id(self) -> str:
        """The file, whatever its name."""
        return str(self.cells["file_id"])

    def was_read_at(self, etag: str) -> bool:
        """Whether this is how it was when it was read, all of it."""
        return not self.cells["errors"] and bool(self.cells["etag"] == etag)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a file is known by."""

    file_id: str
    head: str
    head_bytes: int


@dataclass(slots=True)
class Changes:
    """What a listing means beside the ledger."""

    fresh: dict[str, Identity] = field(default_factory=dict)
    """By path: the files to scan."""
    replaced: dict[str, Entry] = field(default_factory=dict)
    """By path of the file that is scanned: the entry of its former state."""


def read_ledger(store: Store, scope: str) -> list[Entry]:
    """All entries of a scope."""
    entries: list[Entry] = []
    for (day, cluster), files in partition_files(store, INPUTS, None, scope).items():
        for path in files:
            for batch in batches_of(store, path):
                entries.extend(Entry(day=day, cluster=cluster, cells=row) for row in batch.to_pylist())
    return entries


def known_files(listed: Iterable[Listed], ledger: Iterable[Entry]) -> set[str]:
    """The paths of files that were read as they are now; told by name, size and age, without opening them."""
    read: dict[str, list[Entry]] = defaultdict(list)
    for entry in ledger:
        read[entry.path.partition("!/")[0]].append(entry)
    return {file.path for file in listed if _is_known(read.get(file.path, ()), file.etag)}


def _is_known(entries: Collection[Entry], etag: str) -> bool:
    """Whether a file, or all members of an archive, were read when it was like this."""
    failed = any(e.cells["head"] is None or (e.cells["errors"] and e.cells["etag"] == etag) for e in entries)
    return not failed and any(entry.was_read_at(etag) for entry in entries)


def changes(looked: Looked, known: Collection[str], ledger: Iterable[Entry]) -> Changes:
    """Which of the files that were opened are to be scanned, and whose entries they replace."""
    found, new, entries = Changes(), {file.path for file in looked.files}, list(ledger)
    same = {e.path for e in entries if e.path in new and e.was_read_at(looked.etags[e.path])}
    claimed = {e.file_id for e in entries if e.path in same or e.path.partition("!/")[0] in known}
    waiting: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.file_id not in claimed:
            waiting[entry.path.rpartition("/")[0]].append(entry)
    for path in sorted(new - same):
        heads = looked.heads[path]
        identity = _identity(path, heads)
        if identity.file_id in claimed:
            # A copy beside its original is a file of its own.
            identity = replace(identity, file_id=hashed(identity.file_id, path))
        claimed.add(identity.file_id)
        found.fresh[path] = identity
        possible = waiting[path.rpartition("/")[0]]
        former = next((entry for entry in possible if _is_former(entry, path, heads)), None)
        if former is not None:
            possible.remove(former)
            found.replaced[path] = former
    return found


def _identity(path: str, heads: Mapping[int, str]) -> Identity:
    size = max(heads)
    return Identity(file_id=hashed(path.rpartition("/")[0], heads[size]), head=heads[size], head_bytes=size)


def _is_former(entry: Entry, path: str, heads: Mapping[int, str]) -> bool:
    """Whether an entry tells of an earlier state of a file in its directory: it began alike, or was never read."""
    size = int(entry.cells["head_bytes"] or 0)
    return entry.path == path if size == 0 else heads.get(size) == entry.cells["head"]
