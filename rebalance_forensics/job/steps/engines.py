"""The two steps of a job on Spark, or in this process: the same functions over the same Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_forensics.job.steps.investigation import Investigation, investigate_shards
from rebalance_forensics.job.steps.partitioning import DEALT, DEALT_ORDER, Deal, deal_task
from rebalance_forensics.job.steps.scan_step import Scan, TableScan, scan_rows, scan_task
from rebalance_forensics.pipeline.inputs.file_probe import Look, Looked, look_here, look_task, looked, together
from rebalance_forensics.pipeline.inputs.log_tables import CANONICAL, LogTable
from rebalance_forensics.pipeline.inputs.table_rows import Hour, arrow_batches, arrow_hours, spark_batches, spark_hours
from rebalance_forensics.pipeline.schemas import MESSAGES, TaskMessages, messages_in, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# So many looks at files are worth a stage of Spark's.
SPREAD_FROM = 32
T = TypeVar("T")
Batches = Iterable[pa.RecordBatch]
Stage = Callable[[Batches], Iterator[pa.RecordBatch]]


class JobEngine(Protocol):
    """Runs the steps; what tasks tell comes back, and nothing else."""

    @property
    def workers(self) -> int:
        """How many tasks run at once."""

    def look(self, look: Look) -> Looked:
        """Open all new files and say what they are."""

    def scan(self, scan: Scan) -> TaskMessages:
        """Read all portions."""

    def hours(self, table: LogTable, since: int, until: int) -> list[Hour]:
        """What a table of logs holds of each hour between two times."""

    def scan_table(self, scan: TableScan) -> TaskMessages:
        """Read some hours of a table of logs."""

    def investigate(self, deal: Deal, what: Investigation) -> TaskMessages:
        """Deal all events and investigate every group."""


@dataclass(frozen=True, slots=True)
class InProcess:
    """Everything one after another, for tests and machines without Java."""

    workers: int = 1

    def look(self, look: Look) -> Looked:
        """Open all new files and say what they are."""
        return look_here(look)

    def scan(self, scan: Scan) -> TaskMessages:
        """Read all portions."""
        return messages_in(batch for task in range(len(scan.plan.portions)) for batch in scan_task(scan, task))

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
        return messages_in(investigate_shards(table.take(order).to_batches(max_chunksize=4096), what))


@dataclass(frozen=True, slots=True)
class OnSpark:
    """One Spark job a step, one shuffle in the second; DataFrames only, so it runs on Spark Connect too."""

    session: SparkSession
    workers: int

    def look(self, look: Look) -> Looked:
        """Open all new files and say what they are; few are opened from here, sooner than Spark starts a worker."""
        if len(look.tasks) < SPREAD_FROM:
            return look_here(look)
        messages = self._collected(len(look.tasks), _each_task(look, look_task))
        return together(looked(text) for _, text in messages)

    def scan(self, scan: Scan) -> TaskMessages:
        """Read all portions."""
        return self._collected(len(scan.plan.portions), _each_task(scan, scan_task))

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
        from pyspark.sql import functions  # noqa: PLC0415 - Spark only where it is asked for

        def investigate_partition(batches: Batches) -> Iterator[pa.RecordBatch]:
            return investigate_shards(batches, what)

        tasks = len(deal.portions)
        order = [functions.col(name).asc_nulls_last() for name in DEALT_ORDER]
        dealt = self.session.range(0, tasks, 1, tasks).mapInArrow(_each_task(deal, deal_task), spark_schema(DEALT))
        sorted_ = dealt.repartition(len(deal.shards), "shard").sortWithinPartitions(*order)
        return messages_in(sorted_.mapInArrow(investigate_partition, spark_schema(MESSAGES)).toArrow().to_batches())

    def _collected(self, tasks: int, stage: Stage) -> TaskMessages:
        return messages_in(
            self.session.range(0, tasks, 1, tasks).mapInArrow(stage, spark_schema(MESSAGES)).toArrow().to_batches()
        )


def _each_task(what: T, run: Callable[[T, int], Iterator[pa.RecordBatch]]) -> Stage:
    """The stage that runs the tasks whose numbers come in."""

    def stage(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from run(what, task)

    return stage
