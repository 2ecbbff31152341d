"""What a run changes in the ledger of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rebalance_forensics.pipeline.planning import ReadPlan
from rebalance_forensics.pipeline.stats import SplitStats
from rebalance_forensics.pipeline.summaries import summaries
from rebalance_forensics.pipeline.tables.intervals import DAY_MS
from rebalance_forensics.pipeline.tables.journal import Journal
from rebalance_forensics.pipeline.tables.layout import directory_of
from rebalance_forensics.pipeline.tables.ledger import Changes, Entry, Identity, etag_of
from rebalance_forensics.pipeline.tables.listing import Listing
from rebalance_forensics.pipeline.tables.rows import Cells, hashed, micros
from rebalance_forensics.pipeline.tables.schemas import INPUTS
from rebalance_forensics.pipeline.tables.writing import PartWriter, put_all
from rebalance_forensics.report.model import InputSummary
from rebalance_forensics.sources.files import InputFile

_SUMMED = ("host", "component", "kafka_version", "layout", "envelope", "zone")
_COUNTED = ("bytes", "lines", "records", "matched", "unmatched_kafka", "unparsed")


@dataclass(slots=True)
class Ledger:
    """The entries there were, those that go and those that come."""

    known: list[Entry] = field(default_factory=list)
    gone: list[Entry] = field(default_factory=list)
    added: list[Entry] = field(default_factory=list)
    scan_errors: list[str] = field(default_factory=list)

    @property
    def knows_kafka(self) -> bool:
        """Whether any file ever had a line of Kafka's."""
        return any(e.cells["matched"] or e.cells["unmatched_kafka"] for e in (*self.known, *self.added))

    def write(self, writer: PartWriter, journal: Journal, work: str) -> bool:
        """Write the partitions that change; whether any does."""
        touched = {(entry.day, entry.cluster) for entry in (*self.gone, *self.added)}
        left = {id(entry) for entry in self.gone}
        entries = [entry for entry in (*self.known, *self.added) if id(entry) not in left]
        for entry in sorted(entries, key=lambda e: (e.path, e.file_id)):
            if (entry.day, entry.cluster) in touched:
                writer.add(INPUTS.name, entry.day, entry.cluster, entry.cells)
        writer.finish()
        journal.replace(directory_of(INPUTS.name, day, cluster) for day, cluster in touched)
        put_all(journal, work, writer.finished)
        return bool(touched)


def entries_of(
    plan: ReadPlan, stats: Sequence[SplitStats], listing: Listing, found: Changes, known: Sequence[Entry], *, day: int
) -> Ledger:
    """The ledger after a scan; `day` dates what cannot be dated itself."""
    ledger = Ledger(known=list(known), gone=list(found.replaced))
    files = {file.path: file for file in plan.files}
    seen: set[str] = set()
    for summary in summaries(plan, stats, {}):
        if summary.path in files and summary.path not in seen:
            seen.add(summary.path)
            file = files[summary.path]
            ledger.added.append(_read(file, summary, found.fresh[file.path], etag_of(file, listing.etags)))
            ledger.scan_errors.extend(summary.errors)
    _note_unread(ledger, listing, plan, day)
    return ledger


def _note_unread(ledger: Ledger, listing: Listing, plan: ReadPlan, day: int) -> None:
    """Name what could not be opened, once; forget what was wrong with files that can be opened again."""
    failed = dict(listing.errors)
    noted = {e.path: e for e in ledger.known if _was_unread(e)}
    listed = {file.path for file in listing.files}
    gone = {id(entry) for entry in ledger.gone}
    for path, entry in noted.items():
        stale = path in listed or (path in failed and entry.cells["errors"] != [failed[path]])
        if stale and id(entry) not in gone:
            ledger.gone.append(entry)
    for path, sentence in failed.items():
        if path not in noted or noted[path].cells["errors"] != [sentence]:
            ledger.added.append(_unread(path, sentence, plan.reading.cluster_of(path), day))


def _was_unread(entry: Entry) -> bool:
    return entry.cells["head"] is None


def _read(file: InputFile, summary: InputSummary, identity: Identity, etag: str) -> Entry:
    first = summary.first if summary.first is not None else file.mtime_ms
    return Entry(
        day=first // DAY_MS,
        cluster=summary.cluster,
        cells={
            "path": file.path,
            "file_id": identity.file_id,
            "head": identity.head,
            "head_bytes": identity.head_bytes,
            "location": file.location,
            "size": file.size,
            "etag": etag,
            **{name: getattr(summary, name) for name in (*_SUMMED, *_COUNTED)},
            "first": _moment(summary.first),
            "last": _moment(summary.last),
            "errors": list(summary.errors),
        },
    )


def _unread(path: str, sentence: str, cluster: str, day: int) -> Entry:
    cells: Cells = dict.fromkeys(field.name for field in INPUTS.schema)
    counts: dict[str, Any] = dict.fromkeys(_COUNTED, 0)
    cells |= {"path": path, "file_id": hashed("unread", path), "head_bytes": 0, "errors": [sentence], **counts}
    return Entry(day=day, cluster=cluster, cells=cells)


def _moment(at: int | None) -> datetime | None:
    micro = micros(at)
    return None if micro is None else datetime.fromtimestamp(micro / 1_000_000, UTC)
