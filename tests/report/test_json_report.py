from __future__ import annotations

import json

import jsonschema
import pytest
from msgspec.structs import replace

from rebalance_forensics.records import EpochMs
from rebalance_forensics.report import json_report
from rebalance_forensics.report.json_report import schema_text, to_json
from rebalance_forensics.report.model import Report
from tests.report.building import crash_report, empty_report, healthy_report
from tests.report.extremes import hostile_report, many_groups
from tests.report.snapshots import assert_same

CONTRACT = {
    "input": (
        *("path", "cluster", "host", "component", "kafka_version", "layout", "envelope", "zone", "clock_skew_ms"),
        *("bytes", "lines", "records", "matched", "unmatched_kafka", "unparsed", "first", "last", "errors"),
    ),
    "group": (
        *("group", "cluster", "kind", "protocol", "protocols", "rebalance_mode", "coordinators", "generations"),
        "pauses",
    ),
    "generation": (
        *("generation", "started_at", "completed_at", "trigger", "leader", "members", "joined", "left", "outcome"),
    ),
    "pause": ("client_id", "member_id", "from", "to", "ms", "partitions", "kind"),
    "incident": (
        *("id", "scope", "group", "cluster", "started_at", "ended_at", "ongoing", "severity", "summary", "root_causes"),
        *("ruled_out", "would_decide", "followups", "generations", "impact"),
    ),
    "root_cause": ("cause", "confidence", "culprits", "narrative", "evidence", "behind", "advice", "known_bugs"),
    "evidence": ("path", "line", "byte_offset", "timestamp", "text"),
}


@pytest.mark.parametrize(
    "report", [crash_report(), healthy_report(), empty_report(), many_groups(12), hostile_report()]
)
def test_every_report_obeys_the_published_schema(report: Report) -> None:
    schema = json.loads(schema_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(to_json(report)), schema)


def test_the_schema_refuses_an_incident_without_a_cause() -> None:
    document = json.loads(to_json(crash_report()))
    document["incidents"][0]["root_causes"] = []
    with pytest.raises(jsonschema.ValidationError, match="non-empty"):
        jsonschema.validate(document, json.loads(schema_text()))


def test_the_schema_refuses_a_cause_ruled_out_without_a_line_or_a_search() -> None:
    document = json.loads(to_json(crash_report()))
    document["incidents"][1]["ruled_out"][0]["looked_in"] = []
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, json.loads(schema_text()))


def test_the_fields_of_the_contract_come_first_and_in_order() -> None:
    document = json.loads(to_json(crash_report()))
    group, incident = document["groups"][0], document["incidents"][1]
    samples = {
        "input": document["inputs"][0],
        "group": group,
        "generation": group["generations"][0],
        "pause": group["pauses"][0],
        "incident": incident,
        "root_cause": incident["root_causes"][0],
        "evidence": incident["root_causes"][0]["evidence"][0],
    }
    for name, fields in CONTRACT.items():
        assert tuple(samples[name])[: len(fields)] == fields


def test_times_are_utc_with_milliseconds_and_unknown_is_null() -> None:
    group = json.loads(to_json(crash_report()))["groups"][0]
    assert group["coordinators"] == [{"broker": "broker-1", "from": "2026-03-01T10:00:00.000Z", "to": None}]
    assert group["pauses"][0]["from"] == "2026-03-01T10:02:11.100Z"
    assert group["pauses"][0]["ms"] == 3200


def test_a_pause_that_has_not_ended_has_no_length() -> None:
    report = crash_report()
    endless = replace(report.groups[0].pauses[0], ended_at=None)
    report = replace(report, groups=(replace(report.groups[0], pauses=(endless,)),))
    pause = json.loads(to_json(report))["groups"][0]["pauses"][0]
    assert (pause["to"], pause["ms"]) == (None, None)


def test_a_time_beyond_the_calendar_is_unknown() -> None:
    report = crash_report()
    report = replace(report, inputs=(replace(report.inputs[0], last=EpochMs(10**18)),))
    assert json.loads(to_json(report))["inputs"][0]["last"] is None


def test_the_same_report_gives_the_same_ascii_bytes() -> None:
    assert to_json(hostile_report()) == to_json(hostile_report())
    assert to_json(hostile_report()).isascii()


def test_a_long_history_is_written_a_slice_at_a_time_as_a_short_one_is_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = [crash_report(), healthy_report(), hostile_report()]
    at_once = [to_json(report) for report in reports]
    monkeypatch.setattr(json_report, "AT_ONCE", 1)
    assert [to_json(report) for report in reports] == at_once


def test_a_crash_as_json() -> None:
    assert_same("process-crash.json", to_json(crash_report()))
