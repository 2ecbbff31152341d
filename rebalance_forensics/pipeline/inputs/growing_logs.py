"""Logs that are still written: how far each went, and which parts came since."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
from msgspec import structs

from rebalance_forensics.pipeline.inputs.file_listing import Listed, Listing, list_inputs, refuse_missing_inputs
from rebalance_forensics.pipeline.inputs.file_probe import Look, Looked, look_here, look_tasks
from rebalance_forensics.pipeline.inputs.resumption import UNSETTLED_BYTES, grows, splits_of
from rebalance_forensics.pipeline.inputs.sights import Sight, profiles_beside, read_as
from rebalance_forensics.pipeline.inputs.stores import open_location
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.read_plan import reading_of
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.schemas import Kind, Row, batch_of
from rebalance_forensics.sources.files.decompression import chunks_of, is_packed
from rebalance_forensics.sources.files.places import Place, open_remote_with
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.records.splits import Split

Offset = dict[str, Any]
"""How many bytes of each file are read, as JSON: what a checkpoint holds."""
PART = "Part"
"""The `event` of a row that describes a part; its payload is a Part."""
# The last line of a log ends in here.
_TAIL = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What is read of a file in one go; its end is how far the file went then."""

    path: str
    start: int
    end: int
    read_as: str = ""
    """How, by what the files beside it showed then."""

    def splits(self, file: InputFile, profile: FileProfile, split_bytes: int) -> tuple[Split, ...]:
        """The part as byte ranges."""
        cut = splits_of(structs.replace(file, size=self.end), profile, self.start, split_bytes)
        return (*cut[:-1], structs.replace(cut[-1], end=self.end)) if grows(file, profile) else cut

    def of(self, file: InputFile, profile: FileProfile) -> Part:
        """The part as it is read: what is packed, or a document, is read again as a whole."""
        return self if grows(file, profile) else replace(self, start=0)


def _last_line_end(file: Listed) -> int:
    open_remote_with(open_location)
    if is_packed(Place(file.location)):
        return file.size
    start = max(0, file.size - _TAIL)
    tail = b"".join(chunks_of(Place(file.location), start))[: file.size - start]
    return start + tail.rfind(b"\n") + 1 if b"\n" in tail else 0


def parts_between(start: Offset, end: Offset, *, again: bool) -> Iterator[Part]:
    """What was added; `again`: with the end of what was there, for its last record may continue. Who shrank is new."""
    before: Mapping[str, int] = json.loads(start["files"])
    after: Mapping[str, int] = json.loads(end["files"])
    for path, size in after.items():
        known = before.get(path, 0)
        if size != known:
            begin = max(0, known - UNSETTLED_BYTES) if again else known
            yield Part(path=path, start=begin if known < size else 0, end=size)


def part_batch(part: Part, schema: pa.Schema) -> pa.RecordBatch:
    """A part as a row among its events."""
    row = Row(shard=0, kind=Kind.COUNTS, path=part.path, event=PART, payload=json.dumps(asdict(part)))
    return batch_of([row]).select(schema.names)


@dataclass(frozen=True, slots=True)
class Added:
    """Splits that hold what was added to a log, or to the logs of one packed archive; `part` says so of a log."""

    splits: tuple[Split, ...]
    part: Part


class GrowingLogs:
    """Logs, looked at again and again; one that is as it was is not opened again."""

    # `again`: the end of each log is read once more when it has grown, for its last record may not have been whole.

    def __init__(self, paths: Sequence[str], options: AnalyzeOptions, *, again: bool) -> None:
        refuse_missing_inputs(paths)  # once: later on a log may be away for a moment, while it is rolled
        self._paths, self._options, self._again = paths, options, again
        self._seen: dict[str, tuple[str, Looked]] = {}
        self._ends: dict[str, tuple[str, int]] = {}

    @property
    def reading(self) -> Reading:
        """How lines become rows."""
        return reading_of(self._options)

    def offset(self) -> Offset:
        """How far each log goes now: up to the end of its last whole line, where records are read once only."""
        files = list_inputs(self._paths).files
        ends = {file.path: file.size if self._again else self._end_of(file) for file in files}
        return {"files": json.dumps(ends, sort_keys=True)}

    def _end_of(self, file: Listed) -> int:
        etag, end = self._ends.get(file.path, ("", 0))
        if etag != file.etag:
            end = _last_line_end(file)
            self._ends[file.path] = file.etag, end
        return end

    def added(self, start: Offset, end: Offset) -> Iterator[Added]:
        """What came between two offsets, by log; together what lies in one packed archive."""
        parts = {part.path: part for part in parts_between(start, end, again=self._again)}
        together: dict[str, Added] = {}
        sights = self._beside(list_inputs(self._paths), parts)
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

    def _beside(self, listing: Listing, parts: Collection[str]) -> list[Sight]:
        directories = {path.rpartition("/")[0] for path in parts}
        near = [file for file in listing.files if file.path.rpartition("/")[0] in directories]
        return [sight for file in near for sight in self.look(file).sights]

    def look(self, file: Listed) -> Looked:
        """What a file shows by itself; one that is as it was is not opened again."""
        etag, looked = self._seen.get(file.path, ("", Looked()))
        if etag != file.etag:
            looked = looked_into([file], self._options)
            self._seen[file.path] = file.etag, looked
        return looked


def looked_into(files: Sequence[Listed], options: AnalyzeOptions) -> Looked:
    """What each of these files shows by itself."""
    return look_here(Look(tasks=look_tasks(files), limits=options.limits))
