"""The tables as Delta tables: the partitions that a run replaced, replaced there too, in one transaction a table.

What is to be done becomes known together with the Parquet tables, so that a run that is killed in between is made good
by the next one; doing it twice leaves the same rows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.describing import ddl
from rebalance_forensics.pipeline.tables.intervals import date_text
from rebalance_forensics.pipeline.tables.journal import FILES, Journal
from rebalance_forensics.pipeline.tables.layout import Partition, partition_of
from rebalance_forensics.pipeline.tables.schemas import PUBLIC, Table
from rebalance_forensics.pipeline.tables.stores import Store, first_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OUTBOX = "_delta"
DIRECTORY = "delta"


def note_replaced(store: Store, journal: Journal, work: str, run: str) -> None:
    """Enter which partitions of which tables the run replaces."""
    places = sorted(d for d in journal.replaced if d.partition("/")[0] in PUBLIC)
    path = f"{work}/{FILES}/{OUTBOX}/{run}/partitions.json"
    store.write(path, json.dumps(places).encode())
    journal.put(f"{OUTBOX}/{run}", path)


def publish(session: SparkSession, store: Store) -> None:
    """Bring the Delta tables up to what was noted; a table without rows is there too, for queries to find."""
    runs = store.directories(OUTBOX)
    noted = [f"{OUTBOX}/{run}/partitions.json" for run in runs]
    places = {place for path in noted if store.kind(path) == "file" for place in json.loads(store.read(path))}
    by_table: dict[str, list[Partition]] = defaultdict(list)
    for place in sorted(places):
        known = partition_of(place)
        if known:
            by_table[known[0]].append((known[1], known[2]))
    for name, table in PUBLIC.items():
        try:
            _replace(session, store, table, by_table[name])
        except Exception as error:
            raise InputError(
                f"the Delta table {DIRECTORY}/{name} could not be written: {first_line(error)}; the Parquet tables "
                "stand, and the next run makes up for it. "
                "Is Delta on Spark's class path (--packages io.delta:delta-spark_2.13)?"
            ) from error
    for run in runs:
        store.delete_tree(f"{OUTBOX}/{run}")


def _replace(session: SparkSession, store: Store, table: Table, partitions: Sequence[Partition]) -> None:
    exists = store.kind(f"{DIRECTORY}/{table.name}/_delta_log") != "nothing"
    if exists and not partitions:
        return
    # A new Delta table takes in what earlier runs left in Parquet too.
    where = condition(partitions) if exists else "true"
    writer = _rows(session, store, table).where(where).write.format("delta").partitionBy("date", "cluster")
    target = f"{store.hadoop_name}/{DIRECTORY}/{table.name}"
    if exists:
        writer = writer.option("replaceWhere", where)
    writer.mode("overwrite").save(target)


def _rows(session: SparkSession, store: Store, table: Table) -> DataFrame:
    if store.kind(table.name) == "nothing":
        return session.createDataFrame([], ddl(table))
    return session.read.schema(ddl(table)).parquet(f"{store.hadoop_name}/{table.name}")


def condition(partitions: Iterable[Partition]) -> str:
    """The partitions in SQL."""
    days: dict[str, list[int]] = defaultdict(list)
    for day, cluster in partitions:
        days[cluster].append(day)
    return " OR ".join(
        f"(cluster = '{_quoted(cluster)}' AND date IN ({', '.join(repr(date_text(day)) for day in sorted(of))}))"
        for cluster, of in sorted(days.items())
    )


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
