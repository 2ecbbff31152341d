"""Assigns events to the dates and shards that investigate them; the unit of work is one group on one date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heapreplace
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_forensics.job.lake.intervals import Coverage
from rebalance_forensics.job.lake.layout import batches_of, partition_of
from rebalance_forensics.job.steps.scan_step import SCANNED
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.schemas import Kind
from rebalance_forensics.pipeline.stats import LinesBefore, SplitLines
from rebalance_forensics.pipeline.workload import hash_of, shard_keys
from rebalance_forensics.records import DAY_MS

DEALT = pa.schema(
    [("shard", pa.int32()), ("day", pa.int32()), ("kind", pa.int8()), *((field.name, field.type) for field in SCANNED)]
)
DEALT_ORDER = ("shard", "day", "kind", "cluster", "group", "ts", "path", "byte_offset")
"""A total order, except for events of the same line, which are interchangeable."""
# Starting a task takes as long as partitioning this many events.
_EVENTS_A_TASK = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """The dates of a run, and how far investigations look back and ahead."""

    written: tuple[int, ...]
    """All dates whose events are rewritten."""
    investigated: frozenset[int]
    """The dates among them that are investigated."""
    coverage: Coverage
    lookback_ms: int
    lookahead_ms: int

    def window(self, day: int) -> tuple[int, int]:
        """Start and end, in epoch microseconds, of the events in an investigation of the date."""
        if day not in self.investigated:
            return day * DAY_MS * 1000, (day + 1) * DAY_MS * 1000
        return (day * DAY_MS - self.lookback_ms) * 1000, ((day + 1) * DAY_MS + self.lookahead_ms) * 1000

    @property
    def read(self) -> frozenset[int]:
        """The dates whose stored events are needed."""
        spans = (self.window(day) for day in self.written)
        return frozenset(day for a, b in spans for day in range(a // (DAY_MS * 1000), -(-b // (DAY_MS * 1000))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shards:
    """The shards of each date: consecutive, and proportional to its share of all events."""

    # If all shards investigated groups of all dates, each event without a group would be copied to all of them.

    keys: tuple[int, ...]
    places: Mapping[int, tuple[int, int]]
    """Date -> the number of events on all earlier dates, and on the date itself."""
    events: int

    @classmethod
    def of(cls, days: Days, events: Mapping[int, int], number: int) -> Shards:
        """Distribute `number` shards over the dates; `events`: date -> number of events."""
        seen = [
            1 + sum(events.get(day, 0) for day in range(days.window(written)[0] // (DAY_MS * 1000), written + 1))
            for written in days.written
        ]
        before = accumulate(seen, initial=0)
        places = dict(zip(days.written, zip(seen, before, strict=False), strict=True))
        return cls(keys=shard_keys(number), places=places, events=sum(seen))

    def of_date(self, day: int) -> Sequence[int]:
        """All shards of a date."""
        seen, before = self.places[day]
        return self.keys[self._place(before) : self._place(before + seen - 1) + 1]

    def of_group(self, cluster: str, group: str, day: int) -> int:
        """The shard of a group on a date."""
        seen, before = self.places[day]
        # The low bits of a checksum are distributed more evenly than the high bits.
        even = int.from_bytes(hash_of(cluster, group).to_bytes(4, "little"), "big")
        return self.keys[self._place(before + (seen * even >> 32))]

    def _place(self, event: int) -> int:
        return event * len(self.keys) // self.events


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A task's share of a file: every `parts`-th batch, starting at `part`."""

    path: str
    part: int
    parts: int


