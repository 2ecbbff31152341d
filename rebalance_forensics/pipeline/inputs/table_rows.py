"""Reads tables of logs as canonical rows: with Spark, for any catalog and format, or as plain Parquet without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from rebalance_forensics.pipeline.inputs.log_tables import CANONICAL, LogTable
from rebalance_forensics.pipeline.inputs.stores import checked_store, first_line
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.schemas import spark_type
from rebalance_forensics.records import HOUR_MS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_MICROS = 1000
_ZONED = r"(?i)(Z|UTC|[+-]\d\d:?\d\d)$"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Hour:
    """A summary of a table's rows of one hour, which shows whether they changed."""

    at: int
    """Epoch ms; -1 for the rows without a time."""
    rows: int
    mark: int

    @property
    def etag(self) -> str:
        """A value that changes when rows are added or removed."""
        return f"{self.rows}-{self.mark}"


def arrow_hours(table: LogTable, since: int, until: int) -> list[Hour]:
    """The hours of a Parquet table between two times."""
    times = _arrow_rows(table).column("time").cast(pa.int64())
    inside = pc.and_(pc.greater_equal(times, since * _MICROS), pc.less(times, until * _MICROS))
    ms = pc.divide(times.filter(inside), _MICROS)
    hours = pc.divide(ms, HOUR_MS)
    rest = pc.subtract(ms, pc.multiply(hours, HOUR_MS))
    grouped = pa.table({"hour": hours, "rest": rest}).group_by("hour").aggregate([("rest", "count"), ("rest", "sum")])
    found = [
        Hour(at=hour * HOUR_MS, rows=rows, mark=mark)
        for hour, rows, mark in zip(*(grouped[n].to_pylist() for n in ("hour", "rest_count", "rest_sum")), strict=True)
    ]
    return sorted([*found, *([Hour(at=-1, rows=times.null_count, mark=0)] if times.null_count else [])])


def arrow_batches(table: LogTable, hours: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """The rows of some hours of a Parquet table."""
    rows = _arrow_rows(table)
    of = pc.multiply(pc.divide(pc.divide(rows["time"].cast(pa.int64()), _MICROS), HOUR_MS), HOUR_MS)
    yield from rows.filter(pc.is_in(of, pa.array(hours, pa.int64()))).to_batches(max_chunksize=4096)


def _arrow_rows(table: LogTable) -> pa.Table:
    system, place = checked_store(table.name, role="--input").place()
    try:
        found = ds.dataset(place, filesystem=system, format="parquet", partitioning="hive")
        table.check(found.schema.names)
        read = found.to_table(columns={name: ds.field(*column.split(".")) for name, column in table.columns})
    except (OSError, pa.ArrowException) as error:
        problem = f"--input {table.name} cannot be read as Parquet: {first_line(error)}"
        raise InputError(f"{problem}; tables of other kinds want Spark.") from error
    mapped = dict(table.columns)
    columns = [
        _cast(read[f.name], f, table) if f.name in mapped else pa.nulls(read.num_rows, f.type) for f in CANONICAL
    ]
    return pa.Table.from_arrays(columns, schema=CANONICAL)


def _cast(column: pa.ChunkedArray, wanted: pa.Field, table: LogTable) -> pa.ChunkedArray:
    try:
        if wanted.name == "time" and pa.types.is_integer(column.type):
            column = column.cast(pa.timestamp("ms", tz="UTC"))
        elif wanted.name == "time" and pa.types.is_timestamp(column.type) and column.type.tz is None:
            column = pc.assume_timezone(column, "UTC")
        return column.cast(wanted.type, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"--input {table.name}: column {dict(table.columns)[wanted.name]} is no {wanted.name}: {first_line(error)}."
        ) from error


def spark_hours(session: SparkSession, table: LogTable, since: int, until: int) -> list[Hour]:
    """The hours of a table that Spark can read, between two times."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark only where it is asked for

    rows, ms = spark_rows(session, table), f.unix_millis("time")
    counted = (
        rows.where(f.isnull("time") | _between(since, until))
        .select(f.floor(ms / HOUR_MS).alias("hour"), (ms % HOUR_MS).alias("rest"))
        .groupBy("hour")
        .agg(f.count(f.lit(1)).alias("rows"), f.sum("rest").alias("mark"))
        .collect()
    )
    return sorted(
        Hour(at=-1 if row["hour"] is None else row["hour"] * HOUR_MS, rows=row["rows"], mark=row["mark"] or 0)
        for row in counted
    )


def spark_batches(session: SparkSession, table: LogTable, hours: Sequence[int]) -> DataFrame:
    """The rows of some hours of a table that Spark can read."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    wanted = f.lit(False)  # noqa: FBT003 - a literal of Spark's
    for begin, end in _merged_ranges(hours):
        wanted |= _between(begin, end)
    return spark_rows(session, table).where(wanted)


def _between(since: int, until: int) -> Column:
    # A condition that can be pushed down, so that files are skipped.
    from pyspark.sql import functions as f  # noqa: PLC0415

    time = f.col("time")
    return (time >= f.timestamp_millis(f.lit(since))) & (time < f.timestamp_millis(f.lit(until)))


def _merged_ranges(hours: Sequence[int]) -> list[tuple[int, int]]:
    # Consecutive hours merged into ranges.
    found: list[tuple[int, int]] = []
    for hour in sorted(hours):
        if found and found[-1][1] == hour:
            found[-1] = found[-1][0], hour + HOUR_MS
        else:
            found.append((hour, hour + HOUR_MS))
    return found


def spark_rows(session: SparkSession, table: LogTable) -> DataFrame:
    """A Spark table with the canonical columns."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    there = _spark_table(session, table)
    table.check(there.columns)
    mapped = dict(table.columns)
    kinds = {name: there.select(column).dtypes[0][1] for name, column in mapped.items()}
    columns = [
        _spark_time(mapped["time"], kinds["time"])
        if field.name == "time"
        else f.col(mapped[field.name]).cast(spark_type(field.type))
        if field.name in mapped
        else f.lit(None).cast(spark_type(field.type))
        for field in CANONICAL
    ]
    return there.select(*(c.alias(field.name) for c, field in zip(columns, CANONICAL, strict=True)))


def _spark_time(column: str, kind: str) -> Column:
    # The column as a timestamp; a text without a zone is read as UTC, not in the session's zone.
    from pyspark.sql import functions as f  # noqa: PLC0415

    given = f.col(column)
    if kind == "timestamp":
        return given
    if kind in ("bigint", "int"):
        return f.timestamp_millis(given)
    text = given.cast("string")
    return f.when(text.rlike(_ZONED), text).otherwise(f.concat(text, f.lit("Z"))).try_cast("timestamp")


def _spark_table(session: SparkSession, table: LogTable) -> DataFrame:
    # A table of the catalog, or a directory of Parquet, Delta or Iceberg.
    try:
        if "/" not in table.name:
            return session.table(table.name)
        store = checked_store(table.name, role="--input")
        kind = "delta" if store.kind("_delta_log") == "directory" else "parquet"
        kind = "iceberg" if store.kind("metadata") == "directory" else kind
        return session.read.format(kind).load(store.hadoop_name)
    except InputError:
        raise
    except Exception as error:
        problem = first_line(error)
        raise InputError(f"--input {table.name} is no table that Spark can read: {problem}; check the name.") from error
