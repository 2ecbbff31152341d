"""Runs the stages on Spark: one job with one shuffle."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from rebalance_forensics.pipeline.options import Wanted
from rebalance_forensics.pipeline.read_plan import ReadPlan
from rebalance_forensics.pipeline.results import Results, results_of
from rebalance_forensics.pipeline.schemas import ORDER, ROWS, spark_schema
from rebalance_forensics.pipeline.stages import in_order, investigate_rows, read_portion

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession


Batches = Iterable[pa.RecordBatch]


def run_on_spark(
    session: SparkSession, plan: ReadPlan, wanted: Wanted, *, progress: Callable[[int, int], None]
) -> Results:
    """The results of the stages on Spark; `progress` is called with the bytes done and the total."""
    total, tasks = plan.total_bytes, len(plan.portions)
    with watching(session, tasks, lambda done: progress(total * done // tasks, total)):
        rows = deque(cases(session, plan, wanted).toArrow().cast(ROWS).to_batches())
    # Rows are freed as they are read: they are as large as the results.
    return results_of((rows.popleft() for _ in range(len(rows))), first_shard=plan.reading.shards[0])


def tasks(
    session: SparkSession, number: int, run: Callable[[int], Iterable[pa.RecordBatch]], schema: pa.Schema = ROWS
) -> DataFrame:
    """The rows of `number` tasks; `run` is called with the number of each."""

    def stage(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from run(task)

    return session.range(0, number, 1, number).mapInArrow(stage, spark_schema(schema))


def in_shards(rows: DataFrame, shards: int, order: Sequence[str]) -> DataFrame:
    """The rows of each shard in one partition, in order, nulls last as in Arrow."""
    from pyspark.sql import functions  # noqa: PLC0415 - Spark only where it is asked for

    by = [functions.col(name).asc_nulls_last() for name in order]
    return rows.repartition(shards, "shard").sortWithinPartitions(*by)


def event_rows(session: SparkSession, plan: ReadPlan) -> DataFrame:
    """The rows of the first stage: one task per portion."""
    portions, reading = plan.portions, plan.reading
    return tasks(session, len(portions), lambda task: read_portion(portions[task], reading))


def cases(session: SparkSession, plan: ReadPlan, wanted: Wanted) -> DataFrame:
    """The rows of the second stage; all events of a group are in one task."""
    if len(plan.portions) <= 1:
        # One task reads everything, since a shuffle would only cost time. If there is nothing to read, there is no
        # portion.
        splits, reading = [split for portion in plan.portions for split in portion], plan.reading
        return tasks(session, 1, lambda _: investigate_rows(in_order(read_portion(splits, reading)), wanted))
    ordered = in_shards(event_rows(session, plan), len(plan.reading.shards), ORDER)
    return ordered.mapInArrow(lambda batches: investigate_rows(batches, wanted), spark_schema())


POLL_SECONDS = 0.2


@contextmanager
def watching(session: SparkSession, tasks: int, progress: Callable[[int], None]) -> Iterator[None]:
    """Report the completed tasks, at most `tasks`, of the jobs that run inside the `with` block."""
    context = getattr(session, "sparkContext", None) if tasks > 1 else None
    if context is None:
        yield
        return
    group, done = f"rebalance-forensics-{uuid4()}", threading.Event()
    context.setJobGroup(group, "rebalance-forensics")
    watcher = threading.Thread(target=_poll, args=(context, group, tasks, progress, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        context.setLocalProperty("spark.jobGroup.id", None)


def _poll(
    context: SparkContext, group: str, tasks: int, progress: Callable[[int], None], done: threading.Event
) -> None:
    status = context.statusTracker()
    while not done.wait(POLL_SECONDS):
        stages = [
            info
            for job in status.getJobIdsForGroup(group)
            if (running := status.getJobInfo(job))
            for stage in running.stageIds
            if (info := status.getStageInfo(stage))
        ]
        progress(min(tasks, sum(info.numCompletedTasks for info in stages)))
