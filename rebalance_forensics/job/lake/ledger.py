"""The ledger in the `inputs` table: which files are known, new or changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from rebalance_forensics.job.lake.editions import Edition
from rebalance_forensics.pipeline.inputs.file_listing import Listed
from rebalance_forensics.pipeline.inputs.sights import Sight, is_another, read_as, shown, sight_of
from rebalance_forensics.pipeline.tables.rows import hashed
from rebalance_forensics.pipeline.tables.schemas import INPUTS, Cells
from rebalance_forensics.sources.files.budgets import Allowance, Limits
from rebalance_forensics.sources.profiles.profile import FileProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of `inputs` with its partition."""

    day: int
    cluster: str
    cells: Cells

    @property
    def path(self) -> str:
        """The name of the file when it was last read."""
        return str(self.cells["path"])

    @property
    def file_id(self) -> str:
        """The id of the file, independent of its name."""
        return str(self.cells["file_id"])

    def was_read_at(self, etag: str) -> bool:
        """True if the file has not changed since it was read, as far as it was readable."""
        return bool(self.cells["etag"] == etag)


_Beginning = tuple[str, int, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The identity of a file."""

    file_id: str
    head: str
    head_bytes: int


@dataclass(slots=True)
class Changes:
    """The differences between a listing and the ledger."""

    current: Mapping[str, Entry] = field(default_factory=dict)
    """Path -> entry of each unchanged file."""
    fresh: dict[str, Identity] = field(default_factory=dict)
    """Path -> identity of each file to scan, including unchanged ones that are to be read differently."""
    replaced: dict[str, Entry] = field(default_factory=dict)
    """Path of a scanned file -> the entry of its previous state."""
    again: frozenset[str] = frozenset()
    """Paths of unchanged files whose events were lost."""
    dropped: list[Entry] = field(default_factory=list)
    """Further entries of existing files: of copies and of other previous states."""
    noted: list[tuple[Entry, Entry]] = field(default_factory=list)
    """Entries that change although no line has to be read again, before and after."""


@dataclass(slots=True)
class Kinship:
    """Which entries belong to which existing files."""

    identities: dict[str, Identity] = field(default_factory=dict)
    current: dict[str, Entry] = field(default_factory=dict)
    """Path -> entry of the file's current state."""
    former: dict[str, list[Entry]] = field(default_factory=dict)
    """Path -> entries of the file's previous states, the best one to continue from first."""
    removed: list[Entry] = field(default_factory=list)
    """Entries of files that no longer exist."""


def read_ledger(edition: Edition, scope: str) -> list[Entry]:
    """All entries of a scope."""
    return [Entry(day=day, cluster=cluster, cells=row) for (day, cluster), row in edition.rows(INPUTS, None, scope)]


def known_sights(
    listed: Iterable[Listed], ledger: Iterable[Entry], limits: Limits, since_ms: int | None = None
) -> dict[str, list[Sight]]:
    """Path -> logs in unchanged files, recognized by name, size and age without opening them."""
    # Blocks are compared only if the inode changed since the last run's listing. A file that could not be read to its
    # end is opened again if more may be unpacked now.
    read: dict[str, list[Entry]] = defaultdict(list)
    for entry in ledger:
        read[entry.path.partition("!/")[0]].append(entry)
    return {file.path: sights for file in listed if (sights := _known(read.get(file.path, ()), file, limits, since_ms))}


def _known(entries: Collection[Entry], file: Listed, limits: Limits, since_ms: int | None) -> list[Sight]:
    # The known logs of a file, or of all members of an archive; empty if any of them has to be opened again.
    if any(entry.cells["head"] is None or entry.cells["etag"] is None for entry in entries):
        return []
    current = [entry for entry in entries if entry.was_read_at(file.etag)]
    sights = [sight_of(entry.cells, file.location) for entry in current]
    known = [sight for sight in sights if sight is not None]
    if len(known) < len(sights) or not known or is_another(file, known[0].fingerprint, since_ms):
        return []
    allowance, spoiled = limits.allowance(file.size), any(entry.cells["errors"] for entry in current)
    return [] if spoiled and any(_was_allowed_less(sight, allowance) for sight in known) else known


def _was_allowed_less(sight: Sight, now: Allowance) -> bool:
    then = sight.file.allowance
    return then is not None and (then.unpacked, then.seconds) < (now.unpacked, now.seconds)


def kinship(sights: Mapping[str, Sight], ledger: Iterable[Entry]) -> Kinship:
    """Match entries with files."""
    found, waiting = Kinship(identities=_identities(sights)), defaultdict[_Beginning, list[Entry]](list)
    for entry in ledger:
        sight = sights.get(entry.path)
        if sight is not None and entry.path not in found.current and _is_current(entry, sight):
            found.current[entry.path] = entry
        else:
            waiting[_beginning(entry)].append(entry)
    for path, sight in sorted(sights.items()):
        directory, current = path.rpartition("/")[0], found.current.get(path)
        former = [
            entry
            for beginning in [(path, 0, None), *((directory, size, head) for size, head in sight.heads.items() if size)]
            for entry in waiting.get(beginning, ())
            if _is_former(entry, sight, current)
        ]
        former.sort(key=lambda entry: (entry.path == path, entry.cells["head_bytes"]), reverse=True)
        if former:
            found.former[path] = former
        for entry in former:
            waiting[_beginning(entry)].remove(entry)
    found.removed = [entry for left in waiting.values() for entry in left]
    return found


def _beginning(entry: Entry) -> _Beginning:
    # The key by which later states of a file are found: directory and first bytes; if it was never read, its name.
    size = int(entry.cells["head_bytes"] or 0)
    return (entry.path.rpartition("/")[0], size, entry.cells["head"]) if size else (entry.path, 0, None)


def changes(
    kin: Kinship, sights: Mapping[str, Sight], profiles: Mapping[str, FileProfile], again: Collection[str] = ()
) -> Changes:
    """The files to scan: new and changed ones, and those that are now read differently."""
    found = Changes(current=kin.current, again=frozenset(again))
    for path, identity in sorted(kin.identities.items()):
        entry, former = kin.current.get(path), kin.former.get(path, [])
        sight, how = sights[path], read_as(profiles[path], sights[path].look)
        known = None if entry is None or path in again else (entry.file_id, entry.cells["read_as"])
        if entry is not None and known == (identity.file_id, how):
            found.dropped += former
            noted = noted_cells(sight, profiles[path])
            if any(entry.cells[name] != value for name, value in noted.items()):
                found.noted.append((entry, replace(entry, cells=entry.cells | noted)))
            continue
        found.fresh[path] = identity
        states = former if entry is None else [entry, *former]
        if states:
            found.replaced[path] = states[0]
        found.dropped += states[1:]
    return found


def noted_cells(sight: Sight, profile: FileProfile) -> Cells:
    """The cells of an entry that do not depend on reading lines."""
    return {
        "kafka_version": sight.release or profile.kafka_version,
        "fingerprint": sight.fingerprint,
        "shows": shown(sight),
    }


def _identities(sights: Mapping[str, Sight]) -> dict[str, Identity]:
    # The identity of each file; of several with the same first bytes, all but the first include the name.
    found: dict[str, Identity] = {}
    claimed: set[str] = set()
    for path, sight in sorted(sights.items()):
        size = max(sight.heads)
        file_id = hashed(path.rpartition("/")[0], sight.heads[size])
        known = hashed(file_id, path) if file_id in claimed else file_id
        claimed.add(file_id)
        found[path] = Identity(file_id=known, head=sight.heads[size], head_bytes=size)
    return found


def _is_current(entry: Entry, sight: Sight) -> bool:
    # True if a file was read in its current state; a file of the same size and time may be another one.
    before, now = entry.cells.get("fingerprint"), sight.fingerprint
    if not entry.was_read_at(sight.etag) or (before is not None and now is not None and before != now):
        return False
    then = sight_of(entry.cells) if entry.cells["errors"] and sight.file.allowance else None
    return then is None or sight.file.allowance is None or not _was_allowed_less(then, sight.file.allowance)


def _is_former(entry: Entry, sight: Sight, current: Entry | None) -> bool:
    # True if an entry is a previous state of a file with the same directory and first bytes, or was never read. Next to
    # an unchanged file it belongs to a copy, unless it had more content than there is now.
    if current is not None:
        return bool(entry.cells["head_bytes"] and entry.cells["bytes"] <= current.cells["bytes"])
    if entry.cells["head_bytes"] == entry.cells["bytes"]:
        # Its entire content is included here; if it ended within its first time, that was parsed differently.
        return True
    before = sight_of(entry.cells)
    times = {each.look.dates.begin for each in (before, sight) if each is not None} - {None}
    return len(times) < 2
