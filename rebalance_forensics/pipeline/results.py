"""What the stages found, put together from wherever they ran."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_forensics.pipeline.cases import Cases, CasesInFile
from rebalance_forensics.pipeline.schemas import NO_ROWS, Kind, is_one_of, object_of
from rebalance_forensics.pipeline.stats import Failure, SplitStats
from rebalance_forensics.process.resources import collecting_rarely


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Counts, cases, failures, and the events if they were asked for; lines are counted as editors count them."""

    stats: tuple[SplitStats, ...]
    cases: Cases
    failures: tuple[Failure, ...]
    """By cluster and group."""
    events: pa.Table
    """Rows of ROWS, each event once."""


def results_of(batches: Iterable[pa.RecordBatch], *, first_shard: int) -> Results:
    """What result rows hold; events that every shard has are taken from the first one."""
    stats: list[SplitStats] = []
    cases = CasesInFile()
    failures: list[Failure] = []
    events: list[pa.Table] = []
    with collecting_rarely():
        for batch in batches:
            table = pa.Table.from_batches([batch])
            payloads = batch.column("payload")
            for place, kind in enumerate(batch.column("kind").to_pylist()):
                if kind == Kind.CASE:
                    cases.add(payloads[place].as_py())
                elif kind == Kind.COUNTS:
                    stats.append(object_of(SplitStats, payloads[place].as_py()))
                elif kind == Kind.FAILURE:
                    failures.append(object_of(Failure, payloads[place].as_py()))
            events.append(_events_of(table, first_shard))
    return Results(
        stats=tuple(stats),
        cases=cases,
        failures=in_order_of_groups(failures),
        events=pa.concat_tables([NO_ROWS, *(rows for rows in events if rows.num_rows)]),
    )


def in_order_of_groups(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Each failure once: every shard repeats those that belong to no group."""
    return tuple(sorted(set(failures), key=lambda f: (f.cluster, f.group or "", f.error)))


def _events_of(rows: pa.Table, first_shard: int) -> pa.Table:
    shared = pc.and_(is_one_of("kind", [Kind.SHARED], rows), is_one_of("shard", [first_shard], rows))
    return rows.filter(pc.or_(is_one_of("kind", [Kind.EVENT], rows), shared))
