"""First step of a job: distributes new files over tasks, which write their events to unpublished files."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import accumulate
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rebalance_forensics.job.lake.ledger import Changes
from rebalance_forensics.pipeline.inputs.log_tables import LogTable, read_rows
from rebalance_forensics.pipeline.inputs.resumption import Settled, digest_of, settled_of, splits_of
from rebalance_forensics.pipeline.inputs.sights import Sight
from rebalance_forensics.pipeline.inputs.stores import Store, open_location
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.read_plan import ReadPlan, deal, portions_of, reading_of, split_size
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.schemas import EVENT_KINDS, ROWS, Kind, message_batch
from rebalance_forensics.pipeline.stages import read_portion
from rebalance_forensics.pipeline.tables.rows import hashed
from rebalance_forensics.pipeline.workload import weight
from rebalance_forensics.records import DAY_MS
from rebalance_forensics.sources.files.contents import Unreadable
from rebalance_forensics.sources.files.places import open_remote_with
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.records.splits import Split

# The size of input for which a task is worth starting; small files share a task.
TASK_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """The files that a run reads, and for logs that have grown, the results of the part read before."""

    reads: ReadPlan
    sights: tuple[Sight, ...] = ()
    """The sights of the files to read, in the order of `reads`."""
    settled: dict[str, Settled] = field(default_factory=dict)
    """Path -> the results of the part read before."""

    @property
    def forgotten_from(self) -> dict[str, int]:
        """Path -> the offset from which the file is read."""
        return {file.path: of.until if (of := self.settled.get(file.path)) else 0 for file in self.reads.files}

    def without(self, paths: Collection[str], workers: int) -> ReadPlan:
        """The plan without these files."""
        left = [split for portion in self.reads.portions for split in portion if split.file.path not in paths]
        return replace(self.reads, portions=deal(left, max(workers, len(self.reads.portions)), workers=workers))


def plan_scan(
    read: Sequence[tuple[Sight, FileProfile]],
    found: Changes,
    options: AnalyzeOptions,
    *,
    errors: Sequence[Unreadable],
    workers: int,
) -> ScanPlan:
    """Distribute the new files over tasks, each from the end of its settled part."""
    reading = reading_of(options)
    pairs = [(sight.file, profile) for sight, profile in read]
    settled = {file.path: of for file, profile in pairs if (of := _settled(file, profile, found, reading))}
    begins = {path: of.until for path, of in settled.items()}
    total = sum(file.size - begins.get(file.path, 0) for file, _ in pairs)
    alone = workers == 1
    split_bytes = options.split_bytes if alone else split_size(total, workers, options.split_bytes)
    splits = [
        split for file, profile in pairs for split in splits_of(file, profile, begins.get(file.path, 0), split_bytes)
    ]
    reads = ReadPlan(
        files=tuple(file for file, _ in pairs),
        profiles=tuple(profile for _, profile in pairs),
        errors=tuple(errors),
        portions=deal(splits, 1 if alone else portions_of(splits, workers, TASK_BYTES), workers=workers),
        reading=reading,
    )
    return ScanPlan(reads=reads, sights=tuple(sight for sight, _ in read), settled=settled)


def _settled(file: InputFile, profile: FileProfile, found: Changes, reading: Reading) -> Settled | None:
    # Reading continues only if it is the same file under the same name, read in the same way.
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


Spans = dict[str, dict[str, tuple[int, int]]]
"""Path -> date -> the first and last time of its events."""
_COLUMNS = ("cluster", "group", "ts", "path", "byte_offset", "line", "event", "pattern", "payload")
SCANNED = pa.schema([*(ROWS.field(name) for name in _COLUMNS), ("file_id", pa.string())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The input of a scanning task, with the location of its portion instead of the whole plan."""

    # Unpickling the portions of 10,000 files took each of 128 tasks 0.18 s, 23 s in total.

    store: Store
    work: str
    reading: Reading
    sizes: tuple[int, ...]
    """The stored bytes of each portion."""
    portions: str
    """The path of the file with all portions."""
    ends: tuple[int, ...]
    """The end offset of each portion in this file."""
    digests: tuple[bytes, ...]

    @classmethod
    def of(cls, plan: ReadPlan, store: Store, work: str) -> Scan:
        """Write the portions of a plan to a file for its tasks."""
        # Pickled, because file names may contain bytes that JSON cannot represent.
        each, path = list(map(pickle.dumps, plan.portions)), f"{work}/portions-{uuid4().hex[:8]}"
        store.write(path, b"".join(each))
        return cls(
            store=store, work=work, reading=plan.reading, portions=path,
            sizes=tuple(sum(map(weight, portion)) for portion in plan.portions),
            ends=tuple(accumulate(map(len, each))), digests=tuple(sha256(portion).digest() for portion in each),
        )  # fmt: skip

    def portion(self, task: int) -> tuple[Split, ...]:
        """The splits that a task reads."""
        begin = self.ends[task - 1] if task else 0
        with self.store.open(self.portions) as stream:
            stream.seek(begin)
            pickled = stream.read(self.ends[task] - begin)
        if sha256(pickled).digest() != self.digests[task]:
            raise OSError(f"{self.store.uri}/{self.portions} is not as this run wrote it")
        portion: tuple[Split, ...] = pickle.loads(pickled)  # noqa: S301 - known by its digest
        return portion


