"""What the stages found, put together from wherever they ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.pipeline.payloads import object_of
from rebalance_forensics.pipeline.schemas import Kind, is_one_of
from rebalance_forensics.pipeline.stats import Failure, SplitStats
from rebalance_forensics.process.garbage_collection import seldom_collected


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Counts, cases, failures, and the events if they were asked for; lines are counted as editors count them."""

    stats: tuple[SplitStats, ...]
    cases: tuple[GroupCase, ...]
    failures: tuple[Failure, ...]
    """By cluster and group."""
    events: pa.Table
    """Rows of ROWS, each event once."""


def results_of(rows: pa.Table, *, first_shard: int) -> Results:
    """What result rows hold; events that every shard has are taken from the first one."""
    with seldom_collected():
        cases = tuple(object_of(GroupCase, told) for told in _payloads(rows, Kind.CASE))
    return Results(
        stats=counts_of(rows), cases=cases, failures=_failures_of(rows), events=_events_of(rows, first_shard)
    )


def counts_of(rows: pa.Table) -> tuple[SplitStats, ...]:
    """What was counted in each split."""
    return tuple(object_of(SplitStats, text) for text in _payloads(rows, Kind.COUNTS))


def in_order_of_groups(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Each failure once: every shard repeats those that belong to no group."""
    return tuple(sorted(set(failures), key=lambda f: (f.cluster, f.group or "", f.error)))


def _failures_of(rows: pa.Table) -> tuple[Failure, ...]:
    return in_order_of_groups(object_of(Failure, text) for text in _payloads(rows, Kind.FAILURE))


def _events_of(rows: pa.Table, first_shard: int) -> pa.Table:
    shared = pc.and_(is_one_of("kind", [Kind.SHARED], rows), is_one_of("shard", [first_shard], rows))
    return rows.filter(pc.or_(is_one_of("kind", [Kind.EVENT], rows), shared))


def _payloads(rows: pa.Table, kind: Kind) -> Iterator[str]:
    """The payloads of the rows of one kind, one after another: together they may be half of the memory."""
    for batch in rows.select(["kind", "payload"]).to_batches():
        kinds = batch.column("kind").to_pylist()
        yield from (batch.column("payload")[place].as_py() for place, of in enumerate(kinds) if of == kind)
