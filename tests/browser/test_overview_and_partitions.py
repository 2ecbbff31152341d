from __future__ import annotations

import pytest

from tests.browser.accessibility import violations
from tests.browser.conftest import Opened, Opener
from tests.browser.looking import FIRST_PICTURE, point, row_named, view_of
from tests.report.building import crash_report
from tests.report.extremes import broker_down, many_events, many_groups
from tests.report.owned import owned_report

pytestmark = pytest.mark.browser


def names_of(one: Opened) -> list[str]:
    return one.page.locator(f"{FIRST_PICTURE} .names li:visible").all_inner_texts()


def test_a_switch_shows_rows_of_partitions_in_place_of_members_and_back(opened: Opener) -> None:
    one = opened(owned_report())
    picture = one.page.locator(FIRST_PICTURE)
    members = ["generations", "unread", "payments-2", "broker-1", "payments-1", "payments-3"]
    assert names_of(one) == members
    picture.get_by_role("button", name="Partitions").click()
    partitions = ["generations", "unread", "orders 0-3", "orders 4-5", "orders 6-7", "orders 8-11"]
    assert names_of(one) == partitions
    assert view_of(one)[3] == 26 * len(partitions)
    assert picture.get_by_role("button", name="Partitions").get_attribute("aria-pressed") == "true"
    assert picture.locator(".legend:visible", has_text="dead: its process was gone").count() == 1
    assert one.page.locator("#says").text_content() == "4 rows of partitions"
    picture.get_by_role("button", name="Members").click()
    assert names_of(one) == members


def test_a_span_of_a_partition_names_its_reader_or_why_it_was_unread(opened: Opener) -> None:
    one = opened(owned_report())
    one.page.locator(FIRST_PICTURE).get_by_role("button", name="Partitions").click()
    row = names_of(one).index("orders 4-5")
    one.page.mouse.move(*point(one, row, 0.6))
    assert "dead: its process was gone, was read by payments-2" in one.page.locator("#tip").inner_text()
    one.page.mouse.move(*point(one, row, 0.97))
    assert "read by payments-1" in one.page.locator("#tip").inner_text()
    one.page.mouse.click(*point(one, row, 0.6))
    assert "removing it from the group" in one.page.locator("#panel-lines").inner_text()


def test_the_keyboard_walks_over_partitions_too(opened: Opener) -> None:
    one = opened(owned_report())
    one.page.locator(FIRST_PICTURE).get_by_role("button", name="Partitions").press("Enter")
    one.page.locator(f"{FIRST_PICTURE} .plot").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
        one.page.keyboard.press(key)
    assert (one.page.locator("#says").text_content() or "").startswith("orders 4-5")


def test_a_member_filter_leaves_the_partitions_it_reads(opened: Opener) -> None:
    one = opened(owned_report())
    one.page.locator(FIRST_PICTURE).get_by_role("button", name="Partitions").click()
    one.page.get_by_label("Member", exact=True).fill("payments-2")
    assert names_of(one) == ["generations", "unread", "orders 4-5", "orders 6-7"]


def test_reasons_differ_in_their_dashes_and_not_in_color_alone(opened: Opener) -> None:
    one = opened(owned_report())
    dashes = """() => ['stuck', 'dead', 'frozen', 'cut-off', 'fenced', 'silent', 'stopped', 'assignment-failed',
      'unassigned', 'unknown', 'holding-up'].map((why) => {
        const bar = document.createElementNS('http://www.w3.org/2000/svg', 'g');
        bar.setAttribute('class', `bar unread ${why}`);
        const hatch = bar.appendChild(document.createElementNS('http://www.w3.org/2000/svg', 'path'));
        hatch.setAttribute('class', 'hatch');
        document.querySelector('.chart').appendChild(bar);
        return getComputedStyle(hatch).strokeDasharray;
    })"""
    drawn = one.page.evaluate(dashes)
    assert len(set(drawn)) == len(drawn)


def test_a_mark_of_the_overview_leads_to_its_incident_with_a_click_and_with_the_keyboard(opened: Opener) -> None:
    one = opened(crash_report())
    mark = one.page.locator(".occurrences a.info")
    mark.click()
    one.page.locator("details.incident[open]").wait_for()
    again = opened(crash_report())
    again.page.locator(".occurrences a.info").focus()
    again.page.keyboard.press("Enter")
    again.page.locator("details.incident[open]").wait_for()
    assert "broker-1/server.log:4000" in again.page.locator("details.incident[open]").inner_text()


