from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from msgspec.structs import replace

from rebalance_forensics.records import ORDER_EPOCH
from rebalance_forensics.report.exports import formats
from rebalance_forensics.report.model import Report
from tests.report.building import a_crash, crash_report, empty_report, healthy_report
from tests.report.export_rules import RULES
from tests.report.extremes import hostile_report, many_groups
from tests.report.snapshots import assert_same

FORMATS = formats()
SNAPSHOTS = {
    "chrome-trace": "trace.json",
    "generations-csv": "generations.csv",
    "incidents-csv": "incidents.csv",
    "markdown": "md",
    "pagerduty": "pagerduty.jsonl",
    "pauses-csv": "pauses.csv",
    "sarif": "sarif",
    "slack": "slack.json",
    "timesketch": "jsonl",
    "unread-csv": "unread.csv",
}
REPORTS = {
    "crash": crash_report(),
    "healthy": healthy_report(),
    "no group": empty_report(),
    "many groups": many_groups(30),
    "hostile": hostile_report(),
}


def exported(name: str, report: Report) -> str:
    return FORMATS[name](report)


def lines_of_json(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_every_format_of_the_package_is_found() -> None:
    assert set(FORMATS) == {
        *("chrome-trace", "generations-csv", "incidents-csv", "markdown", "pagerduty", "pauses-csv", "sarif"),
        *("slack", "timesketch", "unread-csv"),
    }


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_every_format_writes_every_report_the_same_way_twice(name: str, report: Report) -> None:
    assert exported(name, report) == exported(name, report)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_no_control_character_or_direction_mark_of_a_log_is_written(name: str) -> None:
    assert not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]", exported(name, hostile_report())
    )


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_crash_in_this_format(name: str) -> None:
    assert_same(f"process-crash.{SNAPSHOTS[name]}", exported(name, crash_report()))


def test_sarif_points_at_the_lines_that_prove_it() -> None:
    run = json.loads(exported("sarif", crash_report()))["runs"][0]
    startup, crash = run["results"]
    assert [startup["level"], crash["level"]] == ["note", "warning"]
    assert run["tool"]["driver"]["rules"][crash["ruleIndex"]]["id"] == "process-crash"
    places = [one["physicalLocation"] for one in (*crash["locations"], *crash["relatedLocations"])]
    assert [one["region"]["startLine"] for one in places] == [812, 4711, 4712, 4720]
    assert crash["partialFingerprints"] == {"incidentId/v1": a_crash().id}


def test_timesketch_gets_its_three_fields_in_order_of_time() -> None:
    rows = lines_of_json(exported("timesketch", crash_report()))
    assert all({"message", "datetime", "timestamp_desc"} <= row.keys() for row in rows)
    assert [row["datetime"] for row in rows] == sorted(row["datetime"] for row in rows)
    failed = next(row for row in rows if row["timestamp_desc"] == "member-failed")
    assert (failed["source_file"], failed["source_line"]) == ("broker-1/server.log", 4711)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_the_receiver_of_an_export_takes_it(name: str, report: Report) -> None:
    RULES[name](exported(name, report))


def test_a_trace_has_a_process_a_group_and_a_track_a_lane() -> None:
    events = json.loads(exported("chrome-trace", many_groups(3)))["traceEvents"]
    assert {one["args"]["name"] for one in events if one["name"] == "process_name"} == {
        f"payments-eu-{number:03d} on prod" for number in range(3)
    }
    tracks = {one["args"]["name"] for one in events if one["name"] == "thread_name"}
    assert {"incidents", "generations", "payments-1", "payments-2", "payments-3"} <= tracks


def test_a_post_mortem_leaves_blanks_for_people() -> None:
    text = exported("markdown", crash_report())
    for title in ("Detection", "Customer impact", "Resolution", "Action items", "Lessons"):
        assert f"## {title}" in text


