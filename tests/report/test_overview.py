from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.html.content import content_of
from rebalance_forensics.report.html.overview import Overview
from rebalance_forensics.report.model import Report
from tests.report.building import a_crash, at, crash_report
from tests.report.extremes import broker_down, many_groups


def overview(report: Report) -> Overview:
    axis = content_of(report).axis
    assert axis
    return axis


def crashes(*seconds: float) -> Report:
    incidents = tuple(
        replace(a_crash(), id=f"{number:012x}", started_at=at(second), ended_at=at(second + 3))
        for number, second in enumerate(seconds)
    )
    return replace(crash_report(), incidents=incidents)


def test_each_incident_is_a_mark_that_leads_to_it() -> None:
    rows = overview(crash_report()).rows
    assert [(row.label, row.note) for row in rows] == [
        ("process-crash", "payments on prod"),
        ("startup", "payments on prod"),
    ]
    marks = [one for row in rows for one in row.occurrences]
    assert [one.target for one in marks] == ["incident-3f9a2c11d4e5", "incident-00aa11bb22cc"]
    assert [one.severity for one in marks] == ["warning", "info"]
    text = to_html(crash_report()).partition('class="occurrences"')[2]
    assert 'href="#incident-3f9a2c11d4e5"' in text.partition("</figure>")[0]


def test_incidents_close_together_are_one_mark_that_leads_to_the_worst() -> None:
    report = crashes(100, 101, 102, 5_000)
    worst = replace(report.incidents[1], severity="critical")
    (row,) = overview(replace(report, incidents=(report.incidents[0], worst, *report.incidents[2:]))).rows
    assert [one.number for one in row.occurrences] == [3, 1]
    assert row.occurrences[0].severity == "critical"
    assert row.occurrences[0].target == f"incident-{worst.id}"


def test_a_cause_has_a_row_with_one_for_each_of_its_groups_and_one_for_those_beyond_the_last() -> None:
    (cause,) = overview(many_groups(50)).rows
    assert (cause.label, cause.note) == ("process-crash", "50 groups")
    assert [row.label for row in cause.groups][-1] == "10 more groups"
    assert sum(one.number for one in cause.occurrences) == 50
    assert sum(one.number for row in cause.groups for one in row.occurrences) == 50


def test_a_clusters_incident_is_one_mark_and_one_for_each_group_with_what_it_cost_there() -> None:
    cluster, crash = overview(broker_down(25)).rows
    assert (cluster.label, cluster.note) == ("coordinator-failover", "25 groups")
    assert [one.number for one in cluster.occurrences] == [1]
    assert [row.label for row in cluster.groups][:2] == ["payments-eu-000 on prod", "payments-eu-001 on prod"]
    assert [row.occurrences[0].severity for row in cluster.groups][:2] == ["critical", "warning"]
    assert {stretch.kind for row in cluster.groups for stretch in row.stretches} == {"rebalancing", "unread"}
    assert (crash.label, crash.note) == ("process-crash", "payments-eu-003 on prod")


def test_an_incident_without_its_own_section_links_to_its_row_in_the_list() -> None:
    text = to_html(many_groups(60))
    targets = set(re.findall(r'<a class="\w+" href="#([^"]+)"', text))
    assert targets
    for target in targets:
        assert f'id="{target}"' in text


def test_a_single_incident_needs_no_overview() -> None:
    assert content_of(crashes(100)).axis is None


def test_an_ongoing_incident_is_drawn_no_further_than_the_logs_of_its_group() -> None:
    report = crash_report()
    busy = replace(report.inputs[0], path="elsewhere/app.log", last=at(90_000))
    going_on = replace(a_crash(), ongoing=True, ended_at=None)
    drawn = overview(replace(report, inputs=(*report.inputs, busy), incidents=(going_on, *report.incidents[1:])))
    assert drawn.ended_at < at(10_000)
