"""Which files are known, which are new or have changed: the `inputs` table at work."""

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
        """True if the file is as it was when it was read, as far as it could be."""
        return bool(self.cells["etag"] == etag)


_Beginning = tuple[str, int, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a file is known by."""

    file_id: str
    head: str
    head_bytes: int


@dataclass(slots=True)
class Changes:
    """What a listing means beside the ledger."""

    current: Mapping[str, Entry] = field(default_factory=dict)
    """By path: of the files that are as they were."""
    fresh: dict[str, Identity] = field(default_factory=dict)
    """By path: the files to scan, among them what is to be read otherwise than it was."""
    replaced: dict[str, Entry] = field(default_factory=dict)
    """By path of the file that is scanned: the entry of its former state."""
    again: frozenset[str] = frozenset()
    """Paths of files that are as they were, but whose events were lost."""
    dropped: list[Entry] = field(default_factory=list)
    """Further entries of files that are there still: of copies, and of other former states."""
    noted: list[tuple[Entry, Entry]] = field(default_factory=list)
    """Entries that say another thing now, before and after, though no line has to be read again for that."""


@dataclass(slots=True)
class Kinship:
    """Which entries tell of which of the files that are there, and what each file is known by."""

    identities: dict[str, Identity] = field(default_factory=dict)
    current: dict[str, Entry] = field(default_factory=dict)
    """By path: read as the file is now."""
    former: dict[str, list[Entry]] = field(default_factory=dict)
    """By path: of a file's former states, the likeliest to continue from first."""
    removed: list[Entry] = field(default_factory=list)
    """Of files that are there no more."""


def read_ledger(edition: Edition, scope: str) -> list[Entry]:
    """All entries of a scope."""
    return [Entry(day=day, cluster=cluster, cells=row) for (day, cluster), row in edition.rows(INPUTS, None, scope)]


def known_sights(
    listed: Iterable[Listed], ledger: Iterable[Entry], limits: Limits, since_ms: int | None = None
) -> dict[str, list[Sight]]:
    """By path, the logs in files that were read as they are now; known by name, size and age, without opening them."""
    # Only of files whose inode changed since the last run's listing some blocks are looked at. One that could not be
    # read to its end is opened again where more may be unpacked now.
    read: dict[str, list[Entry]] = defaultdict(list)
    for entry in ledger:
        read[entry.path.partition("!/")[0]].append(entry)
    return {file.path: sights for file in listed if (sights := _known(read.get(file.path, ()), file, limits, since_ms))}


def _known(entries: Collection[Entry], file: Listed, limits: Limits, since_ms: int | None) -> list[Sight]:
    # What is known of a file, or of all members of an archive; nothing where any of it has to be opened again.
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
    """Tell which entry is which file's."""
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
    # What the later states of a file are found by: its directory and beginning; of one never read, its name.
    size = int(entry.cells["head_bytes"] or 0)
    return (entry.path.rpartition("/")[0], size, entry.cells["head"]) if size else (entry.path, 0, None)


def changes(
    kin: Kinship, sights: Mapping[str, Sight], profiles: Mapping[str, FileProfile], again: Collection[str] = ()
) -> Changes:
    """Which files are to be scanned: new ones, those that changed, and those that are read otherwise by now."""
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
    """What an entry says of a file that does not come from reading its lines."""
    return {
        "kafka_version": sight.release or profile.kafka_version,
        "fingerprint": sight.fingerprint,
        "shows": shown(sight),
    }


def _identities(sights: Mapping[str, Sight]) -> dict[str, Identity]:
    # What each file is known by; of several that begin alike, all but the first by its name too.
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
    # True if a file was read as it is now; a file of the same size and time may be another one.
    before, now = entry.cells.get("fingerprint"), sight.fingerprint
    if not entry.was_read_at(sight.etag) or (before is not None and now is not None and before != now):
        return False
    then = sight_of(entry.cells) if entry.cells["errors"] and sight.file.allowance else None
    return then is None or sight.file.allowance is None or not _was_allowed_less(then, sight.file.allowance)


def _is_former(entry: Entry, sight: Sight, current: Entry | None) -> bool:
    # True if an entry is of an earlier state of a file in its directory that begins alike, or was never read.
    # Beside a file that has not changed it is one of a copy, unless it held more than is there now.
    if current is not None:
        return bool(entry.cells["head_bytes"] and entry.cells["bytes"] <= current.cells["bytes"])
    if entry.cells["head_bytes"] == entry.cells["bytes"]:
        # All that it held stands here too; where it ended within its first time, that was read as another.
        return True
    before = sight_of(entry.cells)
    times = {each.look.dates.begin for each in (before, sight) if each is not None} - {None}
    return len(times) < 2
