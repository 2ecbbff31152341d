"""The two stages that every engine runs: splits to events, and ordered events to cases.

Within one process they pass objects; between processes, rows (`schemas`).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from rebalance_forensics import defects
from rebalance_forensics.diagnosis.case import GroupCase, investigate, investigate_unnamed
from rebalance_forensics.events.base import Event
from rebalance_forensics.pipeline.catalogs import catalog_of
from rebalance_forensics.pipeline.options import WHOLE_CASES, Wanted
from rebalance_forensics.pipeline.read_split import Reading, read_split
from rebalance_forensics.pipeline.schemas import (
    BATCH_ROWS,
    LARGE_ROWS,
    ORDER,
    ROWS,
    Kind,
    Row,
    array_of,
    batch_of,
    event_of,
    object_of,
    origin_of,
    payload_of,
    row_of,
    rows_of,
)
from rebalance_forensics.pipeline.stats import Failure, LinesBefore, SplitLines, SplitStats
from rebalance_forensics.pipeline.workload import shard_of
from rebalance_forensics.process.resources import collecting_rarely
from rebalance_forensics.sources.files.archives import held_open
from rebalance_forensics.sources.records.splits import Split
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.coverage import LogSpan, LogsRead, logs_read

BATCH_CHARACTERS = 1 << 22
# As many parts as this are opened for the rows of one, at an average.
MOST_OPENED = 8


class Heard(NamedTuple):
    """The spans of time that the logs of one cluster cover."""

    cluster: str
    spans: Iterable[LogSpan]


class GroupEvents(NamedTuple):
    """The events of one group, oldest first; if `group` is None, the cluster's events that name no group."""

    cluster: str
    group: str | None
    events: Iterable[Event]


def read_portion(splits: Iterable[Split], reading: Reading) -> Iterator[pa.RecordBatch]:
    """First stage, as rows: every event of the splits, and their counts."""
    catalog = catalog_of(reading.patterns)
    with held_open():
        for split in splits:
            rows = _rows_of_split(split, read_split(split, catalog, reading), reading)
            while batch := list(islice(rows, BATCH_ROWS)):
                yield batch_of(batch)


def _rows_of_split(split: Split, read: Iterable[Event | SplitStats], reading: Reading) -> Iterator[Row]:
    for result in read:
        if isinstance(result, SplitStats):
            yield from _counted(result, split, reading)
        elif result.group is None:
            row = row_of(result, shard=0, split=split.index)
            yield from (row._replace(shard=shard) for shard in reading.first_shards)
        else:
            yield row_of(result, shard=shard_of(result.cluster, result.group, reading.shards), split=split.index)


def _counted(stats: SplitStats, split: Split, reading: Reading) -> Iterator[Row]:
    # The line count and the log's span go to every worker, even if the split has no Kafka line; then the counts.
    cluster = reading.cluster_of(stats.path)
    heard = Row(shard=0, kind=Kind.HEARD, cluster=cluster, path=stats.path, byte_offset=split.start)
    everywhere = [heard._replace(payload=payload_of(span)) for span in stats.heard]
    if split.is_part:
        lines = stats.split_lines
        everywhere.append(Row(shard=0, kind=Kind.LINES, path=lines.path, byte_offset=lines.start, line=lines.lines))
    yield from (row._replace(shard=shard) for row in everywhere for shard in reading.first_shards)
    yield Row(shard=reading.shards[0], kind=Kind.COUNTS, path=stats.path, payload=payload_of(stats))


