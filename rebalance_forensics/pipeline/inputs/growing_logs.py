"""Logs that are still written: the end of each, and the parts added since the last look."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

import pyarrow as pa
from msgspec import structs

from rebalance_forensics.pipeline.inputs.file_listing import Listed, Listing, list_inputs, refuse_missing_inputs
from rebalance_forensics.pipeline.inputs.file_probe import Probe, ProbeResult, probe_locally, probe_tasks
from rebalance_forensics.pipeline.inputs.resumption import UNSETTLED_BYTES, grows, splits_of
from rebalance_forensics.pipeline.inputs.sights import Sight, profiles_beside, read_as
from rebalance_forensics.pipeline.inputs.stores import Store, open_location
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.read_plan import reading_of
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.schemas import Kind, Row, batch_of
from rebalance_forensics.sources.files.decompression import chunks_of, is_packed
from rebalance_forensics.sources.files.places import Place, open_remote_with
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.records.splits import Split

Offset = dict[str, Any]
"""The bytes read of each file, as JSON or as the name of a file with that JSON; kept in the stream's checkpoint."""
PART = "Part"
"""The `event` of a row that describes a part; its payload is a Part."""
# Spark may go back to the offsets of its last hundred batches (spark.sql.streaming.minBatchesToRetain).
_KEPT = 200


