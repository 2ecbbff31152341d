"""The sections of docs/tables.md: each table of the job with its columns, their types and meanings."""

from __future__ import annotations

from rebalance_forensics.pipeline.schemas import spark_type
from rebalance_forensics.pipeline.tables.schemas import PUBLIC, Table


def described() -> str:
    """One section a table."""
    return "\n".join(map(_section, PUBLIC.values()))


def _section(table: Table) -> str:
    lines = [f"## {table.name}", "", f"One row is {table.of}. Its `date` is that of {table.dated_by}.", ""]
    lines += ["| column | type | meaning |", "|---|---|---|"]
    for field in table.schema:
        meaning = field.metadata[b"doc"].decode()
        lines.append(f"| `{field.name}` | {spark_type(field.type)} | {meaning} |")
    return "\n".join(lines) + "\n"
