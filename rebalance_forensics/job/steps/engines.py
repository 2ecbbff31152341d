"""Runs the steps of a job on Spark or in this process: the same functions on the same Arrow batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_forensics.job.steps.findings import Findings, write_findings
from rebalance_forensics.job.steps.investigation import Investigation, investigate_shards
from rebalance_forensics.job.steps.partitioning import DEALT, DEALT_ORDER, Deal, deal_task
from rebalance_forensics.job.steps.scan_step import Scan, TableScan, scan_rows, scan_task
from rebalance_forensics.pipeline.inputs.file_probe import (
    Probe,
    ProbeResult,
    combined,
    probe_locally,
    probe_result,
    run_probe_task,
)
from rebalance_forensics.pipeline.inputs.log_tables import CANONICAL, LogTable
from rebalance_forensics.pipeline.inputs.table_rows import Hour, arrow_batches, arrow_hours, spark_batches, spark_hours
from rebalance_forensics.pipeline.schemas import MESSAGES, TaskMessages, messages_in, spark_schema
from rebalance_forensics.pipeline.spark.engine import in_shards, tasks, watching
from rebalance_forensics.pipeline.spark.session import active_session, start_session
from rebalance_forensics.process.progress import Show, quiet
from rebalance_forensics.process.resources import cores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Minimum number of probe tasks for which a Spark stage is worth its start.
MIN_SPARK_PROBES = 32
Batches = Iterable[pa.RecordBatch]
LOOK, SCAN, EXPLAIN, WRITE = "look at files", "scan", "explain", "write findings"
"""The stages of a run that consist of tasks."""


@dataclass(frozen=True, slots=True)
class InProcess:
    """Runs all tasks one after another, for tests and machines without Java."""

    workers: int = 1
    show: Show = quiet

    def probe(self, probe: Probe) -> ProbeResult:
        """Open all new files and say what they are."""
        return probe_locally(probe)

    def scan(self, scan: Scan) -> TaskMessages:
        """Read all portions."""
        return self._reported(scan.sizes, partial(scan_task, scan), SCAN, "bytes")

    def hours(self, table: LogTable, since: int, until: int) -> list[Hour]:
        """What a table of logs holds of each hour between two times."""
        return arrow_hours(table, since, until)

    def scan_table(self, scan: TableScan) -> TaskMessages:
        """Read some hours of a table of logs."""
        return messages_in(scan_rows(arrow_batches(scan.table, scan.hours), scan))

    def investigate(self, deal: Deal, what: Investigation) -> TaskMessages:
        """Deal all events and investigate every group."""
        dealt = (batch for task in range(len(deal.portions)) for batch in deal_task(deal, task))
        table = pa.Table.from_batches(dealt, DEALT)
        order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in DEALT_ORDER])
        return messages_in(investigate_shards(self._shown(table.take(order)), what))

    def write_findings(self, what: Findings) -> TaskMessages:
        """Write the rows of what groups' cases hold."""
        return self._reported([1] * len(what.files), partial(write_findings, what), WRITE, "files")

    def _shown(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        done = 0
        for batch in rows.to_batches(max_chunksize=4096):
            yield batch
            done += batch.num_rows
            self.show(EXPLAIN, done, rows.num_rows, "events")

    def _reported(
        self, sizes: Sequence[int], run: Callable[[int], Iterator[pa.RecordBatch]], stage: str, unit: str
    ) -> TaskMessages:
        def batches() -> Iterator[pa.RecordBatch]:
            for task in range(len(sizes)):
                yield from run(task)
                self.show(stage, sum(sizes[: task + 1]), sum(sizes), unit)

        return messages_in(batches())


@dataclass(frozen=True, slots=True)
class OnSpark:
    """Runs each step as a Spark job, with one shuffle in the second; DataFrames only, for Spark Connect."""

    session: SparkSession
    workers: int
    show: Show = quiet

    def probe(self, probe: Probe) -> ProbeResult:
        """Open and profile all new files; a few are opened here, which is faster than starting Spark workers."""
        if len(probe.tasks) < MIN_SPARK_PROBES:
            return probe_locally(probe)
        sizes = [len(task) for task in probe.tasks]
        return combined(
            probe_result(text) for _, text in self._reported(sizes, partial(run_probe_task, probe), LOOK, "files")
        )

    def scan(self, scan: Scan) -> TaskMessages:
        """Read all portions."""
        return self._reported(scan.sizes, partial(scan_task, scan), SCAN, "bytes")

    def hours(self, table: LogTable, since: int, until: int) -> list[Hour]:
        """What a table of logs holds of each hour between two times."""
        return spark_hours(self.session, table, since, until)

    def scan_table(self, scan: TableScan) -> TaskMessages:
        """Read some hours of a table of logs."""

        def read(batches: Batches) -> Iterator[pa.RecordBatch]:
            canonical = (pa.Table.from_batches([batch]).cast(CANONICAL).to_batches() for batch in batches)
            return scan_rows((part for parts in canonical for part in parts), scan)

        rows = spark_batches(self.session, scan.table, scan.hours)
        return messages_in(rows.mapInArrow(read, spark_schema(MESSAGES)).toArrow().to_batches())

    def investigate(self, deal: Deal, what: Investigation) -> TaskMessages:
        """Deal all events and investigate every group."""
        dealt = tasks(self.session, len(deal.portions), partial(deal_task, deal), DEALT)
        ordered = in_shards(dealt, len(deal.shards.keys), DEALT_ORDER)
        found = ordered.mapInArrow(lambda batches: investigate_shards(batches, what), spark_schema(MESSAGES))
        number = len(deal.portions) + len(deal.shards.keys)
        with watching(self.session, number, lambda done: self.show(EXPLAIN, done, number, "tasks")):
            return messages_in(found.toArrow().to_batches())

    def write_findings(self, what: Findings) -> TaskMessages:
        """Write the rows of what groups' cases hold."""
        return self._reported([1] * len(what.files), partial(write_findings, what), WRITE, "files")

    def _reported(
        self, sizes: Sequence[int], run: Callable[[int], Iterator[pa.RecordBatch]], stage: str, unit: str
    ) -> TaskMessages:
        number, total = len(sizes), sum(sizes)
        with watching(self.session, number, lambda done: self.show(stage, total * done // number, total, unit)):
            return messages_in(tasks(self.session, number, run, MESSAGES).toArrow().to_batches())


JobEngine = InProcess | OnSpark
"""Runs the steps of a job; only the messages of tasks are returned to the driver."""


# Environment variables that are set if spark-submit, Spark Connect or Databricks has chosen the master.
_SUBMITTED = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "DATABRICKS_RUNTIME_VERSION")


@contextmanager
def engine_of(name: str, *, workers: int | None, java_home: str | None, show: Show = quiet) -> Iterator[JobEngine]:
    """The engine with this name; a Spark session that is started for it is stopped at the end."""
    if name == "local":
        yield InProcess(workers=workers or 1, show=show)
        return
    existing = _existing_session()
    session = existing or start_session(java_home)
    try:
        yield OnSpark(session=session, workers=workers or _parallelism(session), show=show)
    finally:
        if existing is None:
            session.stop()


def _existing_session() -> SparkSession | None:
    # The active session or that of spark-submit; None if the job runs outside Spark.
    running = active_session()
    if running is not None or not any(os.environ.get(name) for name in _SUBMITTED):
        return running
    from pyspark.sql import SparkSession  # noqa: PLC0415 - Spark only where it is asked for

    return SparkSession.builder.appName("rebalance-forensics").getOrCreate()


def _parallelism(session: SparkSession) -> int:
    # The number of parallel tasks; on Spark Connect, which does not expose it, the number of shuffle partitions.
    try:
        return int(session.sparkContext.defaultParallelism)
    except Exception:  # noqa: BLE001 - Spark Connect raises its own error class, which plain Spark may lack
        return int(session.conf.get("spark.sql.shuffle.partitions") or cores())
