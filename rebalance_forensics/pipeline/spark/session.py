"""The Spark session of a run: the active one, or a new local one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.spark.class_archives import archive_for
from rebalance_forensics.pipeline.spark.java import find_java
from rebalance_forensics.pipeline.spark.jvm_launch import Booting, launch
from rebalance_forensics.process import stop_signals
from rebalance_forensics.process.resources import cores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def local_settings(workers: int) -> Mapping[str, str]:
    """The settings of a local session."""
    return {
        "spark.master": f"local[{workers}]",
        "spark.app.name": "rebalance-forensics",
        # The UI of a command that ends in seconds is of no use, and its port may be taken.
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A local run does not listen on the network, and needs no host name that resolves.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(workers),
        # The plan is fixed: one shuffle into as many shards as workers. Adaptive execution would run it as two jobs and
        # merge the shards again.
        "spark.sql.adaptive.enabled": "false",
        # Python does the work; generating and compiling code for the few rows takes longer than interpreting.
        "spark.sql.codegen.wholeStage": "false",
        # The events of a long run may exceed the default of 1 GB.
        "spark.driver.maxResultSize": "0",
        "spark.log.level": "ERROR",
    }


def active_session() -> SparkSession | None:
    """The active session of this process (a notebook, a job); None if there is none."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession  # noqa: PLC0415 - half a second that `patterns match` does not need

    return SparkSession.getActiveSession()


def start_session(java_home: str | None = None, workers: int | None = None, *, small: bool = False) -> SparkSession:
    """A local session on a new JVM. With `small`, the JVM runs without its optimizing compiler."""
    java, workers = find_java(java_home), workers or cores()
    archive = archive_for(java)
    if archive.options():
        try:
            return session_on(launch(java, (*jvm_options(small=small), *archive.options())), workers)
        except InputError:
            if stop_signals.is_stopping():
                raise
            # Spark must start even if the archive is truncated or from another machine.
            archive.path.unlink(missing_ok=True)
    return session_on(launch(java, jvm_options(small=small)), workers)


def jvm_options(*, small: bool) -> tuple[str, ...]:
    """Options of the JVM in addition to those that Spark needs."""
    # For one short job on few cores, a parallel collector only takes time to set up. The optimizing compiler pays off
    # for shuffles of millions of rows, and slows down those of a few thousand.
    return ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1") if small else ("-XX:+UseSerialGC",)


def session_on(jvm: Booting, workers: int) -> SparkSession:
    """A session on a JVM that was started."""
    import pandas  # noqa: F401, ICN001, PLC0415 - PySpark asks for it; imported while the JVM starts
    from pyspark.sql import SparkSession  # noqa: PLC0415

    port, secret = jvm.gateway()
    with _environment(
        PYSPARK_GATEWAY_PORT=str(port),
        PYSPARK_GATEWAY_SECRET=secret,
        # Workers run this interpreter; Spark would use the first python3 on the PATH.
        PYSPARK_PYTHON=sys.executable,
        PYSPARK_DRIVER_PYTHON=sys.executable,
    ):
        builder = SparkSession.builder
        for name, value in local_settings(workers).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    stop_signals.heed_again()
    return session


@contextmanager
def _environment(**settings: str) -> Iterator[None]:
    # Set environment variables for the block, and restore them for the notebook or job.
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