@dataclass(frozen=True, slots=True, kw_only=True)
class TableScan:
    """The input of a task that reads the new `hours` of a log table."""

    table: LogTable
    hours: tuple[int, ...]
    reading: Reading
    store: Store
    work: str


def scan_task(scan: Scan, task: int) -> Iterator[pa.RecordBatch]:
    """Read one portion; yields messages with the counts of its splits and the dates of its events."""
    open_remote_with(open_location)
    yield from keep_events(read_portion(scan.portion(task), scan.reading), scan.store, scan.work, unnamed)


def scan_rows(batches: Iterable[pa.RecordBatch], scan: TableScan) -> Iterator[pa.RecordBatch]:
    """Scan canonical rows of a table: writes events to unpublished files, yields messages with counts."""

    def named(events: pa.RecordBatch) -> pa.Array:
        times = events["ts"].cast(pa.int64()).to_pylist()
        return pa.array([hour_id(scan.table.hour(at // 1000)) for at in times], pa.string())

    yield from keep_events(read_rows(batches, scan.table, scan.reading), scan.store, scan.work, named)


def hour_id(hour: str) -> str:
    """The id of one hour of a table, which takes the place of a file id."""
    return hashed("table", hour)


def unnamed(events: pa.RecordBatch) -> pa.Array:
    """Null file ids, which are set later, as only the driver knows them."""
    return pa.nulls(events.num_rows, pa.string())


def keep_events(
    batches: Iterable[pa.RecordBatch], store: Store, work: str, file_ids: Callable[[pa.RecordBatch], pa.Array]
) -> Iterator[pa.RecordBatch]:
    """Write events to an unpublished file; yields messages with counts, and the spans and dates of the events."""
    spans: Spans = {}
    last: dict[str, int] = {}
    dates: Counter[int] = Counter()
    undated = 0
    messages: list[tuple[str, str]] = []
    # Spark may run a task twice, even at the same time; only a finished attempt reports its file to the driver.
    path = f"{work}/scanned/{uuid4().hex}.parquet"
    with store.create(path) as stream, pq.ParquetWriter(stream, SCANNED) as writer:
        for batch in batches:
            counts = batch.filter(pc.equal(batch["kind"], int(Kind.COUNTS)))["payload"].to_pylist()
            messages.extend(("counts", str(text)) for text in counts)
            found = dated_by_lines_before(batch.filter(pc.is_in(batch["kind"], EVENT_KINDS)), last)
            dated = found.filter(pc.is_valid(found["ts"]))
            undated += found.num_rows - dated.num_rows
            times = dated["ts"].cast(pa.int64()).to_pylist()
            for of_path, micros in zip(dated["path"].to_pylist(), times, strict=True):
                at = micros // 1000
                dates[at // DAY_MS] += 1
                widen(spans, of_path, str(at // DAY_MS), at, at)
            cells = [*(dated[name] for name in _COLUMNS), file_ids(dated)]
            writer.write_batch(pa.RecordBatch.from_arrays(cells, schema=SCANNED))
    messages.append(("scan", json.dumps({"file": path, "spans": spans, "dates": dates, "undated": undated})))
    yield message_batch(messages)


def dated_by_lines_before(events: pa.RecordBatch, last: dict[str, int]) -> pa.RecordBatch:
    """Give events without a time that of the previous line in their log, as the timeline does; `last` is by path."""
    # Tables are partitioned by date: without a time, an event would be in no investigation.
    if not events["ts"].null_count:
        last.update(zip(events["path"].to_pylist(), events["ts"].cast(pa.int64()).to_pylist(), strict=True))
        return events
    times: list[int | None] = []
    for path, micros in zip(events["path"].to_pylist(), events["ts"].cast(pa.int64()).to_pylist(), strict=True):
        if micros is not None:
            last[path] = micros
        times.append(last.get(path))
    place = events.schema.get_field_index("ts")
    return events.set_column(place, "ts", pa.array(times, pa.int64()).cast(events.schema.field(place).type))


def widen(spans: Spans, path: str, day: str, first: int, last: int) -> None:
    """Widen the time span of a path and date; keys are strings because the spans are sent as JSON."""
    days = spans.setdefault(path, {})
    known = days.get(day, (first, last))
    days[day] = min(known[0], first), max(known[1], last)