def in_order(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in the order that the second stage needs, sorted without Spark; batches are built on demand."""
    parts = [batch for batch in batches if batch.num_rows]
    table = pa.Table.from_batches(parts, ROWS)
    places = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in ORDER])
    begins = np.cumsum([0, *(part.num_rows for part in parts)])
    slices = [_Slice(places.slice(begin, BATCH_ROWS), begins) for begin in range(0, len(places), BATCH_ROWS)]
    if sum(len(piece.parts) for piece in slices) <= MOST_OPENED * len(parts):
        del table
        yield from _from_parts(parts, slices, begins)
    else:
        # Rows of many groups in no order: each slice has rows of nearly every batch, so all are combined first.
        del parts
        table = table.cast(LARGE_ROWS).combine_chunks()
        for piece in slices:
            yield from table.take(piece.places).cast(ROWS).to_batches()
        del table
    # Return the memory of the rows before the groups are investigated.
    del places, slices
    pa.default_memory_pool().release_unused()


class _Slice:
    """Consecutive sorted rows: their positions in all batches, and the batches that contain them."""

    def __init__(self, places: pa.Array, begins: npt.NDArray[np.int64]) -> None:
        self.places = places
        self.numbers = np.frombuffer(places.buffers()[1], np.uint64)[places.offset :][: len(places)].astype(np.int64)
        self.parts = np.unique(np.searchsorted(begins, self.numbers, "right") - 1)


def _from_parts(
    parts: list[pa.RecordBatch], slices: Sequence[_Slice], begins: npt.NDArray[np.int64]
) -> Iterator[pa.RecordBatch]:
    # The rows of one group are nearly in order: few batches are open at a time; each is released with its last row.
    kept: dict[int, pa.RecordBatch] = dict(enumerate(parts))
    parts.clear()
    last = {part: number for number, piece in enumerate(slices) for part in piece.parts}
    for number, piece in enumerate(slices):
        opened = pa.Table.from_batches([kept[part] for part in piece.parts], ROWS).cast(LARGE_ROWS).combine_chunks()
        sizes = [kept[part].num_rows for part in piece.parts]
        moved = np.cumsum([0, *sizes[:-1]]) - begins[piece.parts]
        places = (
            piece.numbers + moved[np.searchsorted(piece.parts, np.searchsorted(begins, piece.numbers, "right") - 1)]
        )
        for part in piece.parts:
            if last[part] == number:
                del kept[part]
        yield from opened.take(array_of(places.tolist(), pa.int64())).cast(ROWS).to_batches()


def investigate_rows(batches: Iterable[pa.RecordBatch], wanted: Wanted = WHOLE_CASES) -> Iterator[pa.RecordBatch]:
    """Second stage, as rows: the case of each group of the shard; counts and, if wanted, events pass through."""
    # Rows are ordered by group, so that only the events of one group and the shared ones are in memory at a time.
    with collecting_rarely():
        yield from _in_batches(_results(chain.from_iterable(map(rows_of, batches)), wanted))


def investigated(
    parts: Iterable[Heard | GroupEvents], *, unnamed: Callable[[], bool], lanes: bool
) -> Iterator[GroupCase | Failure]:
    """Second stage: one case per group. Each cluster's log spans must come first, then its events without a group."""
    # `unnamed` is called at the end: only one shard reports the groups that no line names. `lanes`: whether histories
    # include swim lanes.
    shared: dict[str, UngroupedEvents] = defaultdict(UngroupedEvents)
    logs: dict[str, LogsRead] = {}
    for part in parts:
        if isinstance(part, Heard):
            logs[part.cluster] = logs_read(part.spans)
            shared[part.cluster] = UngroupedEvents((), logs[part.cluster])
        elif part.group is None:
            try:
                shared[part.cluster] = UngroupedEvents(part.events, logs.get(part.cluster, {}))
            except Exception as error:  # noqa: BLE001 - whatever it was, the groups can be investigated without
                yield Failure(cluster=part.cluster, group=None, error=defects.describe(error))
        else:
            by_cluster = shared[part.cluster].by_cluster(part.cluster, part.events)
            for cluster, ungrouped, grouped in by_cluster:
                investigation = partial(investigate, cluster, part.group, grouped, ungrouped, lanes=lanes)
                yield _investigated(cluster, part.group, investigation)
    if unnamed():
        yield from _unnamed(shared, lanes=lanes)


def _unnamed(shared: Mapping[str, UngroupedEvents], *, lanes: bool) -> Iterator[GroupCase | Failure]:
    # The cases of groups that no line names. The report drops those whose lines belong to a group with a name.
    by_cluster = (
        found for cluster, ungrouped in shared.items() for found in (ungrouped.clusters or {cluster: ungrouped}).items()
    )
    for cluster, ungrouped in by_cluster:
        for group in ungrouped.unnamed_groups.values():
            yield _investigated(
                cluster, group.name, partial(investigate_unnamed, cluster, group, ungrouped, lanes=lanes)
            )


def _investigated(cluster: str, group: str, investigation: Callable[[], GroupCase]) -> GroupCase | Failure:
    # The case of one group; a failure must not cost the other groups their cases.
    try:
        return investigation()
    except Exception as error:  # noqa: BLE001 - whatever it was, it is reported as a failure of this group
        return Failure(cluster=cluster, group=group, error=defects.describe(error))


def _results(rows: Iterable[Row], wanted: Wanted) -> Iterator[Row]:
    # Takes ordered rows; yields those that pass through unchanged and, between them, the cases.
    passed: list[Row] = []
    before = LinesBefore(())
    has_counts = False

    def parts() -> Iterator[Heard | GroupEvents]:
        nonlocal before, has_counts
        for (_, kind, cluster, group), together in groupby(rows, attrgetter("shard", "kind", "cluster", "group")):
            if kind == Kind.COUNTS:
                has_counts = True
                passed.extend(together)
            elif kind == Kind.LINES:
                before = LinesBefore(map(_split_lines, together))
            elif kind == Kind.HEARD:
                yield Heard(cluster, (object_of(LogSpan, row.payload) for row in together))
            elif wanted.events:
                known = [before.counted_on(row) for row in together]
                passed.extend(known)
                yield GroupEvents(cluster, group, map(event_of, known))
            else:
                yield GroupEvents(cluster, group, (event_of(before.counted_on(row)) for row in together))

    for found in map(_rows_of_result, investigated(parts(), unnamed=lambda: has_counts, lanes=wanted.lanes)):
        yield from passed
        passed.clear()
        yield from found
    yield from passed


def _split_lines(row: Row) -> SplitLines:
    start = origin_of(row)
    return SplitLines(start.path, start.byte_offset, start.line)


def _rows_of_result(found: GroupCase | Failure) -> Iterator[Row]:
    if isinstance(found, GroupCase):
        row = Row(shard=0, kind=Kind.CASE, cluster=found.history.cluster, group=found.history.group)
        try:
            # The incidents of one hot group may take gigabytes: each gets its own row and is freed once encoded.
            incidents, found = deque(found.incidents), replace(found, incidents=())
            while incidents:
                yield row._replace(kind=Kind.INCIDENT, payload=payload_of(incidents.popleft()))
            yield row._replace(payload=payload_of(found))
        except Exception as error:  # noqa: BLE001 - whatever it was, it is reported as a failure of this group
            found = Failure(cluster=found.history.cluster, group=found.history.group, error=defects.describe(error))
    if isinstance(found, Failure):
        yield Row(shard=0, kind=Kind.FAILURE, cluster=found.cluster, group=found.group, payload=payload_of(found))


def _in_batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    # Batches are limited by rows and by characters.
    waiting: list[Row] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += len(row.payload)
        del row  # it may be the whole history of a hot group
        if len(waiting) >= BATCH_ROWS or size >= BATCH_CHARACTERS:
            batch = batch_of(waiting)
            waiting, size = [], 0
            yield batch
            del batch
    if waiting:
        yield batch_of(waiting)
