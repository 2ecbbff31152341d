"""Frames, matches and diagnoses a few damaged lines, with the profile of their undamaged log."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Self

import pyarrow as pa

from benchmarks.fuzz.corpus import profile_like
from benchmarks.fuzz.laws import CALLS_A_BYTE, CALLS_AT_LEAST, broken, in_place, is_expected, isolated
from benchmarks.fuzz.model import Find, Input
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.results import results_of
from rebalance_forensics.pipeline.schemas import Kind, Row, object_of, rows_of
from rebalance_forensics.pipeline.stages import in_order, investigate_rows, read_portion
from rebalance_forensics.pipeline.stats import SplitStats
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.records.splits import Split

READING = Reading(cluster="fuzz")


class Calls:
    """Counts calls: a measure of work that does not depend on the machine."""

    def __init__(self) -> None:
        self.number = 0

    def __enter__(self) -> Self:
        """Start counting."""
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop counting."""
        sys.setprofile(None)

    def _count(self, _frame: FrameType, event: str, _argument: object) -> None:
        self.number += event in ("call", "c_call")

    def finds(self, size: int) -> Iterator[Find]:
        """A finding if there were more calls than an input of this size may take."""
        if self.number > CALLS_AT_LEAST + CALLS_A_BYTE * size:
            detail = f"{self.number:,} calls for {size:,} bytes"
            yield Find(law="work is bounded", sign="calls", detail=detail)


class Snippets:
    """Reads snippets one after another, in one file."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "snippet"

    def finds(self, one: Input, *, investigated: bool = True, twice: bool = True, watched: bool = True) -> list[Find]:
        """The laws that the input breaks; diagnosis, a second run and counting are optional."""
        ((path, data),) = one.files.items()
        self._file.write_bytes(data)
        try:
            batches, found = self._read(one, path), list[Find]()
            if watched:  # counted the second time, because modules and tables are loaded only once
                with Calls() as calls:
                    self._read(one, path)
                found += calls.finds(len(data))
            rows = [row for batch in batches for row in rows_of(batch)]
            found += _broken_laws(rows, data, document=bool(one.like and profile_like(one.like).document))
            if investigated and len(rows) > 1:
                found += _investigated(batches)
            if twice and rows != [row for batch in self._read(one, path) for row in rows_of(batch)]:
                found.append(
                    Find(law="the same input says the same", sign="events", detail="another answer the second time")
                )
        except Exception as error:  # noqa: BLE001 - whatever it was, it is a find
            return [broken(error)]
        return found

    def _read(self, one: Input, path: str) -> list[pa.RecordBatch]:
        assert one.like is not None
        size = self._file.stat().st_size
        file = InputFile(path=path, location=str(self._file), size=size)
        return list(read_portion([Split(file=file, profile=profile_like(one.like), index=0)], READING))


def _broken_laws(rows: list[Row], data: bytes, *, document: bool) -> Iterator[Find]:
    for row in rows:
        if row.kind in (Kind.EVENT, Kind.SHARED):
            if find := in_place(row, data, document=document):
                yield find
        elif row.kind == Kind.COUNTS:
            for sentence in object_of(SplitStats, row.payload).errors:
                if not is_expected(sentence):
                    yield Find(law="no mistake is isolated", sign=sentence[:100], detail=sentence)


def _investigated(batches: list[pa.RecordBatch]) -> list[Find]:
    results = results_of(investigate_rows(in_order(batches)), first_shard=0)
    return list(map(isolated, results.failures))


def workplace() -> tempfile.TemporaryDirectory[str]:
    """A directory for inputs, in memory if the system has such a file system."""
    memory = Path("/dev/shm")  # noqa: S108 - a directory with a name of its own is made in it
    return tempfile.TemporaryDirectory(prefix="rf-fuzz-", dir=memory if memory.is_dir() else None)
