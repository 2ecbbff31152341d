"""The stages without Spark: in this process, or in as many as there are cores where there is much to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from functools import partial

import pyarrow as pa

from rebalance_forensics.pipeline.in_one_process import run_here
from rebalance_forensics.pipeline.read_plan import ReadPlan, weight
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.results import Results, results_of
from rebalance_forensics.pipeline.schemas import ROWS, is_one_of
from rebalance_forensics.pipeline.stages import in_order, investigate_rows, read_portion
from rebalance_forensics.pipeline.worker_processes import worker_processes
from rebalance_forensics.sources.splits import Split


def run_locally(plan: ReadPlan, *, keep_events: bool, progress: Callable[[int], None], processes: int = 1) -> Results:
    """What the stages find; `progress` is told the bytes done so far."""
    # A plan for little to read has one portion: other processes would still be starting when it is done.
    number = min(processes, len(plan.portions))
    if number <= 1:
        return run_here(plan, keep_events=keep_events, progress=progress)
    rows = _side_by_side(plan, number, keep_events=keep_events, progress=progress)
    return results_of(pa.Table.from_batches(rows, ROWS), first_shard=plan.reading.shards[0])


def _side_by_side(
    plan: ReadPlan, number: int, *, keep_events: bool, progress: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    with worker_processes(number) as pool:
        reads = {pool.submit(_read, portion, plan.reading): portion for portion in plan.portions}
        rows: list[pa.RecordBatch] = []
        done = 0
        for read in as_completed(reads):
            rows += read.result()
            done += sum(map(weight, reads.pop(read)))
            progress(done)
        table = pa.Table.from_batches(rows, ROWS)
        del rows
        shards = [table.filter(is_one_of("shard", [shard], table)).to_batches() for shard in plan.reading.shards]
        del table
        yield from (
            batch for results in pool.map(partial(_investigate, keep_events=keep_events), shards) for batch in results
        )


def _read(portion: Sequence[Split], reading: Reading) -> list[pa.RecordBatch]:
    return list(read_portion(portion, reading))


def _investigate(rows: Sequence[pa.RecordBatch], *, keep_events: bool) -> list[pa.RecordBatch]:
    return list(investigate_rows(in_order(rows), keep_events=keep_events))
