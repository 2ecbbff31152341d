"""The plan of a scan: which task reads which part of the new files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from rebalance_forensics.job.lake.ledger import Changes
from rebalance_forensics.pipeline.inputs.resumption import Settled, digest_of, settled_of, splits_of
from rebalance_forensics.pipeline.inputs.sights import Sight
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.read_plan import ReadPlan, deal, reading_of
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles.profile import FileProfile

TASK_BYTES = 256 << 20
"""A task is worth starting for this much; small files are read many in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """What is read, and of logs that have grown what was read of them before."""

    reads: ReadPlan
    sights: tuple[Sight, ...] = ()
    """Of the files that are read, in their order."""
    settled: dict[str, Settled] = field(default_factory=dict)
    """By path."""

    @property
    def forgotten_from(self) -> dict[str, int]:
        """By path, the place from which on a file is read."""
        return {file.path: of.until if (of := self.settled.get(file.path)) else 0 for file in self.reads.files}

    def without(self, paths: Collection[str], workers: int) -> ReadPlan:
        """What there is to read beside some files."""
        left = [split for portion in self.reads.portions for split in portion if split.file.path not in paths]
        return replace(self.reads, portions=deal(left, max(workers, len(self.reads.portions)), workers=workers))


def plan_scan(
    read: Sequence[tuple[Sight, FileProfile]],
    found: Changes,
    options: AnalyzeOptions,
    *,
    errors: Sequence[tuple[str, str]],
    workers: int,
) -> ScanPlan:
    """Deal the fresh files, each from where it was settled."""
    reading = reading_of(options)
    pairs = [(sight.file, profile) for sight, profile in read]
    settled = {file.path: of for file, profile in pairs if (of := _settled(file, profile, found, reading))}
    begins = {path: of.until for path, of in settled.items()}
    splits = [
        split
        for file, profile in pairs
        for split in splits_of(file, profile, begins.get(file.path, 0), options.split_bytes)
    ]
    total = sum(file.size - begins.get(file.path, 0) for file, _ in pairs)
    reads = ReadPlan(
        files=tuple(file for file, _ in pairs),
        profiles=tuple(profile for _, profile in pairs),
        errors=tuple(errors),
        portions=deal(splits, max(workers, -(-total // TASK_BYTES)), workers=workers),
        reading=reading,
    )
    return ScanPlan(reads=reads, sights=tuple(sight for sight, _ in read), settled=settled)


def _settled(file: InputFile, profile: FileProfile, found: Changes, reading: Reading) -> Settled | None:
    """Where to continue: only in the same file under the same name, read in the same way."""
    former = found.replaced.get(file.path)
    if (
        former is None
        or file.path in found.again
        or former.path != file.path
        or former.file_id != found.fresh[file.path].file_id
    ):
        return None
    settled = settled_of(file.path, former.cells)
    fits = settled is not None and settled.until <= file.size and settled.read_as == digest_of(file, profile, reading)
    return settled if fits else None
