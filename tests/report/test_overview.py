from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.html.content import content_of
from rebalance_forensics.report.html.overview import Overview
from rebalance_forensics.report.model import Report
from tests.report.building import a_crash, at, crash_report
from tests.report.extremes import many_groups


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
    (row,) = overview(crash_report()).rows
    assert [one.target for one in row.occurrences] == ["incident-00aa11bb22cc", "incident-3f9a2c11d4e5"]
    assert [one.severity for one in row.occurrences] == ["info", "warning"]
    text = to_html(crash_report()).partition('class="occurrences"')[2]
    assert 'href="#incident-3f9a2c11d4e5"' in text.partition("</figure>")[0]


def test_incidents_close_together_are_one_mark_that_leads_to_the_worst() -> None:
    report = crashes(100, 101, 102, 5_000)
    worst = replace(report.incidents[1], severity="critical")
    (row,) = overview(replace(report, incidents=(report.incidents[0], worst, *report.incidents[2:]))).rows
    assert [one.number for one in row.occurrences] == [3, 1]
    assert row.occurrences[0].severity == "critical"
    assert row.occurrences[0].target == f"incident-{worst.id}"


def test_groups_beyond_the_last_row_share_it() -> None:
    rows = overview(many_groups(30)).rows
    assert [row.label for row in rows][-1] == "19 other groups"
    assert sum(one.number for row in rows for one in row.occurrences) == 30


def test_an_incident_without_a_section_of_its_own_leads_to_its_row_of_the_list() -> None:
    text = to_html(many_groups(60))
    targets = set(re.findall(r'<a class="\w+" href="#([^"]+)"', text))
    assert targets
    for target in targets:
        assert f'id="{target}"' in text


def test_a_single_incident_needs_no_overview() -> None:
    assert content_of(crashes(100)).axis is None
