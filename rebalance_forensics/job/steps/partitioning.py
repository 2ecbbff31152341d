"""Events dealt to the dates they matter for: the unit of work is one group on one date, with what surrounds it."""

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
"""A total order: two events of one line differ in nothing that matters."""
# A task takes as long to start as it takes to deal so many events.
_EVENTS_A_TASK = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """Which dates are worked on, and how far around each of them is looked."""

    written: tuple[int, ...]
    """All dates whose events are put in order."""
    investigated: frozenset[int]
    """Those among them that the coverage touches."""
    coverage: Coverage
    lookback_ms: int
    lookahead_ms: int

    def window(self, day: int) -> tuple[int, int]:
        """From and to, in epoch microseconds: what an investigation of the date sees."""
        if day not in self.investigated:
            return day * DAY_MS * 1000, (day + 1) * DAY_MS * 1000
        return (day * DAY_MS - self.lookback_ms) * 1000, ((day + 1) * DAY_MS + self.lookahead_ms) * 1000

    @property
    def read(self) -> frozenset[int]:
        """The dates whose known events are needed."""
        spans = (self.window(day) for day in self.written)
        return frozenset(day for a, b in spans for day in range(a // (DAY_MS * 1000), -(-b // (DAY_MS * 1000))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shards:
    """Which shards investigate which date: as many, side by side, as it has a share of all events."""

    # Were the groups of all dates dealt to all shards, each event without a group would be copied to all of them.

    keys: tuple[int, ...]
    places: Mapping[int, tuple[int, int]]
    """By date, its events and those of all dates before it."""
    events: int

    @classmethod
    def of(cls, days: Days, events: Mapping[int, int], number: int) -> Shards:
        """So many shards for dates that have so many events each."""
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
        # The last bits of a checksum are spread more evenly than the first.
        even = int.from_bytes(hash_of(cluster, group).to_bytes(4, "little"), "big")
        return self.keys[self._place(before + (seen * even >> 32))]

    def _place(self, event: int) -> int:
        return event * len(self.keys) // self.events


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What a dealing task reads of a file: each of so many parts takes turns."""

    path: str
    part: int
    parts: int


def dealt_by_rows(files: Mapping[str, int], tasks: int) -> tuple[tuple[Share, ...], ...]:
    """Files with so many rows each, dealt to tasks: a long one in parts, the heaviest first to the task with least."""
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
    """Everything a dealing task needs."""

    store: Store
    portions: tuple[tuple[Share, ...], ...]
    """Of files of events: just scanned, or of the tables."""
    days: Days
    shards: Shards
    forgotten: Mapping[str, int]
    """By file id, from which place on a file was scanned anew: what is known of it from there on no longer counts."""
    file_ids: Mapping[str, str]
    """By path, of the files that were scanned; what was read of others does not count."""
    lines_of_splits: tuple[SplitLines, ...]
    """Of files read in several splits: their events are numbered from the start of the split."""


def deal_task(deal: Deal, task: int) -> Iterator[pa.RecordBatch]:
    """The events of some files, each once for every date that needs it."""
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
                # In order, what a date sees of a batch is a slice: a first run may write hundreds of dates.
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
    # Which rows are of files that were not scanned anew, or stand before the part that was.
    which = pc.index_in(table["file_id"], pa.array(list(forgotten), pa.string()))
    begins = pc.take(pa.array(list(forgotten.values()), pa.int64()), which)
    return pc.fill_null(pc.less(table["byte_offset"], begins), fill_value=True)


def _fresh(before: LinesBefore, deal: Deal, batch: pa.RecordBatch) -> pa.Table:
    # Scanned rows, their files named and their lines counted from the start of the file.
    table = pa.Table.from_batches([batch], SCANNED)
    names = pc.index_in(table["path"], pa.array(list(deal.file_ids), pa.string()))
    ids = pc.coalesce(table["file_id"], pc.take(pa.array(list(deal.file_ids.values()), pa.string()), names))
    table = table.set_column(SCANNED.get_field_index("file_id"), "file_id", ids).filter(pc.is_valid(ids))
    places = zip(*(table[name].to_pylist() for name in ("path", "byte_offset", "line")), strict=True)
    lines = [line + before.at(path, offset) for path, offset, line in places]
    return table.set_column(SCANNED.get_field_index("line"), "line", pa.array(lines, pa.int64()))


def _for_day(seen: pa.Table, day: int, kind: Kind, deal: Deal) -> Iterator[pa.RecordBatch]:
    # What an investigation of this date sees; events without a group go to every shard of it.
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
