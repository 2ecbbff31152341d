"""Logs as a Spark table: `spark.read.format("rebalance_logs").load("logs/")`, also in SQL and as a stream.

    spark.dataSource.register(RebalanceLogs)

Options: `cluster`, `clusterPerDirectory`, `tz` and `patterns` (comma-separated), `splitBytes`,
`unpackRatio`; for a stream also `maxFilesPerTrigger` and `maxBytesPerTrigger` (Spark 4.2 or newer), and `offsets`, a
directory or URI for the position in each file, which is kept in the checkpoint otherwise. Rows are the typed events;
nothing else of a log leaves the Python workers.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Lock
from types import FrameType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadMaxBytes,
        ReadMaxFiles,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # before Spark 4.2 a batch has no limits
    SupportsTriggerAvailableNow = object  # type: ignore[assignment,misc]

from rebalance_forensics.pipeline import read_plan, schemas, stages
from rebalance_forensics.pipeline.inputs.file_listing import list_inputs, refuse_missing_inputs
from rebalance_forensics.pipeline.inputs.growing_logs import GrowingLogs, Offset, Offsets, Part, part_batch, probe
from rebalance_forensics.pipeline.inputs.sights import profiles_beside
from rebalance_forensics.pipeline.inputs.stores import open_location
from rebalance_forensics.pipeline.options import AnalyzeOptions, zone_rules
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.sources.files.archives import held_open
from rebalance_forensics.sources.files.budgets import USUAL_RATIO, Limits
from rebalance_forensics.sources.files.places import open_remote_with
from rebalance_forensics.sources.records.splits import Split, plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

# Interval at which a stream checks whether it was requested to stop.
_STOP_CHECK_S = 1


def log_stream(
    session: SparkSession, inputs: Sequence[str], reading: AnalyzeOptions, *, besides: str, checkpoint: str,
    offsets: str, begin: Mapping[str, int],
) -> DataFrame:  # fmt: skip
    """The rows of growing logs, including counts, except of files below `besides`.

        `begin` maps each file to the byte offset from which to read it; `offsets` is the directory or URI in which the
    stream of this `checkpoint` keeps its positions.
    """
    session.dataSource.register(RebalanceLogs)
    zones = reading.zones
    requested = {
        "inputs": json.dumps(list(inputs)),
        "cluster": reading.cluster,
        "clusterPerDirectory": "true" if reading.cluster_per_directory else None,
        "tz": ",".join([*filter(None, [zones.default]), *(f"{host}={zone}" for host, zone in zones.by_host)]),
        "patterns": ",".join(reading.patterns),
        "splitBytes": str(reading.split_bytes),
        "unpackRatio": str(reading.limits.ratio),
        "counts": "true",
        "begin": Offsets(offsets, checkpoint).of(begin)["files"],
        "offsets": offsets,
        "checkpoint": checkpoint,
        "besides": besides,
    }
    options = {name: value for name, value in requested.items() if value}
    return session.readStream.format(RebalanceLogs.name()).options(**options).load()


def wait_for(query: StreamingQuery, busy: Lock) -> None:
    """Wait until the stream ends; on SIGTERM or Ctrl-C, finish the current batch, then stop the stream."""
    with stop_event() as end:
        while not query.awaitTermination(_STOP_CHECK_S):
            if end.is_set():
                with busy:
                    query.stop()
                return


@contextmanager
def stop_event() -> Iterator[Event]:
    """An event that SIGTERM and Ctrl-C set."""
    end = Event()

    def note(_number: int, _frame: FrameType | None) -> None:
        end.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


COLUMNS = ("ts", "cluster", "group", "event", "pattern", "path", "line", "byte_offset", "payload")
EVENT_ROWS = pa.schema([schemas.ROWS.field(name) for name in COLUMNS])
COUNTED_ROWS = pa.schema([schemas.ROWS.field("kind"), *EVENT_ROWS])
_WHOLE_FILES = 1 << 60


@dataclass
class Portion(InputPartition):
    """The splits that one task reads; with `part`, the task also emits a row that describes the part."""

    splits: tuple[Split, ...]
    reading: Reading
    part: Part | None

    def __init__(self, splits: tuple[Split, ...], reading: Reading, part: Part | None = None) -> None:
        super().__init__(None)
        self.splits, self.reading, self.part = splits, reading, part


class RebalanceLogs(DataSource):
    """Events of consumer groups, read straight from logs."""

    @classmethod
    def name(cls) -> str:
        """The name to pass to `format(…)`."""
        return "rebalance_logs"

    def schema(self) -> str:
        """The columns, as a Spark DDL string."""
        return schemas.spark_schema(COUNTED_ROWS if _SourceOptions.of(dict(self.options)).counts else EVENT_ROWS)

    def reader(self, schema: object) -> DataSourceReader:  # noqa: ARG002 - Spark asks so
        """A reader of everything the logs contain now."""
        return LogReader(_SourceOptions.of(dict(self.options)))

    def streamReader(self, schema: object) -> DataSourceStreamReader:  # noqa: N802, ARG002
        """A reader of lines and files as they are added."""
        return LogStream(_SourceOptions.of(dict(self.options)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourceOptions:
    paths: tuple[str, ...]
    options: AnalyzeOptions
    counts: bool
    """Whether to emit rows of counts and to read the end of each log again when it has grown; the job needs both."""
    begin: str
    offsets: str | None
    checkpoint: str | None
    besides: str | None
    max_files: int | None
    max_bytes: int | None

    @classmethod
    def of(cls, given: dict[str, str]) -> _SourceOptions:
        options = {name.lower(): value for name, value in given.items()}
        paths = json.loads(options["inputs"]) if "inputs" in options else _comma_separated(options.get("path"))
        if not paths:
            raise InputError('rebalance_logs: name the logs, as in .load("logs/").')
        return cls(
            paths=tuple(paths),
            options=AnalyzeOptions(
                cluster=options.get("cluster"),
                cluster_per_directory=options.get("clusterperdirectory", "false") == "true",
                zones=zone_rules(_comma_separated(options.get("tz"))),
                patterns=tuple(_comma_separated(options.get("patterns"))),
                split_bytes=int(options.get("splitbytes", _WHOLE_FILES)),
                limits=Limits.of(int(options.get("unpackratio", USUAL_RATIO))),
            ),
            counts=options.get("counts", "false") == "true",
            begin=options.get("begin", "{}"),
            offsets=options.get("offsets"),
            checkpoint=options.get("checkpoint"),
            besides=options.get("besides"),
            max_files=_limit(options, "maxFilesPerTrigger"),
            max_bytes=_limit(options, "maxBytesPerTrigger"),
        )


def _limit(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name.lower())
    if text is not None and not (text.isdigit() and int(text)):
        raise InputError(f"rebalance_logs: {name} = {text!r} is not a positive number.")
    return int(text) if text else None


def _comma_separated(text: str | None) -> list[str]:
    return text.split(",") if text else []


class LogReader(DataSourceReader):
    """Plans in the driver and reads in the workers."""

    def __init__(self, requested: _SourceOptions) -> None:
        self._asked = requested

    def partitions(self) -> list[InputPartition]:
        """One partition per file, or per split if `splitBytes` is set; one for all files of a compressed archive."""
        requested, options = self._asked, self._asked.options
        refuse_missing_inputs(requested.paths)
        sights = probe(list_inputs(requested.paths).files, options).sights
        profiles, reading = profiles_beside(sights, options.zones), read_plan.reading_of(options)
        files = [sight.file for sight in sights]
        splits = plan(files, [profiles[file.path] for file in files], options.split_bytes)
        return [Portion(tuple(bundle), reading) for bundle in read_plan.bundled(splits, workers=1)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The events of a partition; Spark requests one even if there is nothing to read."""
        return _events(partition)


class LogStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows logs; an offset is the number of bytes read of each file."""

    def __init__(self, requested: _SourceOptions) -> None:
        self._asked = requested
        options, checkpoint = requested.options, requested.checkpoint
        # Spark does not pass the checkpoint's location, so a stream is identified by what it reads, and how.
        stream_id = (checkpoint,) if checkpoint else (*requested.paths, options.cluster or "", "", *options.patterns)
        offsets = Offsets(requested.offsets, *stream_id)
        self._logs = GrowingLogs(
            requested.paths, requested.options, again=requested.counts, besides=requested.besides, offsets=offsets
        )

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Where the first batch starts: at the start of each file, or after what the job's tables contain."""
        return {"files": self._asked.begin}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Let no batch read past the current end of the logs."""
        self._logs.no_further()

    def getDefaultReadLimit(self) -> Any:  # noqa: ANN401, N802 - Spark before 4.2 has no class for it
        """The most that a batch reads."""
        if self._asked.max_files:
            return ReadMaxFiles(self._asked.max_files)
        return ReadMaxBytes(self._asked.max_bytes) if self._asked.max_bytes else ReadAllAvailable()

    def latestOffset(self, start: Offset | None = None, limit: Any = None) -> Offset:  # noqa: ANN401, N802
        """The end of each file, or of the next batch; Spark before 4.2 passes neither start nor limit."""
        files, size = self._asked.max_files, self._asked.max_bytes
        if start is None and (files or size):
            raise InputError("rebalance_logs: maxFilesPerTrigger and maxBytesPerTrigger need Spark 4.2 or newer.")
        if start is None or isinstance(limit, ReadAllAvailable):
            return self._logs.offset()
        return self._logs.offset(start, files, size)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """The data between two offsets: one partition per file, and one for all files of a compressed archive."""
        added = self._logs.added(start, end)
        return [
            Portion(fresh.splits, self._logs.reading, fresh.part if self._asked.counts else None) for fresh in added
        ]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The events of a partition."""
        return _events(partition)

    def commit(self, end: Offset) -> None:
        """Delete old offsets from the `offsets` directory; Spark's checkpoint keeps its own."""
        self._logs.offsets.forget(end)


def _events(partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
    if not isinstance(partition, Portion):
        return
    open_remote_with(open_location)
    if partition.part is not None:
        yield part_batch(partition.part, COUNTED_ROWS)
    with held_open():
        for split in partition.splits:
            for batch in stages.read_portion([split], partition.reading):
                if partition.part is not None:
                    yield batch.select(COUNTED_ROWS.names)
                elif (events := batch.filter(pc.is_in(batch["kind"], schemas.EVENT_KINDS))).num_rows:
                    yield _row_batch(events, counted=split.start == 0)


def _row_batch(events: pa.RecordBatch, *, counted: bool) -> pa.RecordBatch:
    # The public columns; line numbers only if the preceding lines were counted.
    columns = [events[name] for name in COLUMNS]
    if not counted:
        columns[COLUMNS.index("line")] = pa.nulls(events.num_rows, pa.int64())
    return pa.RecordBatch.from_arrays(columns, schema=EVENT_ROWS)
