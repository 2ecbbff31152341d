"""The Spark session of a run: the one that is there, else one of our own."""

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
    """The settings of a session of our own, and why."""
    return {
        "spark.master": f"local[{workers}]",
        "spark.app.name": "rebalance-forensics",
        # The UI of a command that ends in seconds is of no use, and its port may be taken.
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Nothing of a local run listens to the network, and no host name has to resolve.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(workers),
        # The plan is known: one shuffle into as many shards as there are workers. Adaptive planning would
        # run it as two jobs and merge the shards again.
        "spark.sql.adaptive.enabled": "false",
        # Python does the work; compiling Java for the few rows around it takes longer than running it.
        "spark.sql.codegen.wholeStage": "false",
        # Events of a long run may exceed the default of 1 GB, and they are wanted all the same.
        "spark.driver.maxResultSize": "0",
        "spark.log.level": "ERROR",
    }


def active_session() -> SparkSession | None:
    """The session that this process (a notebook, a job) already has."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession  # noqa: PLC0415 - half a second that `patterns match` does not need

    return SparkSession.getActiveSession()


def start_session(java_home: str | None = None, workers: int | None = None, *, small: bool = False) -> SparkSession:
    """A local session on a JVM of our own; the terminal stays quiet. `small` input is read before a JIT pays."""
    java, workers = find_java(java_home), workers or cores()
    archive = archive_for(java)
    if archive.options():
        try:
            return session_on(launch(java, (*jvm_options(small=small), *archive.options())), workers)
        except InputError:
            if stop_signals.is_stopping():
                raise
            # An archive that was cut short or is not for this machine must not stand in the way of Spark.
            archive.path.unlink(missing_ok=True)
    return session_on(launch(java, jvm_options(small=small)), workers)


def jvm_options(*, small: bool) -> tuple[str, ...]:
    """Options of the JVM besides what Spark needs."""
    # One short job on few cores: a parallel collector only takes time to set up. The optimizing compiler pays
    # off when the JVM shuffles millions of rows, and delays it while it runs a few thousand.
    return ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1") if small else ("-XX:+UseSerialGC",)


def session_on(jvm: Booting, workers: int) -> SparkSession:
    """The session of a JVM that is on its way up."""
    import pandas  # noqa: F401, ICN001, PLC0415 - PySpark asks for it; imported while the JVM boots
    from pyspark.sql import SparkSession  # noqa: PLC0415

    port, secret = jvm.gateway()
    with _environment(
        PYSPARK_GATEWAY_PORT=str(port),
        PYSPARK_GATEWAY_SECRET=secret,
        # Workers run this interpreter; Spark would take the first python3 of the PATH.
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
    # Environment variables that hold for a moment; a notebook keeps its own.
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
