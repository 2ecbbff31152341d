"""Before anything is read: which files, what they are, and who reads which part of them."""

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

# Up to this workload one process is done before another one has started and taken a share.
ALONE_HERE = 512_000_000
ALONE_ON_SPARK = 100_000_000
"""Up to this workload one task of Spark reads alone: workers may be running already, and the input may be far away."""
_LEAST_SPLIT = 1 << 20
# With so many splits a worker, it matters less that parts of a log hold more events than others.
_SPLITS_EACH = 4
# So many tasks a worker even out what their splits differ; more only cost their start.
_TURNS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """Everything the workers need, decided once."""

    files: tuple[InputFile, ...]
    profiles: tuple[FileProfile, ...]
    errors: tuple[Unreadable, ...]
    """What could not be opened."""
    portions: tuple[tuple[Split, ...], ...]
    """The splits of each task, of about equal weight."""
    reading: Reading
    reports: tuple[str, ...] = ()
    """Outputs of earlier runs among the logs: not read, they would be second witnesses to the lines they quote."""

    @property
    def defects(self) -> Iterator[str]:
        """What a defect of ours kept from being opened."""
        return (unread.sentence for unread in self.errors if unread.is_defect)

    @property
    def total_bytes(self) -> int:
        """Bytes on disk: what a progress bar counts to."""
        return sum(file.size for file in self.files)


def plan_reading(
    paths: Sequence[str], options: AnalyzeOptions, *, workers: int, alone_up_to: int = ALONE_HERE, in_turn: int = 1
) -> ReadPlan:
    """Find and sniff the files under `paths` and deal their splits to tasks; a little workload is one task."""
    # A worker takes so many shards `in_turn`, where others share the work at all.
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
    """How large splits of so many bytes are: no larger than that all workers have some."""
    return min(most, max(_LEAST_SPLIT, -(-total // (workers * _SPLITS_EACH))))


def reading_of(options: AnalyzeOptions, shards: tuple[int, ...] = (0,), *, in_turn: int = 1) -> Reading:
    """How files are read; where the shuffle comes later, or never, all events stay in one shard."""
    return Reading(
        cluster=options.cluster or DEFAULT_CLUSTER,
        cluster_per_directory=options.cluster_per_directory,
        shards=shards,
        in_turn=in_turn,
        patterns=options.patterns,
    )


def shown_in_report(unread: Unreadable) -> Unreadable:
    """What cannot be read, with its path as text."""
    return unread._replace(path=printable(unread.path), sentence=printable(unread.sentence))


def printable(name: str) -> str:
    """A file name as text; bytes that are none are shown by their number."""
    return os.fsencode(name).decode(errors="backslashreplace")


def refuse_missing(paths: Sequence[str]) -> None:
    """A path that is not there is a slip of the pen, not an input that failed."""
    if not paths:
        raise InputError("no input: name at least one log file, directory or archive.")
    for path in paths:
        if path != "-" and "://" not in path and not is_there(path):
            raise InputError(f"{path}: no such file or directory.")


def is_there(path: str) -> bool:
    """True if something may be there; what may not be opened is listed with the files that cannot be read."""
    try:
        Path(path).stat()
    except OSError as error:
        return not isinstance(error, (FileNotFoundError, NotADirectoryError))
    return True


def refuse_patterns(patterns: tuple[str, ...]) -> None:
    """A wrong pattern is named before anything is read; a right catalog is compiled once, here, for all workers."""
    checked_catalog(patterns)


def portions_of(splits: Sequence[Split], workers: int, split_bytes: int) -> int:
    """How many tasks: one for every split of usual size, but many small files share one."""
    usual = -(-sum(map(weight, splits)) // max(split_bytes, 1))
    return max(usual, min(len(splits), workers * _TURNS))


def deal(splits: Sequence[Split], portions: int, *, workers: int) -> tuple[tuple[Split, ...], ...]:
    """The heaviest first, each to the portion with least; none is empty, and what lies together is read in one go."""
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
    """Splits that one task should read: all that lie in one packed archive, for each task unpacks all of it."""
    # An archive that holds more than a worker's share is unpacked by several side by side, by no more than there are.
    alone = [[split] for split in splits if not split.file.in_packed]
    together: dict[str, list[Split]] = {}
    for split in splits:
        if split.file.in_packed:
            together.setdefault(split.file.location, []).append(split)
    share = -(-sum(map(weight, splits)) // workers)
    return [*alone, *(part for archive in together.values() for part in _parts(archive, share))]


def _parts(archive: list[Split], share: int) -> Iterator[list[Split]]:
    # An archive's splits in their order, cut where a share is full.
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
