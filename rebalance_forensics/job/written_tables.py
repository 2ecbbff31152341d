"""The job's tables for readers: a consistent set of versions, as one complete run left them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa
import pyarrow.dataset as ds

from rebalance_forensics.job.arguments import Parser
from rebalance_forensics.job.lake.delta import PARTITIONS
from rebalance_forensics.job.lake.editions import Edition, written_edition
from rebalance_forensics.pipeline.inputs.stores import first_line
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.spark.session import active_session
from rebalance_forensics.pipeline.tables.schemas import PUBLIC, Table, ddl, with_partitions
from rebalance_forensics.report.plain_text import printable

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """A table in one version."""

    edition: Edition
    table: Table

    @property
    def version(self) -> int | None:
        """The version in the table's Delta log; None if an earlier release wrote plain Parquet."""
        return self.edition.version_of(self.table)

    @property
    def uri(self) -> str:
        """The location of the table, for Delta readers."""
        return f"{self.edition.store.uri.rstrip('/')}/{self.table.name}"

    @property
    def files(self) -> list[str]:
        """The URIs of the version's Parquet files, for readers without Delta support."""
        return [f"{self.edition.store.uri.rstrip('/')}/{path}" for path in self.edition.files(self.table)]

    @property
    def rows(self) -> int | None:
        """The number of rows; None if an earlier release did not record it."""
        counts = [file.rows for file in self.edition.files(self.table).values()]
        return None if None in counts else sum(filter(None, counts))

    @property
    def bytes(self) -> int:
        """The total size of the files."""
        return sum(file.size for file in self.edition.files(self.table).values())

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows, with all or some of the columns."""
        schema = with_partitions(self.table)
        paths = list(self.edition.files(self.table))
        if not paths:
            return schema.empty_table().select(columns or schema.names)
        system, root = self.edition.store.place()
        partitions = ds.partitioning(pa.schema([schema.field(name) for name in PARTITIONS]), flavor="hive")
        with _reading(self):
            found = ds.dataset(
                [f"{root.rstrip('/')}/{path}" for path in paths], schema=schema, filesystem=system, format="parquet",
                partitioning=partitions, partition_base_dir=f"{root.rstrip('/')}/{self.table.name}",
            )  # fmt: skip
            return found.to_table(columns)

    def to_pandas(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """All rows, with all or some of the columns."""
        frame: pd.DataFrame = self.to_arrow(columns).to_pandas()
        return frame

    def to_spark(self, session: SparkSession | None = None) -> DataFrame:
        """The rows as a DataFrame of this or the active Spark session, which needs no extra package."""
        session = session or active_session()
        if session is None:
            raise InputError("no Spark session runs; pass one to to_spark(session).")
        return rows_on_spark(session, self.edition, self.table)


def rows_on_spark(session: SparkSession, edition: Edition, table: Table) -> DataFrame:
    """The rows of a table in one version; Spark reads its files as Parquet."""
    root, paths = edition.store.hadoop_name, list(edition.files(table))
    if not paths:
        return session.createDataFrame([], ddl(table))
    # Hadoop parses file names as URIs, so a %2F in a name has to be escaped again.
    names = [f"{root}/{quote(path, safe='/=') if '://' in root else path}" for path in paths]
    return session.read.schema(ddl(table)).option("basePath", f"{root}/{table.name}").parquet(*names)


@contextmanager
def _reading(table: WrittenTable) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, pa.ArrowException) as error:
        problem, first = "no longer exists", ""
        if not isinstance(error, FileNotFoundError):
            # The job restores only files that are missing or have the wrong size.
            problem, first = f"is damaged ({first_line(error)})", "delete it and "
        raise InputError(
            f"TABLES {table.edition.store.uri}: a file of version {table.version} of {table.table.name} {problem}; "
            f"use the newest version, or if this is the newest, {first}run the job again to restore its rows."
        ) from error


class WrittenTables(Mapping[str, WrittenTable]):
    """The tables of one run by name: `tables(OUTPUT)["incidents"].to_pandas()`. Later runs do not change them."""

    def __init__(self, edition: Edition) -> None:
        self.edition = edition

    def __getitem__(self, name: str) -> WrittenTable:
        """The table with this name."""
        return WrittenTable(self.edition, PUBLIC[name])

    def __iter__(self) -> Iterator[str]:
        """The names of the tables."""
        return iter(PUBLIC)

    def __len__(self) -> int:
        """The number of tables."""
        return len(PUBLIC)

    @property
    def version(self) -> int | None:
        """The version of the table `runs`, whose commit records those of all others: `tables(OUTPUT, version=…)`."""
        return self.edition.version

    def __repr__(self) -> str:
        """The id of the run, and the version of each table."""
        return f"<tables of run {self.edition.named.run}: {', '.join(f'{n} {t.version}' for n, t in self.items())}>"


def tables(output: str, version: int | None) -> WrittenTables:
    """The tables after the last complete run, or after the run that wrote this `version` of `runs`."""
    edition = written_edition(output, version)
    if edition.version is None and not edition.known:
        raise InputError(f"TABLES {output}: no run of the job has finished; run it first.")
    return WrittenTables(edition)


def printed(arguments: Sequence[str]) -> str:
    """The output of `job tables OUTPUT`: version, rows, files and location of each table, as text or JSON."""
    parser = Parser(
        prog="rebalance-forensics job tables",
        description="Show the versions of the tables after the last complete run.",
        allow_abbrev=False,
    )
    parser.add_argument("output", metavar="OUTPUT", help="the --output of the job: a directory or a URI")
    parser.add_argument("--version", type=int, metavar="N", help="show an earlier run, by a version of the table runs")
    parser.add_argument("--json", action="store_true", help="print JSON, including the files of each version")
    asked = parser.parse_args(arguments)
    found = tables(asked.output, asked.version)
    if asked.json:
        described = {
            name: {"version": t.version, "uri": t.uri, "rows": t.rows, "bytes": t.bytes, "files": t.files}
            for name, t in found.items()
        }
        return json.dumps({"run": found.edition.named.run, "version": found.version, "tables": described})
    lines = [["table", "version", "rows", "files", "bytes", "where"]]
    for name, t in found.items():
        figures = ("-" if each is None else str(each) for each in (t.version, t.rows, len(t.files), t.bytes))
        lines.append([name, *figures, t.uri])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        printable(f"{name:<{widths[0]}}  {'  '.join(map(str.rjust, figures, widths[1:]))}  {where}")
        for name, *figures, where in lines
    )
