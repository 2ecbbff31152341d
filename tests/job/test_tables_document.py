"""docs/tables.md says what the code does; what was published once stays."""

from __future__ import annotations

import hashlib

from rebalance_forensics.pipeline.tables.describing import described
from rebalance_forensics.pipeline.tables.schemas import PUBLIC, SCHEMA_VERSION, plain
from tests.conftest import ROOT
from tests.job.conftest import TABLES

FROZEN = {
    "events": "b853a6de",
    "generations": "c8c1fe50",
    "pauses": "988bc5cd",
    "incidents": "50e56b2a",
    "findings": "27cea909",
    "inputs": "be9ed5d2",
    "runs": "c07415bf",
}


def test_the_document_shows_every_table_as_it_is() -> None:
    assert (ROOT / "docs" / "tables.md").read_text().endswith(described())


def test_schemas_are_frozen() -> None:
    """Whoever changes a table on purpose raises SCHEMA_VERSION and writes the new digests here."""
    digests = {t.name: hashlib.sha256(str(plain(t.schema)).encode()).hexdigest()[:8] for t in PUBLIC.values()}
    assert (SCHEMA_VERSION, digests) == (1, FROZEN)


def test_all_tables_are_compared_in_these_tests() -> None:
    assert set(PUBLIC) - {"runs"} == set(TABLES) - {"_pending"}
