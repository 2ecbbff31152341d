"""The JSON Schema of the report, shipped with the program."""

from __future__ import annotations

from importlib import resources


def schema_text() -> str:
    """Read the schema (JSON Schema 2020-12)."""
    return resources.files(__name__).joinpath("report.schema.json").read_text(encoding="utf-8")