def dealt_by_rows(files: Mapping[str, int], tasks: int) -> tuple[tuple[Share, ...], ...]:
    """Distribute files over tasks by rows, largest first to the least loaded task; large files are divided."""
    total = sum(files.values())
    number = max(min(tasks, -(-total // _EVENTS_A_TASK)), 1)
    most = max(-(-total // number), 1)
    weighed = [
        (rows / parts, Share(path=path, part=part, parts=parts))
        for path, rows in files.items()
        for parts in [max(-(-rows // most), 1)]
        for part in range(parts)
    ]
    loads = [(0.0, task) for task in range(min(number, len(weighed)))]
    portions: list[list[Share]] = [[] for _ in loads]
    for rows, share in sorted(weighed, key=lambda each: (-each[0], each[1].path, each[1].part)):
        load, least = loads[0]
        portions[least].append(share)
        heapreplace(loads, (load + rows, least))
    return tuple(map(tuple, portions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Deal:
    """The input of a partitioning task."""

    store: Store
    portions: tuple[tuple[Share, ...], ...]
    """For each task, its shares of event files: scanned by this run, or in the tables."""
    days: Days
    shards: Shards
    forgotten: Mapping[str, int]
    """File id -> the offset from which the file was rescanned: its stored events from there on are discarded."""
    file_ids: Mapping[str, str]
    """Path -> file id of the scanned files; events of other paths are discarded."""
    lines_of_splits: tuple[SplitLines, ...]
    """The line counts of files read in several splits, whose events have line numbers relative to the split."""


def deal_task(deal: Deal, task: int) -> Iterator[pa.RecordBatch]:
    """The events of one task's files, each once for every date whose investigation includes it."""
    before = LinesBefore(deal.lines_of_splits)
    windows = np.array([deal.days.window(day) for day in deal.days.written], np.int64).reshape(-1, 2).T
    for share in deal.portions[task]:
        known = partition_of(share.path)
        read = (
            partial(_of_table, cluster=known[2], forgotten=deal.forgotten) if known else partial(_fresh, before, deal)
        )
        for batch in batches_of(deal.store, share.path, part=share.part, parts=share.parts):
            events = read(batch).sort_by("ts")
            for kind, wanted in ((Kind.EVENT, pc.is_valid), (Kind.SHARED, pc.is_null)):
                of_kind = events.filter(wanted(events["group"]))
                # Sorted, the events for a date are a slice of the batch: a first run may write hundreds of dates.
                begins, ends = np.searchsorted(of_kind["ts"].cast(pa.int64()).to_numpy(), windows)
                for day, begin, end in zip(deal.days.written, begins.tolist(), ends.tolist(), strict=True):
                    if begin < end:
                        yield from _for_day(of_kind.slice(begin, end - begin), day, kind, deal)


def _of_table(batch: pa.RecordBatch, *, cluster: str, forgotten: Mapping[str, int]) -> pa.Table:
    table = pa.Table.from_batches([batch]).rename_columns({"timestamp": "ts"})
    table = table.append_column("cluster", pa.array([cluster] * len(batch), pa.string()))
    if forgotten:
        table = table.filter(_is_kept(table, forgotten))
    return table.select(SCANNED.names).cast(SCANNED)


def _is_kept(table: pa.Table, forgotten: Mapping[str, int]) -> pa.ChunkedArray:
    # True for rows of files that were not rescanned, or before the rescanned part.
    which = pc.index_in(table["file_id"], pa.array(list(forgotten), pa.string()))
    begins = pc.take(pa.array(list(forgotten.values()), pa.int64()), which)
    return pc.fill_null(pc.less(table["byte_offset"], begins), fill_value=True)


def _fresh(before: LinesBefore, deal: Deal, batch: pa.RecordBatch) -> pa.Table:
    # Scanned rows with file ids, and line numbers counted from the start of the file.
    table = pa.Table.from_batches([batch], SCANNED)
    names = pc.index_in(table["path"], pa.array(list(deal.file_ids), pa.string()))
    ids = pc.coalesce(table["file_id"], pc.take(pa.array(list(deal.file_ids.values()), pa.string()), names))
    table = table.set_column(SCANNED.get_field_index("file_id"), "file_id", ids).filter(pc.is_valid(ids))
    places = zip(*(table[name].to_pylist() for name in ("path", "byte_offset", "line")), strict=True)
    lines = [line + before.at(path, offset) for path, offset, line in places]
    return table.set_column(SCANNED.get_field_index("line"), "line", pa.array(lines, pa.int64()))


def _for_day(seen: pa.Table, day: int, kind: Kind, deal: Deal) -> Iterator[pa.RecordBatch]:
    # Events with a group go to the shard of their group, events without one to every shard of the date.
    if kind == Kind.EVENT:
        pairs = list(zip(seen["cluster"].to_pylist(), seen["group"].to_pylist(), strict=True))
        known = {pair: deal.shards.of_group(*pair, day) for pair in set(pairs)}
        yield from _dealt(seen, day, kind, [known[pair] for pair in pairs])
        return
    shards = deal.shards.of_date(day)
    for shard in shards if day in deal.days.investigated else shards[:1]:
        yield from _dealt(seen, day, kind, [shard] * seen.num_rows)


def _dealt(events: pa.Table, day: int, kind: Kind, shards: list[int]) -> Iterator[pa.RecordBatch]:
    rows = events.num_rows
    columns = [
        pa.array(shards, pa.int32()),
        pa.array([day] * rows, pa.int32()),
        pa.array([int(kind)] * rows, pa.int8()),
        *(events[name] for name in SCANNED.names),
    ]
    yield from pa.Table.from_arrays(columns, schema=DEALT).to_batches()
