"""What the tables of the job published once stays."""

from __future__ import annotations

import hashlib

import pyarrow as pa
from msgspec.structs import replace

from rebalance_forensics.job.alerts import state_of
from rebalance_forensics.pipeline.tables.rows import incident_rows
from rebalance_forensics.pipeline.tables.schemas import INCIDENTS, PUBLIC, SCHEMA_VERSION, plain
from tests.job.conftest import TABLES
from tests.report.weighed import a_weighed_crash, an_open_case

FROZEN = {
    "events": "b853a6de",
    "generations": "c8c1fe50",
    "pauses": "988bc5cd",
    "unread": "64b865e2",
    "incidents": "f985b04a",
    "incident_groups": "fafc7965",
    "findings": "27cea909",
    "inputs": "920412dc",
    "runs": "7e797e96",
}


def test_schemas_are_frozen() -> None:
    """To change a table on purpose, raise SCHEMA_VERSION and write the new digests here; columns are added without."""
    digests = {t.name: hashlib.sha256(str(plain(t.schema)).encode()).hexdigest()[:8] for t in PUBLIC.values()}
    assert (SCHEMA_VERSION, digests) == (2, FROZEN)


def test_all_tables_are_compared_in_these_tests() -> None:
    assert set(PUBLIC) - {"runs"} == set(TABLES) - {"_pending"}


def test_an_incident_keeps_what_was_ruled_out_and_what_would_decide() -> None:
    rows = [next(incident_rows(one))[1] for one in (a_weighed_crash(), an_open_case())]
    crash, open_case = pa.Table.from_pylist(rows, schema=plain(INCIDENTS.schema)).to_pylist()
    pause, partition = crash["ruled_out"]
    assert (pause["sign"], pause["evidence"]) == ("not-back-yet", [])
    assert pause["looked_in"][0]["path"] == "broker-1/server.log"
    assert partition["evidence"][0]["line"] == 812
    assert open_case["would_decide"][0]["between"] == ["process-crash", "network-partition"]
    assert open_case["would_decide"][0]["who"] == "payments-2"


def test_a_rival_that_comes_or_goes_is_no_reason_to_tell_of_an_incident_again() -> None:
    case = an_open_case()
    assert state_of(case) == state_of(replace(case, root_causes=case.root_causes[:1]))
    assert state_of(case) != state_of(replace(case, root_causes=case.root_causes[1:]))
