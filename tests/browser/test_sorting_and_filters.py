from __future__ import annotations

import pytest
from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import Culprit
from rebalance_forensics.report.model import Report
from tests.browser.accessibility import violations
from tests.browser.conftest import Opened, Opener
from tests.browser.looking import FIRST_PICTURE
from tests.report.building import a_crash, crash_report
from tests.report.extremes import many_groups
from tests.report.owned import owned_report
from tests.report.test_pictures import THREAD, a_streams_report

pytestmark = pytest.mark.browser

INCIDENTS = "Table of all incidents"
GENERATIONS = "Generations and membership of payments on prod"
EVERYTHING_FOLDED = "for (const folded of document.querySelectorAll('details')) folded.open = true"


def column(one: Opened, table: str, number: int) -> list[str]:
    """The texts of a column, row by row."""
    rows = one.page.get_by_role("region", name=table).locator("tbody tr")
    return rows.locator(f"td:nth-child({number + 1})").all_inner_texts()


def head(one: Opened, table: str, text: str) -> None:
    one.page.get_by_role("region", name=table).get_by_role("button", name=text, exact=True).click()


def two_clusters() -> Report:
    """Group payments in two clusters; only in prod something happened."""
    report = crash_report()
    return replace(report, groups=(*report.groups, replace(report.groups[0], cluster="test")))


def test_a_click_on_a_column_sorts_another_turns_it_round_a_third_brings_back_the_reports_order(opened: Opener) -> None:
    one = opened(many_groups(12))
    own = column(one, INCIDENTS, 2)
    head(one, INCIDENTS, "Group")
    assert column(one, INCIDENTS, 2) == sorted(own) != own
    sorted_by = one.page.get_by_role("region", name=INCIDENTS).locator("th[aria-sort=ascending]")
    assert sorted_by.inner_text().strip() == "Group"
    assert one.page.locator("#says").text_content() == "Sorted by Group, ascending"
    head(one, INCIDENTS, "Group")
    assert column(one, INCIDENTS, 2) == sorted(own, reverse=True)
    head(one, INCIDENTS, "Group")
    assert column(one, INCIDENTS, 2) == own
    assert one.page.locator("#says").text_content() == "In the report's order"


def test_durations_sort_by_their_length_and_what_is_unknown_comes_last_either_way(opened: Opener) -> None:
    report = crash_report()
    first, second = report.groups[0].generations
    lasting = (
        replace(first, generation=6, started_at=None),
        replace(first, completed_at=first.started_at and first.started_at + 125_000),
        second,
    )
    one = opened(replace(report, groups=(replace(report.groups[0], generations=lasting),)))
    one.page.evaluate(EVERYTHING_FOLDED)
    head(one, GENERATIONS, "Took")
    assert column(one, GENERATIONS, 2) == ["3.2 s", "2 min 05 s", "unknown"]
    head(one, GENERATIONS, "Took")
    assert column(one, GENERATIONS, 2) == ["2 min 05 s", "3.2 s", "unknown"]


def test_the_most_severe_incidents_are_listed_together_and_numbers_are_sorted_as_numbers(opened: Opener) -> None:
    one = opened(many_groups(12))
    head(one, INCIDENTS, "Severity")
    shown = column(one, INCIDENTS, 0)
    assert [text.lower() for text in shown] == sorted(map(str.lower, shown), key=["critical", "warning", "info"].index)
    report = crash_report()
    counted = tuple(replace(report.inputs[0], path=f"{n}.log", lines=n) for n in (9, 1_200, 80))
    other = opened(replace(report, inputs=counted))
    head(other, "Table of files", "Lines")
    assert column(other, "Table of files", 9) == ["9", "80", "1,200"]


def test_the_keyboard_sorts_too(opened: Opener) -> None:
    one = opened(many_groups(12))
    one.page.get_by_role("region", name=INCIDENTS).get_by_role("button", name="Group").press("Enter")
    groups = column(one, INCIDENTS, 2)
    assert groups == sorted(groups)
    assert groups[0] != "payments-eu-009 on prod"


def test_sorted_rows_that_a_filter_hid_stay_hidden(opened: Opener) -> None:
    one = opened(many_groups(12))
    one.page.get_by_label("Group", exact=True).select_option("payments-eu-003 on prod")
    head(one, INCIDENTS, "Group")
    assert one.page.locator("tbody tr[data-group]:visible").count() == 1


def test_axe_finds_nothing_in_sorted_tables(opened: Opener) -> None:
    one = opened(many_groups(4))
    head(one, INCIDENTS, "Cause")
    assert violations(one.page) == []


