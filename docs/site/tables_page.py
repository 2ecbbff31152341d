"""docs/tables.md: behind its introduction a section for each table of the job, with columns, types and meanings."""

from __future__ import annotations

from pathlib import Path

from rebalance_forensics.pipeline.schemas import spark_type
from rebalance_forensics.pipeline.tables.schemas import PUBLIC, Table


def document() -> str:
    """The page with its introduction as it stands, and one section a table."""
    written = (Path(__file__).parents[1] / "tables.md").read_text(encoding="utf-8")
    sections = "\n".join(map(_section, PUBLIC.values()))
    return written[: written.index(f"\n{sections.partition(chr(10))[0]}\n") + 1] + sections


def _section(table: Table) -> str:
    lines = [f"## {table.name}", "", f"One row is {table.of}. Its `date` is that of {table.dated_by}.", ""]
    lines += ["| column | type | meaning |", "|---|---|---|"]
    for field in table.schema:
        meaning = field.metadata[b"doc"].decode()
        lines.append(f"| `{field.name}` | {spark_type(field.type)} | {meaning} |")
    return "\n".join(lines) + "\n"
