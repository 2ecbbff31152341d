"""Logs as a table of Spark's: `spark.read.format("rebalance_logs").load("logs/")`, in SQL and as a stream.

    spark.dataSource.register(RebalanceLogs)

Options: `cluster`, `clusterPerDirectory`, `tz` and `patterns` (comma between several), `splitBytes`. Rows are the typed
events; nothing else of a log leaves the Python workers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from rebalance_forensics.pipeline.options import AnalyzeOptions, zone_rules
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.schemas import ROWS, Kind, spark_schema
from rebalance_forensics.pipeline.stages import read_portion
from rebalance_forensics.pipeline.tables.listing import Listing, list_inputs, plan_scan, refuse_missing_inputs
from rebalance_forensics.pipeline.tables.stores import open_location
from rebalance_forensics.sources.files import InputFile
from rebalance_forensics.sources.opening import chunks_of, open_remote_with
from rebalance_forensics.sources.splits import Split

COLUMNS = ("ts", "cluster", "group", "event", "pattern", "path", "line", "byte_offset", "payload")
EVENT_ROWS = pa.schema([ROWS.field(name) for name in COLUMNS])
_WHOLE_FILES = 1 << 60
_TAIL = 1 << 20
"""The last line of a log ends in here."""
Offset = dict[str, Any]


@dataclass
class Portion(InputPartition):
    """The splits of one task."""

    splits: tuple[Split, ...]
    reading: Reading

    def __init__(self, splits: tuple[Split, ...], reading: Reading) -> None:
        super().__init__(None)
        self.splits, self.reading = splits, reading


class RebalanceLogs(DataSource):
    """Events of consumer groups, read straight from logs."""

    @classmethod
    def name(cls) -> str:
        """What stands in `format(…)`."""
        return "rebalance_logs"

    def schema(self) -> str:
        """The columns, in Spark's words."""
        return spark_schema(EVENT_ROWS)

    def reader(self, schema: object) -> DataSourceReader:  # noqa: ARG002 - Spark asks so
        """All that is there now."""
        return LogReader(_Asked.of(dict(self.options)))

    def streamReader(self, schema: object) -> DataSourceStreamReader:  # noqa: N802, ARG002
        """What comes, file by file and line by line."""
        return LogStream(_Asked.of(dict(self.options)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    paths: tuple[str, ...]
    options: AnalyzeOptions

    @classmethod
    def of(cls, given: dict[str, str]) -> _Asked:
        options = {name.lower(): value for name, value in given.items()}
        if not options.get("path"):
            raise InputError('rebalance_logs: name the logs, as in .load("logs/").')
        return cls(
            paths=tuple(options["path"].split(",")),
            options=AnalyzeOptions(
                cluster=options.get("cluster"),
                cluster_per_directory=options.get("clusterperdirectory", "false") == "true",
                zones=zone_rules(_several(options.get("tz"))),
                patterns=tuple(_several(options.get("patterns"))),
                split_bytes=int(options.get("splitbytes", _WHOLE_FILES)),
            ),
        )

    def listed(self) -> Listing:
        refuse_missing_inputs(self.paths)
        return list_inputs(self.paths)

    def planned(self, listing: Listing, wanted: Sequence[str], tasks: int) -> list[Portion]:
        per_directory = self.options.cluster_per_directory
        plan = plan_scan(listing, set(wanted), self.options, per_directory=per_directory, workers=tasks)
        return [Portion(splits, plan.reading) for splits in plan.portions]


def _several(text: str | None) -> list[str]:
    return text.split(",") if text else []


class LogReader(DataSourceReader):
    """Plans once, reads in the workers."""

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked

    def partitions(self) -> list[InputPartition]:
        """One a file, or one a split where `splitBytes` cuts files."""
        listing = self._asked.listed()
        return list(self._asked.planned(listing, [file.path for file in listing.files], len(listing.files)))

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The events of a partition; Spark asks for one even where there is nothing to read."""
        return _events(partition)


class LogStream(DataSourceStreamReader):
    """Follows logs: an offset says up to which byte each file was read."""

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Nothing is read."""
        return {"files": "{}"}

    def latestOffset(self, *_given: object) -> Offset:  # noqa: N802
        """Every file up to its last whole line; a packed file as a whole."""
        ends = {file.path: _end_of(file) for file in self._asked.listed().files}
        return {"files": json.dumps(ends, sort_keys=True)}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """What was added between two offsets; a file that shrank is a new one."""
        before, after = json.loads(start["files"]), json.loads(end["files"])
        grown = [path for path, size in after.items() if size != before.get(path, 0)]
        found: list[InputPartition] = []
        for portion in self._asked.planned(self._asked.listed(), grown, max(1, len(grown))):
            splits = (_added(split, before.get(split.file.path, 0), after[split.file.path]) for split in portion.splits)
            found.append(Portion(tuple(splits), portion.reading))
        return found

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The events of a partition."""
        return _events(partition)

    def commit(self, end: Offset) -> None:
        """Spark's checkpoint is all there is to keep."""


def _end_of(file: InputFile) -> int:
    open_remote_with(open_location)
    if file.codec or file.members:
        return file.size
    start = max(0, file.size - _TAIL)
    tail = b"".join(chunks_of(file.location, (), start))[: file.size - start]
    return start + tail.rfind(b"\n") + 1 if b"\n" in tail else 0


def _added(split: Split, before: int, after: int) -> Split:
    """The part of a file that was added; packed ones and documents are read again as a whole."""
    if split.file.codec or not split.profile.splittable:
        return split
    return replace(split, start=before if before < after else 0, end=after, index=0)


def _events(partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
    if not isinstance(partition, Portion):
        return
    open_remote_with(open_location)
    for split in partition.splits:
        for batch in read_portion([split], partition.reading):
            events = batch.filter(pc.not_equal(batch["kind"], int(Kind.COUNTS)))
            if events.num_rows:
                yield _row_batch(events, counted=split.start == 0)


def _row_batch(events: pa.RecordBatch, *, counted: bool) -> pa.RecordBatch:
    """The columns that are shown; line numbers only where the lines before are known."""
    columns = [events[name] for name in COLUMNS]
    if not counted:
        columns[COLUMNS.index("line")] = pa.nulls(events.num_rows, pa.int64())
    return pa.RecordBatch.from_arrays(columns, schema=EVENT_ROWS)
