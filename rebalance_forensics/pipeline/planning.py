"""Before anything is read: which files, what they are, and who reads which part of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heapreplace
from pathlib import Path

from rebalance_forensics.pipeline.catalogs import checked_catalog
from rebalance_forensics.pipeline.options import DEFAULT_CLUSTER, AnalyzeOptions
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.shards import shard_keys
from rebalance_forensics.sources.files import InputFile, discover
from rebalance_forensics.sources.profile import FileProfile, profiles
from rebalance_forensics.sources.splits import Split, plan

SMALL_BYTES = 8 << 20
"""Up to here one worker is done before a second one has started."""
_TURNS = 16
"""So many tasks a worker even out what their splits differ; more only cost their start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """Everything the workers need, decided once."""

    files: tuple[InputFile, ...]
    profiles: tuple[FileProfile, ...]
    errors: tuple[tuple[str, str], ...]
    """(path, sentence) for what could not be opened."""
    portions: tuple[tuple[Split, ...], ...]
    """The splits of each task, of about equal weight."""
    reading: Reading
    reports: tuple[str, ...] = ()
    """Outputs of earlier runs among the logs: not read, they would be second witnesses to the lines they quote."""

    @property
    def total_bytes(self) -> int:
        """Bytes on disk: what a progress bar counts to."""
        return sum(file.size for file in self.files)


def plan_reading(paths: Sequence[str], options: AnalyzeOptions, *, workers: int) -> ReadPlan:
    """Find and sniff the files under `paths` and deal their splits to tasks."""
    refuse_missing(paths)
    refuse_patterns(options.patterns)
    found = discover(paths)
    files = tuple(replace(file, path=printable(file.path)) for file in found.files)
    sniffed = profiles(files, options.zones)
    splits = plan(files, sniffed, options.split_bytes)
    small = sum(file.size for file in files) <= SMALL_BYTES
    shards = 1 if small else workers
    return ReadPlan(
        files=files,
        profiles=sniffed,
        errors=tuple((printable(path), printable(sentence)) for path, sentence in found.errors),
        portions=deal(splits, 1 if small else portions_of(splits, workers, options.split_bytes)),
        reading=Reading(
            cluster=options.cluster or DEFAULT_CLUSTER,
            cluster_per_directory=options.cluster_per_directory,
            shards=shard_keys(shards),
            patterns=options.patterns,
        ),
        reports=tuple(map(printable, found.reports)),
    )


def printable(name: str) -> str:
    """A file name as text; bytes that are none are shown by their number."""
    return os.fsencode(name).decode(errors="backslashreplace")


def refuse_missing(paths: Sequence[str]) -> None:
    """A path that is not there is a slip of the pen, not an input that failed."""
    if not paths:
        raise InputError("no input: name at least one log file, directory or archive.")
    for path in paths:
        if path != "-" and "://" not in path and not Path(path).exists():
            raise InputError(f"{path}: no such file or directory.")


def refuse_patterns(patterns: tuple[str, ...]) -> None:
    """A wrong pattern is named before anything is read; a right catalog is compiled once, here, for all workers."""
    checked_catalog(patterns)


def weight(split: Split) -> int:
    """The bytes a split makes its reader go through."""
    return (split.end - split.start) if split.end is not None else split.file.size * (8 if split.file.codec else 1)


def portions_of(splits: Sequence[Split], workers: int, split_bytes: int) -> int:
    """How many tasks: one for every split of usual size, but many small files share one."""
    usual = -(-sum(map(weight, splits)) // max(split_bytes, 1))
    return max(usual, min(len(splits), workers * _TURNS))


def deal(splits: Sequence[Split], portions: int) -> tuple[tuple[Split, ...], ...]:
    """The heaviest split first, each to whoever has least; no portion is empty."""
    hands: list[list[Split]] = [[] for _ in range(min(portions, len(splits)))]
    loads = [(0, number) for number in range(len(hands))]
    for split in sorted(splits, key=lambda s: (-weight(s), s.file.path, s.start)):
        load, least = loads[0]
        hands[least].append(split)
        heapreplace(loads, (load + weight(split) + 1, least))
    return tuple(tuple(hand) for hand in hands)
