"""The tables as documentation: docs/tables.md holds this text between its marks."""

from __future__ import annotations

import pyarrow as pa

from rebalance_forensics.pipeline.tables.schemas import PUBLIC, Table


def described() -> str:
    """One section a table."""
    return "\n".join(map(_section, PUBLIC.values()))


def column_types(table: Table) -> dict[str, str]:
    """The table's own columns, in Spark's words."""
    return {field.name: _type(field.type) for field in table.schema}


def ddl(table: Table) -> str:
    """The table's columns with its partitions, as Spark declares them."""
    columns = [f"`{name}` {kind}" for name, kind in column_types(table).items()]
    return ", ".join([*columns, "`date` date", "`cluster` string"])


def _section(table: Table) -> str:
    lines = [f"## {table.name}", "", f"One row is {table.of}. Its `date` is that of {table.dated_by}.", ""]
    lines += ["| column | type | meaning |", "|---|---|---|"]
    for field in table.schema:
        meaning = field.metadata[b"doc"].decode()
        lines.append(f"| `{field.name}` | {_type(field.type)} | {meaning} |")
    return "\n".join(lines) + "\n"


def _type(kind: pa.DataType) -> str:
    """A type in Spark's words."""
    if pa.types.is_list(kind):
        return f"array<{_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return (
            "struct<"
            + ", ".join(f"{kind.field(i).name}: {_type(kind.field(i).type)}" for i in range(kind.num_fields))
            + ">"
        )
    names = {"int64": "bigint", "int32": "int", "bool": "boolean", "double": "double", "string": "string"}
    return names.get(str(kind), "timestamp")
