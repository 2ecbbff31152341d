"""Updates Iceberg tables, through Spark, to the table versions of the last run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rebalance_forensics.job.lake.editions import Edition, edition_of
from rebalance_forensics.job.lake.intervals import date_text
from rebalance_forensics.job.lake.layout import Partition
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.job.written_tables import rows_on_spark
from rebalance_forensics.pipeline.inputs.stores import Store, first_line
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.schemas import PUBLIC, Table, column_types, ddl

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE = "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13"
# The default Iceberg catalog: the output directory, in which the tables are below `iceberg`.
_DEFAULT_CATALOG = "rebalance_forensics"
_VERSION = "rebalance-forensics.version"


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergTables:
    """The Iceberg tables of an output; without `catalog` they are directories in it."""

    session: SparkSession
    store: Store
    catalog: str | None

    @classmethod
    def of(cls, session: SparkSession, options: JobOptions) -> IcebergTables:
        """The Iceberg tables of a run; InputError, before anything is written, if Spark lacks the Iceberg package."""
        tables = cls(session=session, store=options.store, catalog=options.catalog)
        if not tables.catalog:
            name = f"spark.sql.catalog.{_DEFAULT_CATALOG}"
            session.conf.set(name, "org.apache.iceberg.spark.SparkCatalog")
            session.conf.set(f"{name}.type", "hadoop")
            session.conf.set(f"{name}.warehouse", tables.store.hadoop_name)
        try:
            session.sql(
                f"SHOW TABLES IN {tables.catalog}" if tables.catalog else f"SHOW NAMESPACES IN {_DEFAULT_CATALOG}"
            )
        except Exception as error:
            problem = f"--table-format iceberg: {first_line(error)}"
            raise InputError(f"{problem}; give Spark the package ({_PACKAGE}).") from error
        return tables

    def name_of(self, table: Table) -> str:
        """The name of the table in SQL."""
        return f"{self.catalog or f'{_DEFAULT_CATALOG}.iceberg'}.{table.name}"


def publish(tables: IcebergTables) -> None:
    """Update all tables to the newest edition; tables without rows are created too, so that queries find them."""
    if not tables.catalog:
        tables.session.sql(f"CREATE NAMESPACE IF NOT EXISTS {_DEFAULT_CATALOG}.iceberg")
    edition = edition_of(tables.store)
    for table in PUBLIC.values():
        try:
            _update(tables, edition, table)
        except Exception as error:
            raise InputError(
                f"the Iceberg table {tables.name_of(table)} could not be written: {first_line(error)}; "
                "the Delta tables are complete, and the next run will update it."
            ) from error


def _update(tables: IcebergTables, edition: Edition, table: Table) -> None:
    name, session = tables.name_of(table), tables.session
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - Spark only where it is asked for
    from pyspark.sql import functions  # noqa: PLC0415

    try:
        exists = list(session.table(name).columns)
    except AnalysisException:
        exists = []
        session.sql(f"CREATE TABLE IF NOT EXISTS {name} ({ddl(table)}) USING iceberg PARTITIONED BY (date, cluster)")
    if exists and (missing := [f"`{c}` {kind}" for c, kind in column_types(table).items() if c not in exists]):
        session.sql(f"ALTER TABLE {name} ADD COLUMNS ({', '.join(missing)})")
    properties = {row["key"]: row["value"] for row in session.sql(f"SHOW TBLPROPERTIES {name}").collect()}
    version = edition.version_of(table)
    if properties.get(_VERSION) == str(version):
        return
    changed = _changed_since(edition, table, properties.get(_VERSION))
    where = "true" if changed is None else condition(changed)
    if where:
        # The partitions are replaced in one transaction; a run that is killed before it notes the version repeats it.
        rows = rows_on_spark(session, edition, table).where(where)
        rows.writeTo(name).overwrite(functions.expr(where))
    session.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{_VERSION}' = '{version}')")


def _changed_since(edition: Edition, table: Table, version: str | None) -> set[Partition] | None:
    # The partitions in which files were added or removed; None if unknown.
    try:
        before = edition.files_at(table, int(version or ""))
    except (ValueError, InputError):
        return None
    now = edition.files(table)
    files = {**before, **now}
    return {files[path].partition for path in before.keys() ^ now.keys()}


def condition(partitions: Iterable[Partition]) -> str:
    """The SQL condition for these partitions."""
    days: dict[str, list[int]] = defaultdict(list)
    for day, cluster in partitions:
        days[cluster].append(day)
    return " OR ".join(
        f"(cluster = '{_quoted(cluster)}' AND date IN ({', '.join(map(_date, sorted(dates)))}))"
        for cluster, dates in sorted(days.items())
    )


def _date(day: int) -> str:
    return f"DATE'{date_text(day)}'"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