def test_log_lines_cannot_leave_their_fence_in_markdown() -> None:
    text = exported("markdown", hostile_report())
    outside = re.sub(r"^(`{3,})text\n.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "<" not in outside.replace("\\<", "")


def test_nothing_of_a_log_is_markup_in_a_slack_message() -> None:
    message = json.loads(exported("slack", hostile_report()))
    assert re.findall(r"<[^>]*", message["text"]) == re.findall(
        r"<!date\^\d+\^\{date_short_pretty\} \{time\}\|[^>]*", message["text"]
    )
    assert "mrkdwn" not in json.dumps(message)


def test_the_first_line_of_a_slack_message_tells_verdict_impact_culprit_and_when_in_the_readers_zone() -> None:
    message = json.loads(exported("slack", crash_report()))
    line = message["blocks"][0]["elements"][0]["elements"]
    assert "".join(one.get("text", one.get("fallback")) for one in line) == (
        "Warning: process-crash, 97 % sure, in payments on prod. 4 of 12 partitions unread for up to 4 s; whole group "
        "stopped for 3.2 s; 1 rebalance paused 3 members, 6.4 s in total. Culprit: client payments-2. "
        "Began 2026-03-01 10:02:11 UTC."
    )
    (date,) = (one for one in line if one["type"] == "date")
    assert date["timestamp"] == a_crash().started_at // 1_000
    assert f"<!date^{date['timestamp']}^{{date_short_pretty}} {{time}}|2026-03-01 10:02:11 UTC>" in message["text"]


def test_messages_link_to_the_incident_on_the_page_where_its_address_is_known() -> None:
    report = replace(crash_report(), page="https://reports.example/today.html")
    link = f"https://reports.example/today.html#incident={a_crash().id}"
    for text, without in ((exported(name, report), exported(name, crash_report())) for name in ("slack", "pagerduty")):
        assert link in text
        assert "https://" not in without
    event = lines_of_json(exported("pagerduty", report))[0]
    assert event["links"] == [{"href": link, "text": "Report"}]
    RULES["slack"](exported("slack", report))


def test_a_slack_message_gives_lines_without_times_no_time() -> None:
    report = replace(crash_report(), incidents=(replace(a_crash(), started_at=ORDER_EPOCH, ended_at=None),))
    assert "date" not in exported("slack", report)


def test_pagerduty_events_share_the_incident_id_and_resolve_what_is_over() -> None:
    trigger, resolve = lines_of_json(exported("pagerduty", crash_report()))
    assert trigger["dedup_key"] == resolve["dedup_key"] == a_crash().id
    assert (trigger["event_action"], resolve["event_action"]) == ("trigger", "resolve")
    assert trigger["payload"]["severity"] == "warning"


def test_an_ongoing_incident_is_not_resolved() -> None:
    events = lines_of_json(exported("pagerduty", many_groups(10)))
    ongoing = [one for one in events if one["dedup_key"] == f"{9:012x}"]
    assert [one["event_action"] for one in ongoing] == ["trigger"]


def test_a_healthy_run_pages_no_person_on_call() -> None:
    assert exported("pagerduty", healthy_report()) == ""


def test_a_spreadsheet_executes_nothing() -> None:
    report = replace(crash_report(), incidents=(replace(a_crash(), group="=cmd|' /C calc'!A0"),))
    row = next(csv.DictReader(io.StringIO(exported("incidents-csv", report))))
    assert row["group"] == "'=cmd|' /C calc'!A0"


def test_pauses_are_one_row_each_with_an_empty_cell_for_unknown() -> None:
    rows = list(csv.DictReader(io.StringIO(exported("pauses-csv", crash_report()))))
    assert [(row["client_id"], row["ms"], row["kind"]) for row in rows] == [
        ("payments-1", "3200", "revoked"),
        ("payments-3", "3200", "revoked"),
    ]
    generations = list(csv.DictReader(io.StringIO(exported("generations-csv", crash_report()))))
    assert [row["followup"] for row in generations] == ["", ""]


def test_a_spreadsheet_executes_nothing_after_a_space_or_in_full_width() -> None:
    for name in (" =1+1", "\uff1d1+1"):
        report = replace(crash_report(), incidents=(replace(a_crash(), group=name),))
        row = next(csv.DictReader(io.StringIO(exported("incidents-csv", report))))
        assert row["group"] == f"'{name}"


def test_pauses_have_a_track_separate_from_a_members_activity() -> None:
    events = json.loads(exported("chrome-trace", crash_report()))["traceEvents"]
    tracks = {one["tid"]: one["args"]["name"] for one in events if one["name"] == "thread_name"}
    kinds = {(tracks[one["tid"]].endswith(": pauses"), one["cat"] == "paused") for one in events if one["ph"] == "X"}
    assert kinds == {(True, True), (False, False)}
    assert "fault: session expired" in {one["name"] for one in events if one["ph"] == "i"}


def test_an_address_in_a_name_is_no_link_in_markdown() -> None:
    crash = replace(a_crash(), summary="http://evil.example, www.evil.example and you@evil.example left.")
    text = exported("markdown", replace(crash_report(), incidents=(crash,)))
    assert not re.search(r"://|www\.|@\w", text)


def test_a_timeline_does_not_repeat_a_name_of_a_megabyte_in_every_row() -> None:
    endless = replace(crash_report().groups[0], group="g" * 1_000_000)
    rows = exported("timesketch", replace(crash_report(), groups=(endless,)))
    assert len(rows) < 100_000
    assert {row["group"][-23:] for row in lines_of_json(rows)} == {" … (+999000 characters)", "payments"}
