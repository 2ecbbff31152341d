"""Logs as a stream: how far each file went, and what was added since."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
from msgspec import structs

from rebalance_forensics.pipeline.inputs.file_listing import Listed, Listing
from rebalance_forensics.pipeline.inputs.resumption import UNSETTLED_BYTES, grows, splits_of
from rebalance_forensics.pipeline.inputs.stores import open_location
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


class Tails:
    """How far files go; one that is as it was is not opened again."""

    def __init__(self, *, whole_lines: bool) -> None:
        self._whole_lines = whole_lines
        self._known: dict[str, tuple[str, int]] = {}

    def offset(self, listing: Listing) -> Offset:
        """The end of each file: of its last whole line, where records are read once only."""
        ends = {file.path: self._end_of(file) if self._whole_lines else file.size for file in listing.files}
        return {"files": json.dumps(ends, sort_keys=True)}

    def _end_of(self, file: Listed) -> int:
        etag, end = self._known.get(file.path, ("", 0))
        if etag != file.etag:
            end = _last_line_end(file)
            self._known[file.path] = file.etag, end
        return end


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
