"""Computes the changes of a run to the ledger of files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from rebalance_forensics.job.lake.editions import Draft
from rebalance_forensics.job.lake.ledger import Changes, Entry, Identity, noted_cells
from rebalance_forensics.job.lake.row_files import written
from rebalance_forensics.job.steps.log_spans import heard_cells
from rebalance_forensics.job.steps.scan_step import ScanPlan
from rebalance_forensics.pipeline.inputs.file_listing import Listing
from rebalance_forensics.pipeline.inputs.file_probe import ProbeResult
from rebalance_forensics.pipeline.inputs.resumption import only_grew, settled_cells
from rebalance_forensics.pipeline.inputs.sights import Sight, read_as
from rebalance_forensics.pipeline.read_plan import ReadPlan, printable
from rebalance_forensics.pipeline.stats import SplitStats
from rebalance_forensics.pipeline.summaries import summaries
from rebalance_forensics.pipeline.tables.rows import hashed, moment
from rebalance_forensics.pipeline.tables.schemas import INPUTS, Cells
from rebalance_forensics.records import DAY_MS
from rebalance_forensics.report.model import InputSummary
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles.profile import FileProfile

_SUMMED = ("host", "component", "kafka_version", "layout", "envelope", "zone")
COUNTED = ("bytes", "lines", "records", "matched", "unmatched_kafka", "unparsed")


@dataclass(slots=True)
class Ledger:
    """The entries before a run, and those that it removes and adds."""

    known: list[Entry] = field(default_factory=list)
    removed: list[Entry] = field(default_factory=list)
    added: list[Entry] = field(default_factory=list)
    grown: set[str] = field(default_factory=set)
    """Paths of files that only grew at their end."""
    unchanged: set[str] = field(default_factory=set)
    """Paths of unchanged files that were read again because their events had been deleted from the tables."""
    replaced: dict[str, Entry] = field(default_factory=dict)
    """Path of a scanned file -> the entry of its previous state."""
    scanned: set[str] = field(default_factory=set)
    """Paths of all files that were read, changed or not."""
    dropped: list[Entry] = field(default_factory=list)
    """Entries of copies and of older states, whose events are removed."""
    scan_errors: list[str] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)
    """Sentences about input that an internal error kept from being read."""

    @property
    def knows_kafka(self) -> bool:
        """True if any file ever contained a line of Kafka."""
        return any(e.cells["matched"] or e.cells["unmatched_kafka"] for e in (*self.known, *self.added))

    @property
    def entries(self) -> list[Entry]:
        """The entries after this run: those that it keeps, and those that it adds."""
        left = {id(entry) for entry in self.removed}
        return [entry for entry in (*self.known, *self.added) if id(entry) not in left]

    def write(self, draft: Draft) -> None:
        """Rewrite the partitions of the ledger that change."""
        touched = {(entry.day, entry.cluster) for entry in (*self.removed, *self.added)}
        kept = sorted(self.entries, key=lambda e: (e.path, e.file_id))
        draft.replace(INPUTS, touched)
        rows = ((INPUTS.name, e.day, e.cluster, e.cells) for e in kept if (e.day, e.cluster) in touched)
        draft.put(written(draft.base.store, draft.run, rows))


def entries_of(
    plan: ScanPlan,
    stats: Sequence[SplitStats],
    probed: ProbeResult,
    known: Sequence[Entry],
    listing: Listing,
    found: Changes,
) -> Ledger:
    """The ledger after a scan. A file that fails in the same way as before is not a change."""
    ledger = Ledger(known=list(known), replaced=found.replaced, scanned=set(found.fresh))
    by_path: dict[str, list[SplitStats]] = defaultdict(list)
    for split in stats:
        by_path[split.path].append(split)
    profiles = {
        sight.file.path: (sight, profile) for sight, profile in zip(plan.sights, plan.reads.profiles, strict=True)
    }
    for summary in summaries(plan.reads, stats, {}):
        if summary.path not in profiles or summary.path not in found.fresh:
            continue
        sight, profile = profiles.pop(summary.path)
        file, splits = sight.file, sorted(by_path[summary.path], key=lambda split: split.start)
        release = next((split.kafka_version for split in splits if split.kafka_version), None)
        cells = _read(replace(sight, release=release), profile, summary, found.fresh[file.path])
        if profile.defects or summary.is_lost or any(split.try_again for split in splits):
            cells["etag"] = None
        cells["heard"] = heard_cells(span for split in splits for span in split.heard)
        cells["settled"] = settled_cells(file, profile, splits, plan.reads.reading)
        entry = Entry(day=_day_of(file, summary), cluster=summary.cluster, cells=cells)
        former = found.replaced.get(file.path)
        ledger.scan_errors.extend(_with_path(summary.path, summary.errors))
        broken = summary.errors if summary.is_lost else chain(profile.defects, *(split.defects for split in splits))
        ledger.defects.extend(_with_path(summary.path, broken))
        if former == entry and file.path not in found.again:
            del found.fresh[file.path], found.replaced[file.path]
        else:
            ledger.added.append(entry)
            if former == entry:
                ledger.unchanged.add(file.path)
            if former is not None and file.path not in found.again and only_grew(former.cells, cells):
                ledger.grown.add(file.path)
    ledger.removed.extend([*found.replaced.values(), *found.dropped, *(before for before, _ in found.noted)])
    ledger.added.extend(now for _, now in found.noted)
    ledger.dropped = found.dropped
    for path in sorted(found.current.keys() - ledger.scanned):
        ledger.scan_errors.extend(_with_path(path, found.current[path].cells["errors"]))
    _note_unread(ledger, probed, listing, plan.reads)
    return ledger


def _with_path(path: str, errors: Iterable[str]) -> Iterator[str]:
    return (error if path in error else f"{path}: {error}" for error in errors)


def _note_unread(ledger: Ledger, probed: ProbeResult, listing: Listing, reads: ReadPlan) -> None:
    # Add an entry for each file that cannot be opened, unless it has one; remove those of files that were deleted
    # or can be opened again.
    ledger.defects.extend(unread.sentence for unread in probed.errors if unread.is_defect)
    failed = {path: sentence for path, sentence, _ in (*listing.errors, *probed.errors)}
    days = {path: listing.age_of(path) // DAY_MS for path in failed}
    unopened = {e.path: e for e in ledger.known if e.cells["head"] is None}
    removed = {id(entry) for entry in ledger.removed}
    for path, entry in unopened.items():
        same = path in failed and (entry.day, entry.cells["errors"]) == (days[path], [failed[path]])
        if not same and id(entry) not in removed:
            ledger.removed.append(entry)
    for path, sentence in failed.items():
        if path not in unopened or (unopened[path].day, unopened[path].cells["errors"]) != (days[path], [sentence]):
            ledger.added.append(_unread(path, sentence, reads.reading.cluster_of(path), days[path]))


def _day_of(file: InputFile, summary: InputSummary) -> int:
    return (summary.first if summary.first is not None else file.mtime_ms) // DAY_MS


def _read(sight: Sight, profile: FileProfile, summary: InputSummary, identity: Identity) -> Cells:
    file = sight.file
    return {
        "path": file.path,
        "file_id": identity.file_id,
        "head": identity.head,
        "head_bytes": identity.head_bytes,
        "location": printable(file.location),
        "size": file.size,
        "etag": sight.etag,
        **{name: getattr(summary, name) for name in (*_SUMMED, *COUNTED)},
        "first": moment(summary.first),
        "last": moment(summary.last),
        "errors": list(summary.errors),
        "read_as": read_as(profile, sight.look),
        **noted_cells(sight, profile),
    }


def _unread(path: str, sentence: str, cluster: str, day: int) -> Entry:
    cells: Cells = dict.fromkeys(field.name for field in INPUTS.schema)
    counts: dict[str, Any] = dict.fromkeys(COUNTED, 0)
    cells |= {"path": path, "file_id": hashed("unread", path), "head_bytes": 0, "errors": [sentence], **counts}
    return Entry(day=day, cluster=cluster, cells=cells)
