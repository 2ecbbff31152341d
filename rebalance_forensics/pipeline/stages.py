"""The two stages every engine runs: splits into rows, sorted rows into cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby
from operator import attrgetter

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_forensics import defects
from rebalance_forensics.diagnosis.case import GroupCase, investigate, investigate_unnamed
from rebalance_forensics.pipeline.case_rows import payload_of
from rebalance_forensics.pipeline.catalogs import catalog_of
from rebalance_forensics.pipeline.event_rows import event_of
from rebalance_forensics.pipeline.garbage_collection import seldom_collected
from rebalance_forensics.pipeline.read_split import BATCH_ROWS, Reading, read_split
from rebalance_forensics.pipeline.rows import Codec, dumps
from rebalance_forensics.pipeline.schemas import ORDER, ROWS, Kind, Row, batch_of, rows_of
from rebalance_forensics.pipeline.stats import Failure
from rebalance_forensics.sources.archives import held_open
from rebalance_forensics.sources.splits import Split
from rebalance_forensics.timeline.cluster_events import Surroundings
from rebalance_forensics.timeline.coverage import LogSpan, LogsRead, logs_read
from rebalance_forensics.timeline.unnamed_groups import UnnamedGroup

BATCH_CHARACTERS = 1 << 22
_SPANS = Codec()


def read_portion(splits: Iterable[Split], reading: Reading) -> Iterator[pa.RecordBatch]:
    """First stage: every event of some splits, and their counts."""
    catalog = catalog_of(reading.patterns)
    with held_open():
        for split in splits:
            yield from read_split(split, catalog, reading)


def in_order(batches: Iterable[pa.RecordBatch]) -> Sequence[pa.RecordBatch]:
    """The rows as the second stage wants them, without Spark."""
    table = pa.Table.from_batches(batches, ROWS)
    ordered = table.take(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in ORDER]))
    return list(ordered.to_batches(max_chunksize=BATCH_ROWS))


def investigate_rows(batches: Iterable[pa.RecordBatch], *, keep_events: bool = False) -> Iterator[pa.RecordBatch]:
    """Second stage: one case for each group of the shard; counts (and, if wanted, events) pass through.

    Groups come one after another, so only one group's events and the shared ones are held at a time.
    """
    with seldom_collected():
        yield from _in_batches(_results(chain.from_iterable(map(rows_of, batches)), keep_events=keep_events))


def _results(rows: Iterable[Row], *, keep_events: bool) -> Iterator[Row]:
    shared: dict[str | None, Surroundings] = defaultdict(Surroundings)
    logs: dict[str | None, LogsRead] = {}
    counted: Row | None = None
    for (_, kind, cluster, _group), together in groupby(rows, attrgetter("shard", "kind", "cluster", "group")):
        if kind == Kind.COUNTS:
            counted, told = _peeked(together)
            yield from told
            continue
        if kind == Kind.HEARD:
            logs[cluster] = logs_read(_SPANS.loads(LogSpan, row.payload) for row in together)
            shared[cluster] = Surroundings((), logs[cluster])
            continue
        first, known = _peeked(together)
        if keep_events:
            known = list(known)
            yield from known
        if kind == Kind.SHARED:
            try:
                shared[cluster] = Surroundings(map(event_of, known), logs.get(cluster, {}))
            except Exception as error:  # noqa: BLE001 - whatever it was, the groups' own lines are there
                yield _failed(first, error)
        else:
            yield _investigated(first, partial(investigate, events=map(event_of, known), shared=shared[cluster]))
    if counted is not None:  # of all shards the first one has the counts
        yield from _unnamed(counted, shared)


def _unnamed(counted: Row, shared: Mapping[str | None, Surroundings]) -> Iterator[Row]:
    """The cases of groups that no line names; which of them belong to groups that others name, the report sorts out."""
    for cluster, around in shared.items():
        for unnamed in around.unnamed_groups.values():
            row = Row(shard=counted.shard, kind=Kind.EVENT, cluster=cluster, group=unnamed.name)
            yield _investigated(row, partial(_of_unnamed, unnamed=unnamed, shared=around))


def _of_unnamed(cluster: str, _group: str, *, unnamed: UnnamedGroup, shared: Surroundings) -> GroupCase:
    return investigate_unnamed(cluster, unnamed, shared)


def _peeked(rows: Iterator[Row]) -> tuple[Row, Iterable[Row]]:
    """The first row, and all of them."""
    first = next(rows)
    return first, chain([first], rows)


def _in_batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Many small rows a batch, and few large ones."""
    held: list[Row] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row.payload)
        if len(held) >= BATCH_ROWS or size >= BATCH_CHARACTERS:
            yield batch_of(held)
            held, size = [], 0
    if held:
        yield batch_of(held)


def _investigated(first: Row, investigated: Callable[[str, str], GroupCase]) -> Row:
    """The case of one group; one that cannot be made must not take the other groups' cases with it."""
    assert first.cluster is not None
    assert first.group is not None
    try:
        case = investigated(first.cluster, first.group)
        return first._replace(kind=Kind.CASE, payload=payload_of(case))
    except Exception as error:  # noqa: BLE001 - whatever it was, it is reported as a failure of this group
        return _failed(first, error)


def _failed(first: Row, error: Exception) -> Row:
    assert first.cluster is not None
    failure = Failure(cluster=first.cluster, group=first.group, error=defects.told(error))
    return first._replace(kind=Kind.FAILURE, payload=dumps(failure))
