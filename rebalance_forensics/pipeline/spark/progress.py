"""How far a Spark job is, in bytes: finished tasks, each for an equal share of the input."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from rebalance_forensics.pipeline.read_plan import ReadPlan

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

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