class Offsets:
    """Offsets, either inline or in files that are named by the stream and a hash, so that checkpoints stay small."""

    # Spark writes an offset twice per batch and passes it five times: for 10,000 files it is 600 KB, its name 61 bytes.

    def __init__(self, place: str | None, *whose: str) -> None:
        # In a directory per stream, since each stream deletes its old offsets.
        self._store = Store(place) if place else None
        self._below = sha256(json.dumps(whose).encode()).hexdigest()[:16]
        self._written = ""

    def of(self, ends: Mapping[str, int]) -> Offset:
        """The offset for these numbers of bytes read of each file."""
        text = json.dumps(ends, sort_keys=True)
        if self._store is None:
            return {"files": text}
        name = f"{self._below}/{sha256(text.encode()).hexdigest()[:32]}"
        if name != self._written:
            self._store.write(name, gzip.compress(text.encode(), mtime=0))
            self._written = name
        return {"files": name}

    def ends(self, offset: Offset) -> dict[str, int]:
        """The bytes read of each file, by path."""
        text = offset["files"]
        if not text.startswith("{"):
            if self._store is None:
                raise InputError(
                    f"the stream's checkpoint names its offset {text}; give the stream its offsets= again."
                )
            try:
                text = gzip.decompress(self._store.read(text))
            except FileNotFoundError as error:
                raise InputError(
                    f"{self._store.uri}/{text} is missing, by which the stream's checkpoint knows how far it read; "
                    "delete the checkpoint to read the logs from their beginning."
                ) from error
        found: dict[str, int] = json.loads(text)
        return found

    def forget(self, latest: Offset) -> None:
        """Delete the oldest offset files of this stream."""
        if self._store is None:
            return
        for file in sorted(self._store.files(self._below), key=lambda file: file.mtime_ms)[:-_KEPT]:
            if file.path != latest["files"]:
                self._store.delete(file.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The part of a file that is read in one batch, up to its end at that time."""

    path: str
    start: int
    end: int
    read_as: str = ""
    """A digest of how it is read, which depends on its neighbors."""

    def splits(self, file: InputFile, profile: FileProfile, split_bytes: int) -> tuple[Split, ...]:
        """The part as byte ranges."""
        cut = splits_of(structs.replace(file, size=self.end), profile, self.start, split_bytes)
        return (*cut[:-1], structs.replace(cut[-1], end=self.end)) if grows(file, profile) else cut

    def of(self, file: InputFile, profile: FileProfile) -> Part:
        """The part to read: compressed files and documents are read again as a whole."""
        return self if grows(file, profile) else replace(self, start=0)


def _last_line_end(file: Listed) -> int:
    open_remote_with(open_location)
    if is_packed(Place(file.location)):
        return file.size
    start = max(0, file.size - UNSETTLED_BYTES)
    tail = b"".join(chunks_of(Place(file.location), start))[: file.size - start]
    return start + tail.rfind(b"\n") + 1 if b"\n" in tail else 0


def parts_between(before: Mapping[str, int], after: Mapping[str, int], *, again: bool) -> Iterator[Part]:
    """The parts added; with `again`, including the end of the known part, whose last record may have been incomplete.

    A file that shrank is a new one.
    """
    for path, size in after.items():
        known = before.get(path, 0)
        if size != known:
            begin = max(0, known - UNSETTLED_BYTES) if again else known
            yield Part(path=path, start=begin if known < size else 0, end=size)


def part_batch(part: Part, schema: pa.Schema) -> pa.RecordBatch:
    """A part as a row, sent together with its events."""
    row = Row(shard=0, kind=Kind.COUNTS, path=part.path, event=PART, payload=json.dumps(asdict(part)))
    return batch_of([row]).select(schema.names)


@dataclass(frozen=True, slots=True)
class Added:
    """The splits of what was added to a log, or to the logs of one compressed archive; `part` is the first's."""

    splits: tuple[Split, ...]
    part: Part


class GrowingLogs:
    """Logs, looked at again and again; one that is as it was is not opened again."""

    # `again`: the end of each log is read once more when it has grown, for its last record may not have been whole.

    def __init__(
        self, paths: Sequence[str], options: AnalyzeOptions, *, again: bool, besides: str | None = None,
        offsets: Offsets | None = None,
    ) -> None:  # fmt: skip
        refuse_missing_inputs(paths)  # only once: a log may be missing for a moment while it is rolled
        self._paths, self._options, self._again, self._besides = paths, options, again, besides
        self.offsets = offsets or Offsets(None)
        self._target: list[Listed] | None = None
        self._seen: dict[str, tuple[str, ProbeResult]] = {}
        self._ends: dict[str, tuple[str, int]] = {}

    @property
    def reading(self) -> Reading:
        """How lines become rows."""
        return reading_of(self._options)

    def no_further(self) -> None:
        """Let no offset exceed the current end of the logs."""
        self._target = self._listing().files

    def offset(
        self, start: Offset | None = None, most_files: int | None = None, most_bytes: int | None = None
    ) -> Offset:
        """The current end of each log: the end of its last complete line, unless the end is read `again`.

        With a limit, only the oldest changes since `start`; a file larger than the limit is a batch by itself.
        """
        files = self._listing().files if self._target is None else self._target
        ends = {file.path: file.size if self._again else self._end_of(file) for file in files}
        if start is None or (most_files is None and most_bytes is None):
            return self.offsets.of(ends)
        before, read, size = self.offsets.ends(start), 0, 0
        for file in sorted(files, key=lambda file: (file.mtime_ms, file.path)):
            known, end = before.get(file.path, 0), ends[file.path]
            more = end - known if end >= known else end
            fits = (most_files is None or read < most_files) and (most_bytes is None or size + more <= most_bytes)
            if end == known or fits or not read:
                read, size = read + (end != known), size + more
            elif end > known > 0:
                ends[file.path] = known
            else:  # a file that is new, or shrank, waits for a later batch
                del ends[file.path]
        return self.offsets.of(ends)

    def _listing(self) -> Listing:
        return list_inputs(self._paths, besides=self._besides)

    def _end_of(self, file: Listed) -> int:
        etag, end = self._ends.get(file.path, ("", 0))
        if etag != file.etag:
            end = _last_line_end(file)
            self._ends[file.path] = file.etag, end
        return end

    def added(self, start: Offset, end: Offset) -> Iterator[Added]:
        """The data between two offsets, by log; logs of one compressed archive are together."""
        between = parts_between(self.offsets.ends(start), self.offsets.ends(end), again=self._again)
        parts = {part.path: part for part in between}
        together: dict[str, Added] = {}
        sights = self._sights_near(self._listing(), parts) if parts else []
        profiles = profiles_beside(sights, self._options.zones)
        for sight in sights:
            file, profile = sight.file, profiles[sight.file.path]
            part = parts.get(file.path.partition("!/")[0])
            if part is None:
                continue
            part = replace(part.of(file, profile), read_as=read_as(profile, sight.look))
            splits = part.splits(file, profile, self._options.split_bytes)
            place = file.location if file.in_packed else file.path
            known = together.get(place)
            together[place] = Added((*known.splits, *splits), known.part) if known else Added(splits, part)
        yield from together.values()

    def _sights_near(self, listing: Listing, parts: Collection[str]) -> list[Sight]:
        directories = {path.rpartition("/")[0] for path in parts}
        near = [file for file in listing.files if file.path.rpartition("/")[0] in directories]
        return [sight for file in near for sight in self.probe(file).sights]

    def probe(self, file: Listed) -> ProbeResult:
        """The logs in a file; an unchanged file is not opened again."""
        etag, probed = self._seen.get(file.path, ("", ProbeResult()))
        if etag != file.etag:
            probed = probe([file], self._options)
            self._seen[file.path] = file.etag, probed
        return probed


def probe(files: Sequence[Listed], options: AnalyzeOptions) -> ProbeResult:
    """The logs in each of these files, and the files that could not be opened."""
    return probe_locally(Probe(tasks=probe_tasks(files), limits=options.limits))
