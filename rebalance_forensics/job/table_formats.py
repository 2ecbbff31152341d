"""The tables as Delta or Iceberg tables: what a run replaced in Parquet is brought in here, one transaction a table.

What is to be done becomes known together with the Parquet tables, so that a run that is killed in between is made good
by the next one; doing it twice leaves the same rows. `events`, which has no ids and most of the rows, is replaced by
partitions; the other tables are merged by their ids, so that only rows that differ are written.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rebalance_forensics.job.lake.intervals import date_text
from rebalance_forensics.job.lake.journal import Journal
from rebalance_forensics.job.lake.layout import Partition, partition_of, undamaged
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.pipeline.inputs.stores import Store, first_line
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.schemas import EVENTS, INPUTS, PUBLIC, Table, column_types, ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OUTBOX = "_lake"
PARTITIONS = ("date", "cluster")
PACKAGES = {"delta": "io.delta:delta-spark_2.13", "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13"}
_VIEW = "_rebalance_rows"
# The name of the Iceberg catalog of the output's directories, where no other is named; `iceberg` is one of them.
_OURS = "rebalance_forensics"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkTables:
    """Where the tables are, and in which format."""

    session: SparkSession
    store: Store
    kind: str
    catalog: str | None

    @classmethod
    def of(cls, session: SparkSession, options: JobOptions) -> SparkTables:
        """The tables of a run; refused before anything is written where Spark does not know the format."""
        tables = cls(session=session, store=options.store, kind=options.table_format, catalog=options.catalog)
        if tables.kind == "iceberg" and not tables.catalog:
            name = f"spark.sql.catalog.{_OURS}"
            session.conf.set(name, "org.apache.iceberg.spark.SparkCatalog")
            session.conf.set(f"{name}.type", "hadoop")
            session.conf.set(f"{name}.warehouse", tables.store.hadoop_name)
        tables.refuse_unknown()
        return tables

    def refuse_unknown(self) -> None:
        """A format or a catalog that the session lacks."""
        try:
            if self.catalog:
                self.session.sql(f"SHOW TABLES IN {self.catalog}")
            elif self.kind == "iceberg":
                self.session.sql(f"SHOW NAMESPACES IN {_OURS}")
            else:
                # What is missed tells whether the format is known.
                self.session.read.format(self.kind).load(f"{self.store.hadoop_name}/{self.kind}/_probe")
        except Exception as error:
            if self.catalog or self.kind == "iceberg" or "DATA_SOURCE_NOT_FOUND" in str(error):
                problem = f"--table-format {self.kind}: {first_line(error)}"
                raise InputError(f"{problem}; give Spark the package ({PACKAGES[self.kind]}).") from error

    def name_of(self, table: Table) -> str:
        """The table, as SQL names it."""
        if self.catalog:
            return f"{self.catalog}.{table.name}"
        if self.kind == "iceberg":
            return f"{_OURS}.iceberg.{table.name}"
        return f"delta.`{self.store.hadoop_name}/delta/{table.name}`"


def note_replaced(journal: Journal) -> None:
    """Enter which partitions of which tables the run replaces."""
    places = sorted(d for d in journal.replaced if d.partition("/")[0] in PUBLIC)
    journal.write(f"{OUTBOX}/{journal.run}/partitions.json", json.dumps(places).encode())


def publish(tables: SparkTables) -> None:
    """Bring the tables up to what was noted; a table without rows is there too, for queries to find."""
    if tables.kind == "iceberg" and not tables.catalog:
        tables.session.sql(f"CREATE NAMESPACE IF NOT EXISTS {_OURS}.iceberg")
    runs = tables.store.directories(OUTBOX)
    places: set[str] = set()
    for path in (f"{OUTBOX}/{run}/partitions.json" for run in runs):
        if tables.store.kind(path) == "file":
            with undamaged(tables.store.uri, path):
                places.update(map(str, json.loads(tables.store.read(path))))
    by_table: dict[str, list[Partition]] = defaultdict(list)
    for place in sorted(places):
        known = partition_of(place)
        if known:
            by_table[known[0]].append((known[1], known[2]))
    for name, table in PUBLIC.items():
        try:
            _bring_up(tables, table, by_table[name])
        except Exception as error:
            raise InputError(
                f"the {tables.kind} table {tables.name_of(table)} could not be written: {first_line(error)}; "
                "the Parquet tables stand, and the next run makes up for it."
            ) from error
    for run in runs:
        tables.store.delete_tree(f"{OUTBOX}/{run}")


def _bring_up(tables: SparkTables, table: Table, partitions: Sequence[Partition]) -> None:
    name, session = tables.name_of(table), tables.session
    exists = _columns(session, name)
    if not exists:
        partitioned = f"USING {tables.kind} PARTITIONED BY ({', '.join(PARTITIONS)})"
        session.sql(f"CREATE TABLE IF NOT EXISTS {name} ({ddl(table)}) {partitioned}")
    elif missing := [f"`{column}` {kind}" for column, kind in column_types(table).items() if column not in exists]:
        session.sql(f"ALTER TABLE {name} ADD COLUMNS ({', '.join(missing)})")
    if exists and not partitions:
        return
    # A new table takes in what earlier runs left in Parquet too.
    where = condition(partitions) if exists else "true"
    rows = _rows(tables, table).where(where).select(*column_types(table), *PARTITIONS)
    if table is EVENTS or not exists:
        from pyspark.sql import functions  # noqa: PLC0415 - Spark only where it is asked for

        rows.writeTo(name).overwrite(functions.expr(where))
    else:
        _merge(session, table, name, rows, partitions)


def _columns(session: SparkSession, name: str) -> list[str]:
    from pyspark.errors import AnalysisException  # noqa: PLC0415

    try:
        return list(session.table(name).columns)
    except AnalysisException:
        return []


def _rows(tables: SparkTables, table: Table) -> DataFrame:
    if tables.store.kind(table.name) == "nothing":
        return tables.session.createDataFrame([], ddl(table))
    return tables.session.read.schema(ddl(table)).parquet(f"{tables.store.hadoop_name}/{table.name}")


def _merge(session: SparkSession, table: Table, name: str, rows: DataFrame, partitions: Sequence[Partition]) -> None:
    # Rows that are new in, those that differ changed, those that are gone out; only some partitions are looked at.
    keys = [*PARTITIONS, *(("path", "file_id") if table is INPUTS else ("id",))]
    columns = ", ".join(f"`{column}`" for column in rows.columns)
    cells = [column for column in column_types(table) if column not in keys]
    same = " AND ".join(f"t.`{column}` <=> s.`{column}`" for column in cells)
    alike = " AND ".join(f"t.`{key}` = s.`{key}`" for key in keys)
    rows.dropDuplicates(keys).createOrReplaceTempView(_VIEW)
    clauses = (
        f"MERGE INTO {name} t USING (SELECT {columns}, false AS gone FROM {_VIEW}",  # noqa: S608 - names are ours,
        f"UNION ALL SELECT {columns}, true FROM {name} t LEFT ANTI JOIN {_VIEW} s",  # noqa: S608 - values are quoted
        f"ON {alike} WHERE {condition(partitions)}) s",
        f"ON ({condition(partitions, 't.')}) AND {alike}",
        "WHEN MATCHED AND s.gone THEN DELETE",
        f"WHEN MATCHED AND NOT ({same}) THEN UPDATE SET {', '.join(f't.`{c}` = s.`{c}`' for c in cells)}",
        f"WHEN NOT MATCHED AND NOT s.gone THEN INSERT ({columns})",
        f"VALUES ({', '.join(f's.`{c}`' for c in rows.columns)})",
    )
    session.sql("\n".join(clauses))
    session.catalog.dropTempView(_VIEW)


def condition(partitions: Iterable[Partition], of: str = "") -> str:
    """The partitions in SQL; `of` is the table's name in it, with a point."""
    days: dict[str, list[int]] = defaultdict(list)
    for day, cluster in partitions:
        days[cluster].append(day)
    return " OR ".join(
        f"({of}cluster = '{_quoted(cluster)}' AND {of}date IN ({', '.join(map(_date, sorted(dates)))}))"
        for cluster, dates in sorted(days.items())
    )


def _date(day: int) -> str:
    return f"DATE'{date_text(day)}'"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
