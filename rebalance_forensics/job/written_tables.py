"""The tables of the job for those who read them: the versions that one whole run left, all of the same moment."""

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
    """One table in one version."""

    edition: Edition
    table: Table

    @property
    def version(self) -> int | None:
        """The version in the table's Delta log; None if an earlier release wrote plain Parquet."""
        return self.edition.version_of(self.table)

    @property
    def uri(self) -> str:
        """Where the table lies, for readers of Delta."""
        return f"{self.edition.store.uri.rstrip('/')}/{self.table.name}"

    @property
    def files(self) -> list[str]:
        """The Parquet files of the version, as URIs, for readers that do not know Delta."""
        return [f"{self.edition.store.uri.rstrip('/')}/{path}" for path in self.edition.files(self.table)]

    @property
    def rows(self) -> int | None:
        """How many rows it has; None if an earlier release did not note it."""
        counts = [file.rows for file in self.edition.files(self.table).values()]
        return None if None in counts else sum(filter(None, counts))

    @property
    def bytes(self) -> int:
        """The size of its files."""
        return sum(file.size for file in self.edition.files(self.table).values())

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows, or some columns of them."""
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
        """All rows, or some columns of them."""
        frame: pd.DataFrame = self.to_arrow(columns).to_pandas()
        return frame

    def to_spark(self, session: SparkSession | None = None) -> DataFrame:
        """The rows as a DataFrame of the session that runs, or of another; Spark needs no package for it."""
        session = session or active_session()
        if session is None:
            raise InputError("no Spark session runs; pass one to to_spark(session).")
        return rows_on_spark(session, self.edition, self.table)


def rows_on_spark(session: SparkSession, edition: Edition, table: Table) -> DataFrame:
    """The rows of a table in one version, read by Spark as Parquet."""
    root, paths = edition.store.hadoop_name, list(edition.files(table))
    if not paths:
        return session.createDataFrame([], ddl(table))
    # Hadoop takes the name of a file for a URI: a %2F in it has to be escaped itself.
    names = [f"{root}/{quote(path, safe='/=') if '://' in root else path}" for path in paths]
    return session.read.schema(ddl(table)).option("basePath", f"{root}/{table.name}").parquet(*names)


@contextmanager
def _reading(table: WrittenTable) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, pa.ArrowException) as error:
        wrong, first = "is not there any more", ""
        if not isinstance(error, FileNotFoundError):
            # A run misses files that are not there or have another size.
            wrong, first = f"is damaged ({first_line(error)})", "delete it and "
        raise InputError(
            f"TABLES {table.edition.store.uri}: a file of version {table.version} of {table.table.name} {wrong}; take "
            f"the newest versions, and where these are the newest, {first}run the job again, which makes its rows anew."
        ) from error


class WrittenTables(Mapping[str, WrittenTable]):
    """The tables by name: `tables(OUTPUT)["incidents"].to_pandas()`. All are of one run, whatever runs meanwhile."""

    def __init__(self, edition: Edition) -> None:
        self.edition = edition

    def __getitem__(self, name: str) -> WrittenTable:
        """A table by its name."""
        return WrittenTable(self.edition, PUBLIC[name])

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(PUBLIC)

    def __len__(self) -> int:
        """How many there are."""
        return len(PUBLIC)

    @property
    def version(self) -> int | None:
        """The version of `runs`, whose commit names those of all others: `tables(OUTPUT, version=…)`."""
        return self.edition.version

    def __repr__(self) -> str:
        """The run, and the version of each table."""
        return f"<tables of run {self.edition.named.run}: {', '.join(f'{n} {t.version}' for n, t in self.items())}>"


def tables(output: str, version: int | None) -> WrittenTables:
    """What `rebalance_forensics.tables` gives."""
    edition = written_edition(output, version)
    if edition.version is None and not edition.known:
        raise InputError(f"TABLES {output}: no run of the job has finished; run it first.")
    return WrittenTables(edition)


def printed(arguments: Sequence[str]) -> str:
    """`job tables OUTPUT`: version, rows, files and place of each table, or all that and the files' names as JSON."""
    parser = Parser(
        prog="rebalance-forensics job tables",
        description="The versions of the tables that the last whole run wrote, for readers of them.",
        allow_abbrev=False,
    )
    parser.add_argument("output", metavar="OUTPUT", help="the --output of the job: a directory or a URI")
    parser.add_argument("--version", type=int, metavar="N", help="an earlier run: a version of the table runs")
    parser.add_argument("--json", action="store_true", help="as one JSON document, with the files of each version")
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
