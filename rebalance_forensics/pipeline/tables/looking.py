"""What new files are, told by opening them: on threads where they are few, as a stage of Spark where they are many."""

from __future__ import annotations

import pickle
import re
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import sha256

import pyarrow as pa

from rebalance_forensics import defects
from rebalance_forensics.pipeline.planning import printable
from rebalance_forensics.pipeline.tables.listing import Listed
from rebalance_forensics.pipeline.tables.stores import open_location
from rebalance_forensics.pipeline.tables.telling import told_batch
from rebalance_forensics.sources.archives import held_open
from rebalance_forensics.sources.budgets import Limits
from rebalance_forensics.sources.files import InputFile, discover_stored
from rebalance_forensics.sources.places import open_remote_with
from rebalance_forensics.sources.profile import FileProfile, profiles
from rebalance_forensics.sources.sample import beginning
from rebalance_forensics.sources.zones import ZoneRules

HEAD_BYTES = 4096
"""A log is known by this much of its beginning: it grows, is rolled and packed, but keeps it."""
NEIGHBOURS = 8
"""Known files of the same log, on each side, that are looked at again because they tell of a new one."""
FILES_A_TASK = 32
WAITING = 16
"""Files are opened side by side, for an object store takes its time to answer."""
_PACKED = re.compile(r"\.(?:gz|bz2|xz|zst|lz4)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class LookTask:
    """The new files of some logs, and neighbours of theirs."""

    files: tuple[Listed, ...]
    neighbours: tuple[Listed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Everything a looking task needs."""

    tasks: tuple[LookTask, ...]
    zones: ZoneRules
    prefixes: tuple[int, ...]
    """How many bytes of a beginning shorter files are known by."""
    limits: Limits


@dataclass(slots=True)
class Looked:
    """What was found in new files: an archive holds several logs. All is by path."""

    files: list[InputFile] = field(default_factory=list)
    profiles: list[FileProfile] = field(default_factory=list)
    heads: dict[str, dict[int, str]] = field(default_factory=dict)
    """Hashes of a file's first bytes, by how many they are."""
    etags: dict[str, str] = field(default_factory=dict)
    errors: list[tuple[str, str]] = field(default_factory=list)

    def add(self, other: Looked) -> None:
        """What another task found."""
        self.files += other.files
        self.profiles += other.profiles
        self.heads |= other.heads
        self.etags |= other.etags
        self.errors += other.errors


def look_tasks(new: Collection[Listed], known: Collection[Listed]) -> tuple[LookTask, ...]:
    """The files of one log stay together, for they tell of each other: layout, zone, release, where records go on."""
    logs, old = _by_log(new), _by_log(known)
    tasks: list[LookTask] = []
    files: list[Listed] = []
    neighbours: list[Listed] = []
    for log, members in sorted(logs.items()):
        for start in range(0, len(members), FILES_A_TASK):
            part = members[start : start + FILES_A_TASK]
            files += part
            neighbours += _near(part, old.get(log, []))
            if len(files) >= FILES_A_TASK:
                tasks.append(LookTask(files=tuple(files), neighbours=tuple(neighbours)))
                files, neighbours = [], []
    if files:
        tasks.append(LookTask(files=tuple(files), neighbours=tuple(neighbours)))
    return tuple(tasks)


def _by_log(files: Iterable[Listed]) -> Mapping[str, list[Listed]]:
    """Files whose names differ in dates and numbers only, by their age."""
    logs: dict[str, list[Listed]] = defaultdict(list)
    for file in files:
        name = _PACKED.sub("", file.path.rpartition("/")[2])
        logs[f"{file.directory}/{re.sub(r'[-._]?[0-9]+', '', name)}"].append(file)
    for members in logs.values():
        members.sort(key=lambda file: (file.mtime_ms, file.path))
    return logs


def _near(part: Sequence[Listed], known: Sequence[Listed]) -> Iterator[Listed]:
    """Those written just before and just after."""
    before = [file for file in known if file.mtime_ms < part[0].mtime_ms]
    after = [file for file in known if file.mtime_ms > part[-1].mtime_ms]
    between = [file for file in known if part[0].mtime_ms <= file.mtime_ms <= part[-1].mtime_ms]
    yield from (*before[-NEIGHBOURS:], *between[: 2 * NEIGHBOURS], *after[:NEIGHBOURS])


def look_task(look: Look, task: int) -> Iterator[pa.RecordBatch]:
    """Open some files; what they are goes to the driver."""
    found = look_at(look.tasks[task], look)
    yield told_batch([("looked", b64encode(pickle.dumps(found)).decode())])


def looked(text: str) -> Looked:
    """What a task told."""
    found = pickle.loads(b64decode(text))  # noqa: S301 - written by a task of this run
    assert isinstance(found, Looked)
    return found


def look_here(look: Look) -> Looked:
    """Open all the files from this process."""
    with ThreadPoolExecutor(WAITING) as hands:
        return together(hands.map(lambda task: look_at(task, look), look.tasks))


def together(parts: Iterable[Looked]) -> Looked:
    """What several tasks found."""
    whole = Looked()
    for part in parts:
        whole.add(part)
    return whole


def look_at(task: LookTask, look: Look) -> Looked:
    """Open files and sniff them, each beside its neighbours."""
    open_remote_with(open_location)
    with held_open():
        return _look_at(task, look)


def _look_at(task: LookTask, look: Look) -> Looked:
    found, around = Looked(), Looked()
    for listed in task.files:
        _open(listed, found, look.limits)
    for listed in task.neighbours:
        _open(listed, around, look.limits)
    sniffed = profiles([*found.files, *around.files], look.zones)
    found.profiles = list(sniffed[: len(found.files)])
    for index, file in enumerate(found.files):
        try:
            data = beginning(file, HEAD_BYTES)
        except Exception as error:  # noqa: BLE001 - whatever it was, the other files are read
            data, told = b"", defects.sentence("its beginning could not be read", error)
            known = found.profiles[index]
            found.profiles[index] = replace(known, readable=False, defects=(*known.defects, told))
        sizes = {len(data), *(size for size in look.prefixes if size < len(data))}
        found.heads[file.path] = {size: head_of(data[:size]) for size in sizes}
    return found


def head_of(data: bytes) -> str:
    """What the first bytes of a file are known by."""
    return sha256(data).hexdigest()[:16]


def _open(listed: Listed, found: Looked, limits: Limits) -> None:
    """A log, or the logs in an archive; an object that is gone by now is named like one that cannot be read."""
    told = discover_stored(listed.location, listed.path, size=listed.size, mtime_ms=listed.mtime_ms, limits=limits)
    files = [replace(file, path=printable(file.path)) for file in told.files]
    found.files += files
    found.errors += [(printable(path), printable(sentence)) for path, sentence in told.errors]
    found.etags |= {file.path: listed.etag for file in files}