def test_filters_reach_the_overview(opened: Opener) -> None:
    one = opened(broker_down(25))
    one.page.get_by_role("button", name="coordinator-failover").click()
    rows = one.page.locator(".occurrences li:visible")
    assert rows.count() == 27
    one.page.get_by_label("Group", exact=True).select_option("payments-eu-003 on prod")
    assert rows.locator(".label").all_inner_texts() == [
        "coordinator-failover 25 groups",
        "payments-eu-003 on prod",
        "process-crash payments-eu-003 on prod",
    ]
    one.page.get_by_label("Cause", exact=True).select_option("process-crash")
    assert rows.count() == 1
    assert one.page.locator("article.incident").is_hidden()
    one.page.get_by_label("Group", exact=True).select_option("")
    one.page.get_by_label("Cause", exact=True).select_option("")
    assert one.page.locator("article.incident .overview").is_visible()


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720)])
def test_the_decisive_logs_are_on_the_first_screen_of_a_cluster_incident(
    opened: Opener, width: int, height: int
) -> None:
    one = opened(broker_down(300), width=width, height=height)
    table = one.page.get_by_role("region", name="Groups that incident b0b0b0b0b0b0 disturbed")
    for shown in (one.page.locator("h1"), one.page.locator(".overview"), table, one.page.locator(".advice").first):
        box = shown.bounding_box()
        assert box
        assert box["y"] < height - 60
    assert one.page.locator(".overview").bounding_box()["height"] < 150  # type: ignore[index]
    head = table.get_by_role("button", name="Unread", exact=True)
    head.click()
    assert table.locator("tbody tr").first.locator("td").first.inner_text() == "payments-eu-299"
    head.click()
    assert table.locator("tbody tr").first.locator("td").first.inner_text() == "payments-eu-000"


def test_a_phone_shows_verdict_and_axis_before_any_filter(opened: Opener) -> None:
    one = opened(broker_down(25), width=390, height=844)
    assert one.page.locator("#filters").is_hidden()
    box = one.page.locator(".overview").bounding_box()
    assert box
    assert box["y"] + box["height"] < 844
    one.page.get_by_role("button", name="Filter", exact=True).click()
    assert one.page.get_by_label("Severity", exact=True).is_visible()


def test_severity_host_and_text_filter_incidents_and_groups(opened: Opener) -> None:
    one = opened(broker_down(25))
    crash = one.page.locator("details.incident", has_text="payments-2")
    one.page.get_by_label("Severity", exact=True).select_option("warning")
    assert crash.first.is_visible()
    assert one.page.locator("article.incident").is_hidden()
    one.page.get_by_label("Severity", exact=True).select_option("")
    one.page.get_by_label("Host", exact=True).select_option("node-2")
    assert crash.first.is_hidden()
    one.page.get_by_label("Host", exact=True).select_option("")
    one.page.get_by_label("Text", exact=True).fill("WENT DOWN")
    assert one.page.locator("article.incident").is_visible()
    assert crash.first.is_hidden()


def test_of_many_lanes_the_most_disturbed_are_shown_until_all_are_asked_for(opened: Opener) -> None:
    one = opened(many_events(4_000, members=40))
    picture = one.page.locator(FIRST_PICTURE)
    lanes = picture.locator(".names li.client:visible")
    assert lanes.count() == 16
    picture.get_by_role("button", name="All 40 rows").click()
    assert lanes.count() == 40
    picture.get_by_role("button", name="Fewer rows").click()
    assert lanes.count() == 16
    one.page.get_by_label("Member", exact=True).fill("worker-03")
    assert lanes.count() == 10


def test_the_times_of_the_overview_switch_too(opened: Opener) -> None:
    one = opened(crash_report(), timezone_id="Asia/Tokyo")
    label = one.page.locator(".overview .axis text").last
    before = label.text_content() or ""
    one.page.get_by_role("button", name="Local time").click()
    after = label.text_content() or ""
    assert (int(before[:2]) + 9) % 24 == int(after[:2])
    assert before[2:] == after[2:]


def test_marks_of_the_overview_do_not_cover_one_another_on_a_phone(opened: Opener) -> None:
    one = opened(many_groups(30), width=390, height=844)
    boxes = one.page.evaluate(
        "[...document.querySelectorAll('.occurrences .mark')].map((one) => one.getBoundingClientRect().toJSON())"
    )
    for place, box in enumerate(boxes):
        for other in boxes[place + 1 :]:
            apart = box["right"] <= other["left"] + 1 or other["right"] <= box["left"] + 1
            assert apart or box["bottom"] <= other["top"] or other["bottom"] <= box["top"]


def test_the_lane_of_the_culprit_is_first(opened: Opener) -> None:
    one = opened(owned_report())
    assert row_named(one, "payments-2") == 2


@pytest.mark.parametrize("width", [1440, 390])
def test_the_members_that_left_partitions_unread_are_in_a_table_without_javascript(opened: Opener, width: int) -> None:
    one = opened(owned_report(), width=width, java_script_enabled=False)
    row = one.page.get_by_role("region", name="Unread partitions of payments").get_by_role("row").nth(1)
    assert row.is_visible()
    assert "orders-4, orders-5, orders-6 and orders-7" in row.inner_text()
    assert "dead: its process was gone" in row.inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_axe_finds_nothing_in_a_clusters_incident(opened: Opener, scheme: str, width: int) -> None:
    one = opened(broker_down(25, members=64), width=width, color_scheme=scheme)
    one.page.get_by_role("button", name="coordinator-failover").click()
    assert violations(one.page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_rows_of_partitions_and_their_table(opened: Opener, scheme: str) -> None:
    one = opened(owned_report(), width=390, color_scheme=scheme)
    one.page.locator(FIRST_PICTURE).get_by_role("button", name="Partitions").click()
    assert violations(one.page) == []
