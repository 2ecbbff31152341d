"""First step of a job: the fresh files, dealt to tasks, and their events, as they are read, into waiting files."""

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

# A task is worth starting for this much; small files are read many in one.
TASK_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """What is read, and of logs that have grown what was read of them before."""

    reads: ReadPlan
    sights: tuple[Sight, ...] = ()
    """Of the files that are read, in their order."""
    settled: dict[str, Settled] = field(default_factory=dict)
    """By path."""

    @property
    def forgotten_from(self) -> dict[str, int]:
        """By path, the place from which on a file is read."""
        return {file.path: of.until if (of := self.settled.get(file.path)) else 0 for file in self.reads.files}

    def without(self, paths: Collection[str], workers: int) -> ReadPlan:
        """What there is to read beside some files."""
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
    """Deal the fresh files, each from where it was settled."""
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
    # Where to continue: only in the same file under the same name, read in the same way.
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
"""By path and date, the first and last time of its events."""
_COLUMNS = ("cluster", "group", "ts", "path", "byte_offset", "line", "event", "pattern", "payload")
SCANNED = pa.schema([*(ROWS.field(name) for name in _COLUMNS), ("file_id", pa.string())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Everything a scanning task needs; of the plan only where its own portion stands."""

    # The portions of 10,000 files took each of 128 tasks 0.18 s to unpickle, 23 s together.

    store: Store
    work: str
    reading: Reading
    sizes: tuple[int, ...]
    """What each portion has to read, as it is stored."""
    portions: str
    """The file of all portions."""
    ends: tuple[int, ...]
    """Where in it each one ends."""
    digests: tuple[bytes, ...]

    @classmethod
    def of(cls, plan: ReadPlan, store: Store, work: str) -> Scan:
        """Lay out the portions of a plan for its tasks."""
        # Names of files may hold bytes that are no text, which JSON has no place for.
        each, path = list(map(pickle.dumps, plan.portions)), f"{work}/portions-{uuid4().hex[:8]}"
        store.write(path, b"".join(each))
        return cls(
            store=store, work=work, reading=plan.reading, portions=path,
            sizes=tuple(sum(map(weight, portion)) for portion in plan.portions),
            ends=tuple(accumulate(map(len, each))), digests=tuple(sha256(portion).digest() for portion in each),
        )  # fmt: skip

    def portion(self, task: int) -> tuple[Split, ...]:
        """What a task reads."""
        begin = self.ends[task - 1] if task else 0
        with self.store.open(self.portions) as stream:
            stream.seek(begin)
            pickled = stream.read(self.ends[task] - begin)
        if sha256(pickled).digest() != self.digests[task]:
            raise OSError(f"{self.store.uri}/{self.portions} is not what this run has written")
        portion: tuple[Split, ...] = pickle.loads(pickled)  # noqa: S301 - known by its digest
        return portion


@dataclass(frozen=True, slots=True, kw_only=True)
class TableScan:
    """Everything a task needs that reads rows of a table; `hours` are those that are new."""

    table: LogTable
    hours: tuple[int, ...]
    reading: Reading
    store: Store
    work: str


def scan_task(scan: Scan, task: int) -> Iterator[pa.RecordBatch]:
    """Read one portion; the counts of its splits, and the dates its events are of, go to the driver."""
    open_remote_with(open_location)
    yield from keep_events(read_portion(scan.portion(task), scan.reading), scan.store, scan.work, unnamed)


def scan_rows(batches: Iterable[pa.RecordBatch], scan: TableScan) -> Iterator[pa.RecordBatch]:
    """Scan canonical rows of a table: events into waiting files, counts to the driver."""

    def named(events: pa.RecordBatch) -> pa.Array:
        times = events["ts"].cast(pa.int64()).to_pylist()
        return pa.array([hour_id(scan.table.hour(at // 1000)) for at in times], pa.string())

    yield from keep_events(read_rows(batches, scan.table, scan.reading), scan.store, scan.work, named)


def hour_id(hour: str) -> str:
    """What one hour of a table is known by, as a file is by its beginning."""
    return hashed("table", hour)


def unnamed(events: pa.RecordBatch) -> pa.Array:
    """Files are named later: the driver knows which is which."""
    return pa.nulls(events.num_rows, pa.string())


def keep_events(
    batches: Iterable[pa.RecordBatch], store: Store, work: str, file_ids: Callable[[pa.RecordBatch], pa.Array]
) -> Iterator[pa.RecordBatch]:
    """Events into a waiting file, all else to the driver."""
    spans: Spans = {}
    last: dict[str, int] = {}
    dates: Counter[int] = Counter()
    undated = 0
    messages: list[tuple[str, str]] = []
    # Spark may try a task twice, even at the same time; the driver hears of the file of one that was finished.
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
    """A line without a time takes that of the line before it in its log, as the timeline has it; `last` is by path."""
    # The tables keep events by date: without one it would be lost to every investigation.
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
    """Take in the times of events of one date; keys are text, for they travel as JSON."""
    days = spans.setdefault(path, {})
    known = days.get(day, (first, last))
    days[day] = min(known[0], first), max(known[1], last)
