"""The stages on Spark: one job, one shuffle."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from rebalance_forensics.pipeline.options import Wanted
from rebalance_forensics.pipeline.read_plan import ReadPlan
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.results import Results, results_of
from rebalance_forensics.pipeline.schemas import ORDER, ROWS, spark_schema
from rebalance_forensics.pipeline.stages import in_order, investigate_rows, read_portion
from rebalance_forensics.sources.records.splits import Split

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import Column, DataFrame, SparkSession


Batches = Iterable[pa.RecordBatch]
Stage = Callable[[Batches], Iterator[pa.RecordBatch]]


def run_on_spark(
    session: SparkSession, plan: ReadPlan, wanted: Wanted, *, progress: Callable[[int, int], None]
) -> Results:
    """What the stages find, by way of Spark; `progress` gets the bytes done and of how many."""
    with watching(session, plan, progress):
        rows = deque(cases(session, plan, wanted).toArrow().cast(ROWS).to_batches())
    # Rows are let go as they are read: they are as large as what is made of them.
    return results_of((rows.popleft() for _ in range(len(rows))), first_shard=plan.reading.shards[0])


def event_rows(session: SparkSession, plan: ReadPlan) -> DataFrame:
    """The rows of the first stage: one task a portion."""
    tasks = len(plan.portions)
    return session.range(0, tasks, 1, tasks).mapInArrow(_reader(plan.portions, plan.reading), spark_schema())


def cases(session: SparkSession, plan: ReadPlan, wanted: Wanted) -> DataFrame:
    """The rows of the second stage, each group as a whole in one task."""
    if len(plan.portions) <= 1:
        # One worker reads everything: a shuffle would only move its rows to itself.
        whole = _whole(plan.portions, plan.reading, wanted)
        return session.range(0, 1, 1, 1).mapInArrow(whole, spark_schema())
    shards = len(plan.reading.shards)
    ordered = event_rows(session, plan).repartition(shards, "shard").sortWithinPartitions(*_order())
    return ordered.mapInArrow(investigator(wanted), spark_schema())


def _order() -> list[Column]:
    """ORDER with absent values last, as Arrow has them."""
    from pyspark.sql import functions  # noqa: PLC0415 - Spark only where it is asked for

    return [functions.col(name).asc_nulls_last() for name in ORDER]


def investigator(wanted: Wanted) -> Stage:
    """The second stage as Spark calls it."""

    def investigate_partition(batches: Batches) -> Iterator[pa.RecordBatch]:
        return investigate_rows(batches, wanted)

    return investigate_partition


def _reader(portions: tuple[tuple[Split, ...], ...], reading: Reading) -> Stage:
    def read_tasks(batches: Batches) -> Iterator[pa.RecordBatch]:
        for task in _numbers(batches):
            yield from read_portion(portions[task], reading)

    return read_tasks


def _whole(portions: tuple[tuple[Split, ...], ...], reading: Reading, wanted: Wanted) -> Stage:
    def read_and_investigate(batches: Batches) -> Iterator[pa.RecordBatch]:
        # Where there is nothing to read, there is no portion for the one task either.
        read = (
            batch
            for task in _numbers(batches)
            for portion in portions[task : task + 1]
            for batch in read_portion(portion, reading)
        )
        return investigate_rows(in_order(read), wanted)

    return read_and_investigate


def _numbers(batches: Batches) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


POLL_SECONDS = 0.2


@contextmanager
def watching(session: SparkSession, plan: ReadPlan, progress: Callable[[int, int], None]) -> Iterator[None]:
    """Report on the jobs that run inside the `with` block."""
    context = getattr(session, "sparkContext", None) if len(plan.portions) > 1 else None
    if context is None:
        yield
        return
    group, done = f"rebalance-forensics-{uuid4()}", threading.Event()
    context.setJobGroup(group, "rebalance-forensics analyze")
    watcher = threading.Thread(target=_poll, args=(context, group, plan, progress, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        context.setLocalProperty("spark.jobGroup.id", None)


def _poll(
    context: SparkContext, group: str, plan: ReadPlan, progress: Callable[[int, int], None], done: threading.Event
) -> None:
    status, total = context.statusTracker(), plan.total_bytes
    while not done.wait(POLL_SECONDS):
        stages = [
            info
            for job in status.getJobIdsForGroup(group)
            if (running := status.getJobInfo(job))
            for stage in running.stageIds
            if (info := status.getStageInfo(stage)) and info.numTasks == len(plan.portions)
        ]
        if stages:
            progress(total * max(info.numCompletedTasks for info in stages) // len(plan.portions), total)