def test_a_cause_filter_reaches_incidents_the_overview_and_groups_alike(opened: Opener) -> None:
    one = opened(two_clusters())
    one.page.get_by_label("Cause", exact=True).select_option("process-crash")
    assert one.page.locator("details.group:visible .summary").first.inner_text() == "payments on prod"
    assert one.page.locator("details.group:visible").count() == 1
    assert one.page.locator(".occurrences a:visible").count() == 1
    assert one.page.locator("h2#planned").is_hidden()


def test_groups_with_the_same_name_in_two_clusters_are_distinguished(opened: Opener) -> None:
    one = opened(two_clusters())
    choices = one.page.locator("#filter-group option").all_inner_texts()
    assert choices == ["any group", "payments on prod", "payments on test"]
    one.page.get_by_label("Group", exact=True).select_option("payments on test")
    assert one.page.locator("details.group:visible .summary").all_inner_texts() == ["payments on test"]
    assert one.page.locator("article.incident").is_hidden()
    assert one.page.locator("#none-said").inner_text() == (
        "No incident matches group payments on test; 1 group below does."
    )


def test_a_member_filter_reaches_incidents_groups_and_lanes_alike(opened: Opener) -> None:
    one = opened(two_clusters())
    one.page.get_by_label("Member", exact=True).fill("PAYMENTS-2")
    assert one.page.locator("article.incident").is_visible()
    assert one.page.locator(f"{FIRST_PICTURE} .names li:visible").all_inner_texts() == ["generations", "payments-2"]
    one.page.get_by_label("Member", exact=True).fill("payments-9")
    assert one.page.locator("article.incident, details.incident, details.group").locator("visible=true").count() == 0
    assert one.page.locator("#none-said").inner_text() == "No incident matches member payments-9."
    one.page.get_by_role("button", name="Clear filters").click()
    assert one.page.locator("article.incident").is_visible()
    assert one.page.locator("details.group:visible").count() == 2
    assert one.page.evaluate("document.activeElement.id") == "filter-group"


def test_a_member_that_no_incident_is_found_by_may_be_one_whose_name_the_page_left_out(opened: Opener) -> None:
    names = tuple(f"app-{member:05d}" for member in range(3_000))
    cause = replace(a_crash().root_causes[0], culprits=(Culprit(kind="group", name="payments", names=names),))
    one = opened(replace(crash_report(), incidents=(replace(a_crash(), root_causes=(cause,)),)))
    one.page.fill("#filter-member", names[0])
    assert one.page.locator("article.incident").is_visible()
    one.page.fill("#filter-member", names[-1])
    left_out = "1,001 names of members are not in this page, to keep it usable"
    assert one.page.locator("#none-said").inner_text() == f"No incident matches member {names[-1]}; {left_out}."


def test_a_member_filter_applies_to_rows_and_marks_of_incidents_in_other_sections(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.get_by_label("Member", exact=True).fill("payments-9")
    assert one.page.locator("tbody tr[data-of]:visible, .occurrences a:visible").count() == 0
    one.page.get_by_label("Member", exact=True).fill("payments-1")
    assert one.page.locator("tbody tr[data-of]:visible").count() == 2


def test_threads_of_streams_are_named_as_on_the_terminal_and_found_by_either_name(opened: Opener) -> None:
    one = opened(a_streams_report())
    lane = one.page.locator(f'{FIRST_PICTURE} .names li[title="{THREAD}"]')
    assert lane.inner_text() == "node-1/T1"
    for name in ("node-1/t1", THREAD):
        one.page.get_by_label("Member", exact=True).fill(name)
        assert lane.is_visible(), name
        assert one.page.locator("article.incident").is_visible(), name


def test_a_search_leaves_the_lines_that_hold_it_with_the_words_marked(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.locator(f"{FIRST_PICTURE} .bar.rebalancing").last.scroll_into_view_if_needed()
    box = one.page.locator(f"{FIRST_PICTURE} .bar.rebalancing").last.bounding_box()
    assert box
    one.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    lines = one.page.locator("#panel-lines pre")
    before = lines.count()
    assert before > 1
    one.page.get_by_label("Search in these lines").fill("STABILIZED")
    assert lines.count() == 1
    assert one.page.locator("#panel-lines mark").all_inner_texts() == ["Stabilized"]
    assert one.page.locator("#panel-found").inner_text() == f"1 of {before} lines"
    assert violations(one.page) == []
    one.page.get_by_label("Search in these lines").fill("<b>no such thing</b>")
    assert lines.count() == 0
    assert one.page.locator("#panel-found").inner_text() == f"None of {before} lines holds that."
    one.page.get_by_label("Search in these lines").fill("")
    assert lines.count() == before


def test_who_was_read_by_whom_is_filtered_with_partitions_too(opened: Opener) -> None:
    one = opened(owned_report())
    one.page.get_by_label("Member", exact=True).fill("payments-3")
    assert one.page.get_by_role("region", name="Unread partitions of payments").locator("tbody tr:visible").count() == 0
