"""The Spark that a job runs on: that of spark-submit, else one of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rebalance_forensics.job.steps.engines import InProcess, JobEngine, OnSpark
from rebalance_forensics.pipeline.spark.session import active_session, start_session
from rebalance_forensics.process.resources import cores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Set where something else has chosen the master.
_SUBMITTED = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "DATABRICKS_RUNTIME_VERSION")


@contextmanager
def engine_of(name: str, *, tasks: int | None, java_home: str | None) -> Iterator[JobEngine]:
    """The engine that a run asked for; a session that was started for it ends with it."""
    if name == "local":
        yield InProcess(workers=tasks or 1)
        return
    given = _given_session()
    session = given or start_session(java_home)
    try:
        yield OnSpark(session=session, workers=tasks or _parallelism(session))
    finally:
        if given is None:
            session.stop()


def _given_session() -> SparkSession | None:
    """The session that is there, or the one of spark-submit; only a bare shell has none."""
    running = active_session()
    if running is not None or not any(os.environ.get(name) for name in _SUBMITTED):
        return running
    from pyspark.sql import SparkSession  # noqa: PLC0415 - Spark only where it is asked for

    return SparkSession.builder.appName("rebalance-forensics").getOrCreate()


def _parallelism(session: SparkSession) -> int:
    """Tasks at once; Spark Connect does not tell, its shuffle partitions are the next best."""
    try:
        return int(session.sparkContext.defaultParallelism)
    except Exception:  # noqa: BLE001 - Connect refuses in a class of its own, which plain Spark may lack
        return int(session.conf.get("spark.sql.shuffle.partitions") or cores())
