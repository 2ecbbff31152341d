"""Logs as a table of Spark's: `spark.read.format("rebalance_logs").load("logs/")`, in SQL and as a stream.

    spark.dataSource.register(RebalanceLogs)

Options: `cluster`, `clusterPerDirectory`, `tz` and `patterns` (comma between several), `splitBytes`,
`unpackRatio`; for a stream also `maxFilesPerTrigger` and `maxBytesPerTrigger` (Spark 4.2 or newer), and `offsets`, a
directory or URI where it keeps how far each file is read, which stands in its checkpoint otherwise. Rows are the typed
events; nothing else of a log leaves the Python workers.
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
from rebalance_forensics.pipeline.inputs.growing_logs import GrowingLogs, Offset, Offsets, Part, looked_into, part_batch
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

# How soon a stream that is asked to end notices.
_LOOK_S = 1


def log_stream(
    session: SparkSession, inputs: Sequence[str], reading: AnalyzeOptions, *, besides: str, checkpoint: str,
    offsets: str, begin: Mapping[str, int],
) -> DataFrame:  # fmt: skip
    """The rows of logs as they grow, with counts, but of what lies below `besides`.

    `begin` says how far each file is known, `offsets` where that is kept for the stream of this `checkpoint`.
    """
    session.dataSource.register(RebalanceLogs)
    zones = reading.zones
    asked = {
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
    given = {name: value for name, value in asked.items() if value}
    return session.readStream.format(RebalanceLogs.name()).options(**given).load()


def wait_for(query: StreamingQuery, busy: Lock) -> None:
    """Wait for the end of a stream; the batch at work when the process is asked to end is finished."""
    with stop_event() as end:
        while not query.awaitTermination(_LOOK_S):
            if end.is_set():
                with busy:
                    query.stop()
                return


@contextmanager
def stop_event() -> Iterator[Event]:
    """Set by SIGTERM and Ctrl-C, which mean the same here."""
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
    """What one task reads; with `part`, it says so in a row of its own."""

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
        """What stands in `format(…)`."""
        return "rebalance_logs"

    def schema(self) -> str:
        """The columns, in Spark's words."""
        return schemas.spark_schema(COUNTED_ROWS if _Asked.of(dict(self.options)).counts else EVENT_ROWS)

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
    counts: bool
    """For the job: rows of counts too, and the end of each log again when it has grown."""
    begin: str
    offsets: str | None
    checkpoint: str | None
    besides: str | None
    most_files: int | None
    most_bytes: int | None

    @classmethod
    def of(cls, given: dict[str, str]) -> _Asked:
        options = {name.lower(): value for name, value in given.items()}
        paths = json.loads(options["inputs"]) if "inputs" in options else _several(options.get("path"))
        if not paths:
            raise InputError('rebalance_logs: name the logs, as in .load("logs/").')
        return cls(
            paths=tuple(paths),
            options=AnalyzeOptions(
                cluster=options.get("cluster"),
                cluster_per_directory=options.get("clusterperdirectory", "false") == "true",
                zones=zone_rules(_several(options.get("tz"))),
                patterns=tuple(_several(options.get("patterns"))),
                split_bytes=int(options.get("splitbytes", _WHOLE_FILES)),
                limits=Limits.of(int(options.get("unpackratio", USUAL_RATIO))),
            ),
            counts=options.get("counts", "false") == "true",
            begin=options.get("begin", "{}"),
            offsets=options.get("offsets"),
            checkpoint=options.get("checkpoint"),
            besides=options.get("besides"),
            most_files=_limit(options, "maxFilesPerTrigger"),
            most_bytes=_limit(options, "maxBytesPerTrigger"),
        )


def _limit(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name.lower())
    if text is not None and not (text.isdigit() and int(text)):
        raise InputError(f"rebalance_logs: {name} = {text!r} is no number above 0.")
    return int(text) if text else None


def _several(text: str | None) -> list[str]:
    return text.split(",") if text else []


class LogReader(DataSourceReader):
    """Plans once, reads in the workers."""

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked

    def partitions(self) -> list[InputPartition]:
        """One a file, or one a split where `splitBytes` cuts files; one for all that a packed archive holds."""
        asked, options = self._asked, self._asked.options
        refuse_missing_inputs(asked.paths)
        sights = looked_into(list_inputs(asked.paths).files, options).sights
        profiles, reading = profiles_beside(sights, options.zones), read_plan.reading_of(options)
        files = [sight.file for sight in sights]
        splits = plan(files, [profiles[file.path] for file in files], options.split_bytes)
        return [Portion(tuple(bundle), reading) for bundle in read_plan.bundled(splits, workers=1)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The events of a partition; Spark asks for one even where there is nothing to read."""
        return _events(partition)


class LogStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows logs: an offset says up to which byte each file was read."""

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked
        options, checkpoint = asked.options, asked.checkpoint
        # Spark does not tell the checkpoint: what is read, and how, tells streams apart.
        whose = (checkpoint,) if checkpoint else (*asked.paths, options.cluster or "", "", *options.patterns)
        offsets = Offsets(asked.offsets, *whose)
        self._logs = GrowingLogs(asked.paths, asked.options, again=asked.counts, besides=asked.besides, offsets=offsets)

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Nothing is read, or what the job's tables hold."""
        return {"files": self._asked.begin}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Batches end where the logs end now."""
        self._logs.no_further()

    def getDefaultReadLimit(self) -> Any:  # noqa: ANN401, N802 - Spark before 4.2 has no class for it
        """How much a batch reads at most."""
        if self._asked.most_files:
            return ReadMaxFiles(self._asked.most_files)
        return ReadMaxBytes(self._asked.most_bytes) if self._asked.most_bytes else ReadAllAvailable()

    def latestOffset(self, start: Offset | None = None, limit: Any = None) -> Offset:  # noqa: ANN401, N802
        """How far each file goes now, or as far as a batch may read; Spark before 4.2 gives neither start nor limit."""
        files, size = self._asked.most_files, self._asked.most_bytes
        if start is None and (files or size):
            raise InputError("rebalance_logs: maxFilesPerTrigger and maxBytesPerTrigger need Spark 4.2 or newer.")
        if start is None or isinstance(limit, ReadAllAvailable):
            return self._logs.offset()
        return self._logs.offset(start, files, size)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """What was added between two offsets, one partition a file; one for all that a packed archive holds."""
        added = self._logs.added(start, end)
        return [
            Portion(fresh.splits, self._logs.reading, fresh.part if self._asked.counts else None) for fresh in added
        ]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The events of a partition."""
        return _events(partition)

    def commit(self, end: Offset) -> None:
        """Spark's checkpoint knows it; only offsets that are kept beside it are let go."""
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
    # The columns that are shown; line numbers only where the lines before are known.
    columns = [events[name] for name in COLUMNS]
    if not counted:
        columns[COLUMNS.index("line")] = pa.nulls(events.num_rows, pa.int64())
    return pa.RecordBatch.from_arrays(columns, schema=EVENT_ROWS)
