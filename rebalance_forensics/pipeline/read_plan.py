"""Plans a run before anything is read: the files, their profiles, and the task that reads each part."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapreplace
from pathlib import Path

from msgspec.structs import replace

from rebalance_forensics.pipeline.catalogs import catalog_of, checked_catalog
from rebalance_forensics.pipeline.options import DEFAULT_CLUSTER, AnalyzeOptions
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.workload import shard_keys, weight, workload
from rebalance_forensics.sources.files.archives import held_open
from rebalance_forensics.sources.files.contents import Unreadable
from rebalance_forensics.sources.files.walk import InputFile, discover
from rebalance_forensics.sources.profiles.neighbours import profiles
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.records.splits import Split, plan

# Up to this workload, one process finishes before another one would have started.
ALONE_HERE = 512_000_000
ALONE_ON_SPARK = 100_000_000
"""Up to this workload, one Spark task reads everything; less than locally: workers may be running already."""
_MIN_SPLIT_BYTES = 1 << 20
# Splits per worker, so that it matters less that some parts of a log contain more events than others.
_SPLITS_PER_WORKER = 4
# Maximum tasks per worker: enough to even out differences between splits; more only add overhead.
_TASKS_PER_WORKER = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """Everything the workers need, determined once."""

    files: tuple[InputFile, ...]
    profiles: tuple[FileProfile, ...]
    errors: tuple[Unreadable, ...]
    """The files that could not be opened."""
    portions: tuple[tuple[Split, ...], ...]
    """The splits of each task; tasks have about equal weight."""
    reading: Reading
    reports: tuple[str, ...] = ()
    """Outputs of earlier runs among the logs. They are not read: the lines they quote would count twice."""

    @property
    def defects(self) -> Iterator[str]:
        """The files that could not be opened because of a defect of this program, as sentences."""
        return (unread.sentence for unread in self.errors if unread.is_defect)

    @property
    def total_bytes(self) -> int:
        """Bytes on disk: the total of a progress bar."""
        return sum(file.size for file in self.files)


def plan_reading(
    paths: Sequence[str], options: AnalyzeOptions, *, workers: int, alone_up_to: int = ALONE_HERE, in_turn: int = 1
) -> ReadPlan:
    """Find and probe the files under `paths` and assign their splits to tasks; a small workload is one task."""
    # With several workers, each processes `in_turn` shards in sequence.
    refuse_missing(paths)
    refuse_patterns(options.patterns)
    with held_open():
        found = discover(paths, options.limits)
        files = tuple(replace(file, path=printable(file.path)) for file in found.files)
        sniffed = profiles(files, options.zones)
        splits = plan(files, sniffed, options.split_bytes)
        alone = workers == 1 or workload(splits, catalog_of(options.patterns)) <= alone_up_to
    split_bytes = options.split_bytes
    if not alone:
        split_bytes = split_size(sum(map(weight, splits)), workers, options.split_bytes)
        splits = plan(files, sniffed, split_bytes)
    return ReadPlan(
        files=files,
        profiles=sniffed,
        errors=tuple(map(shown_in_report, found.errors)),
        portions=deal(splits, 1 if alone else portions_of(splits, workers, split_bytes), workers=workers),
        reading=reading_of(options) if alone else reading_of(options, shard_keys(workers * in_turn), in_turn=in_turn),
        reports=tuple(map(printable, found.reports)),
    )


def split_size(total: int, workers: int, most: int) -> int:
    """The size of splits of `total` bytes: at most `most`, and small enough that every worker has some."""
    return min(most, max(_MIN_SPLIT_BYTES, -(-total // (workers * _SPLITS_PER_WORKER))))


def reading_of(options: AnalyzeOptions, shards: tuple[int, ...] = (0,), *, in_turn: int = 1) -> Reading:
    """How files are read; without a shuffle, all events are in one shard."""
    return Reading(
        cluster=options.cluster or DEFAULT_CLUSTER,
        cluster_per_directory=options.cluster_per_directory,
        shards=shards,
        in_turn=in_turn,
        patterns=options.patterns,
    )


def shown_in_report(unread: Unreadable) -> Unreadable:
    """The unreadable file, with its path as printable text."""
    return unread._replace(path=printable(unread.path), sentence=printable(unread.sentence))


def printable(name: str) -> str:
    """A file name as text; invalid bytes are escaped."""
    return os.fsencode(name).decode(errors="backslashreplace")


def refuse_missing(paths: Sequence[str]) -> None:
    """Raise InputError for a path that does not exist: it is misspelled."""
    if not paths:
        raise InputError("no input: name at least one log file, directory or archive.")
    for path in paths:
        if path != "-" and "://" not in path and not is_there(path):
            raise InputError(f"{path}: no such file or directory.")


def is_there(path: str) -> bool:
    """True if the path may exist; one without permission is listed later with the files that cannot be read."""
    try:
        Path(path).stat()
    except OSError as error:
        return not isinstance(error, (FileNotFoundError, NotADirectoryError))
    return True


def refuse_patterns(patterns: tuple[str, ...]) -> None:
    """Raise InputError for an invalid pattern before anything is read; compiles the catalog once for all workers."""
    checked_catalog(patterns)


def portions_of(splits: Sequence[Split], workers: int, split_bytes: int) -> int:
    """The number of tasks: one per split of the usual size; many small files share one."""
    usual = -(-sum(map(weight, splits)) // max(split_bytes, 1))
    return max(usual, min(len(splits), workers * _TASKS_PER_WORKER))


def deal(splits: Sequence[Split], portions: int, *, workers: int) -> tuple[tuple[Split, ...], ...]:
    """Assign splits to portions, the heaviest first, each to the lightest portion; no portion is empty."""
    bundles = [(sum(map(weight, bundle)) + len(bundle), bundle) for bundle in bundled(splits, workers)]
    portioned: list[list[Split]] = [[] for _ in range(min(portions, len(bundles)))]
    loads = [(0, number) for number in range(len(portioned))]
    for heavy, bundle in sorted(
        bundles, key=lambda weighed: (-weighed[0], weighed[1][0].file.path, weighed[1][0].start)
    ):
        load, least = loads[0]
        portioned[least].extend(bundle)
        heapreplace(loads, (load + heavy, least))
    return tuple(tuple(hand) for hand in portioned)


def bundled(splits: Sequence[Split], workers: int) -> list[list[Split]]:
    """Splits that one task should read: those in the same compressed archive, since each task unpacks all of it."""
    # An archive larger than one worker's share is unpacked by several workers in parallel.
    alone = [[split] for split in splits if not split.file.in_packed]
    together: dict[str, list[Split]] = {}
    for split in splits:
        if split.file.in_packed:
            together.setdefault(split.file.location, []).append(split)
    share = -(-sum(map(weight, splits)) // workers)
    return [*alone, *(part for archive in together.values() for part in _parts(archive, share))]


def _parts(archive: list[Split], share: int) -> Iterator[list[Split]]:
    # An archive's splits in order, in parts of one share each.
    part: list[Split] = []
    load = 0
    for split in archive:
        part.append(split)
        load += weight(split)
        if load >= share:
            yield part
            part, load = [], 0
    if part:
        yield part
