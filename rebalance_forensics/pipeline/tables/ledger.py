"""Which files are known, which are new or have changed: the `inputs` table at work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from rebalance_forensics.pipeline.tables.layout import partition_files
from rebalance_forensics.pipeline.tables.rows import Cells, hashed
from rebalance_forensics.pipeline.tables.schemas import INPUTS
from rebalance_forensics.pipeline.tables.stores import Store, batches_of
from rebalance_forensics.sources.files import InputFile
from rebalance_forensics.sources.sample import beginning

HEAD_BYTES = 4096
"""A log is known by this much of its beginning: it grows, is rolled and packed, but keeps it."""


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
    replaced: list[Entry] = field(default_factory=list)
    """Entries of files that are scanned anew."""


def read_ledger(store: Store, scope: str) -> list[Entry]:
    """All entries of a scope."""
    entries: list[Entry] = []
    for (day, cluster), files in partition_files(store, INPUTS, None, scope).items():
        for path in files:
            for batch in batches_of(store, path):
                entries.extend(Entry(day=day, cluster=cluster, cells=row) for row in batch.to_pylist())
    return entries


def identity_of(path: str, data: bytes) -> Identity:
    """What a file is known by, from its first bytes."""
    head = _hash_of(data)
    return Identity(file_id=hashed(path.rpartition("/")[0], head), head=head, head_bytes=len(data))


def _hash_of(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def changes(listed: Sequence[InputFile], etags: Mapping[str, str], ledger: Iterable[Entry]) -> Changes:
    """The files that no entry describes as they are now; most are told by name, size and age, without opening them."""
    known = list(ledger)
    by_path: dict[str, list[Entry]] = defaultdict(list)
    for entry in known:
        by_path[entry.path].append(entry)
    unsure = [file for file in listed if not any(_same(entry, file, etags) for entry in by_path[file.path])]
    sure = {file.path for file in listed} - {file.path for file in unsure}
    claimed = {
        entry.file_id
        for file in listed
        if file.path in sure
        for entry in by_path[file.path]
        if _same(entry, file, etags)
    }
    found = Changes()
    waiting: dict[str, list[Entry]] = defaultdict(list)
    for entry in known:
        if entry.file_id not in claimed:
            waiting[entry.path.rpartition("/")[0]].append(entry)
    for file in unsure:
        data = beginning(file, HEAD_BYTES)
        identity = identity_of(file.path, data)
        if identity.file_id in claimed:
            # A copy beside its original is a file of its own.
            identity = replace(identity, file_id=hashed(identity.file_id, file.path))
        claimed.add(identity.file_id)
        found.fresh[file.path] = identity
        possible = waiting[file.path.rpartition("/")[0]]
        former = next((entry for entry in possible if _is_former(entry, file.path, data)), None)
        if former is not None:
            possible.remove(former)
            found.replaced.append(former)
    return found


def _same(entry: Entry, file: InputFile, etags: Mapping[str, str]) -> bool:
    """Whether a file is as it was when it was read, all of it."""
    cells = entry.cells
    return not cells["errors"] and bool(cells["size"] == file.size) and bool(cells["etag"] == etag_of(file, etags))


def _is_former(entry: Entry, path: str, data: bytes) -> bool:
    """Whether an entry tells of an earlier state of a file in its directory: it began alike, or was never read."""
    size = int(entry.cells["head_bytes"] or 0)
    return entry.path == path if size == 0 else _hash_of(data[:size]) == entry.cells["head"]


def etag_of(file: InputFile, etags: Mapping[str, str]) -> str:
    """What changes with a file's content: the store's own tag, else its time of change."""
    return etags.get(file.location) or str(file.mtime_ms)
