from __future__ import annotations

import pytest
from msgspec.structs import replace

from rebalance_forensics.report.model import Report
from rebalance_forensics.timeline.model import Mark
from tests.browser.accessibility import violations
from tests.browser.conftest import Opened, Opener
from tests.browser.looking import FIRST_PICTURE, on_mark, point, row_named, view_of
from tests.report.building import a_line, at, crash_report, empty_report, healthy_report
from tests.report.extremes import hostile_report, many_events, many_groups
from tests.report.owned import owned_report
from tests.report.weighed import weighed_report

pytestmark = pytest.mark.browser

FIRST_PAINT = """new Promise(done => new PerformanceObserver((list) => {
  const paint = list.getEntriesByName('first-contentful-paint')[0];
  if (paint) done(paint.startTime);
}).observe({type: 'paint', buffered: true}))"""


@pytest.mark.parametrize(
    "report",
    [crash_report(), healthy_report(), empty_report(), many_groups(30), many_events(2_000)],
    ids=["crash", "healthy", "no-group", "many-groups", "many-events"],
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_opens_offline_without_a_complaint(opened: Opener, report: Report, scheme: str) -> None:
    one = opened(report, color_scheme=scheme)
    assert one.page.locator("h1").count() == 1
    assert one.page.locator("#filters").is_visible()


def test_lines_of_an_enemy_neither_run_nor_break_the_page(opened: Opener) -> None:
    one = opened(hostile_report())
    assert one.page.title().startswith("process-crash in ")
    assert one.page.locator("h1").count() == 1
    assert one.page.locator("img").count() == 0
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.page.mouse.click(*on_mark(one, "fault"))
    assert one.page.locator("#panel pre").count() == 1


def test_a_click_on_a_fault_shows_its_line_and_lights_its_chain(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.mouse.click(*on_mark(one, "fault"))
    panel = one.page.locator("#panel")
    assert "broker-1/server.log:4711" in panel.inner_text()
    assert "has failed, removing it from the group" in panel.inner_text()
    assert "Part of: Consumer payments-2 died" in panel.inner_text()
    assert one.page.locator(f"{FIRST_PICTURE} .chart.lit .hit").count() > 2
    assert one.page.locator(".chain.lit").count() == 1
    one.page.keyboard.press("Escape")
    assert panel.is_hidden()
    assert one.page.locator(".lit").count() == 0


def test_the_lines_of_a_mark_go_when_a_reader_scrolls_on(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.mouse.click(*on_mark(one, "fault"))
    panel = one.page.locator("#panel")
    lane = one.page.locator(f"{FIRST_PICTURE} .dot.fault").first.bounding_box()
    box = panel.bounding_box()
    assert lane
    assert box
    assert lane["y"] + lane["height"] <= box["y"]
    one.page.mouse.move(640, 100)
    one.page.mouse.wheel(0, 900)
    panel.wait_for(state="hidden")


def test_a_scroll_that_no_reader_made_leaves_the_lines_of_a_mark(opened: Opener) -> None:
    one = opened(crash_report(), width=390, height=844)
    one.page.locator(f"{FIRST_PICTURE} .plot").focus()
    for key in ("ArrowRight", "Enter"):
        one.page.keyboard.press(key)
    one.page.evaluate(
        """new Promise((done) => {
        addEventListener("scroll", () => setTimeout(done), { once: true });
        scrollBy({ top: innerHeight, behavior: "instant" });
        })"""
    )
    assert one.page.evaluate("scrollY") > 200
    assert one.page.locator("#panel").is_visible()
    one.page.keyboard.press("Escape")
    assert one.page.locator("#panel").is_hidden()


def test_a_strip_below_a_zoomed_picture_shows_where_in_the_whole_time_it_is(opened: Opener) -> None:
    one = opened(crash_report())
    assert one.page.locator(f"{FIRST_PICTURE} .map").count() == 0
    for _ in range(3):
        one.page.locator(f"{FIRST_PICTURE} [data-do=in]").click()
    strip = one.page.locator(f"{FIRST_PICTURE} .map")
    assert strip.locator(".rebalancing").count() > 0
    box = strip.bounding_box()
    assert box
    one.page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2)
    left, _, span, _ = view_of(one)
    assert left + span > 90_000 > left
    one.page.locator(f"{FIRST_PICTURE} [data-do=all]").click()
    assert strip.is_hidden()


def test_a_click_on_a_generation_shows_the_lines_of_its_time(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.locator(f"{FIRST_PICTURE} .bar.rebalancing").last.scroll_into_view_if_needed()
    box = one.page.locator(f"{FIRST_PICTURE} .bar.rebalancing").last.bounding_box()
    assert box
    one.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert "generation 8" in one.page.locator("#panel-title").inner_text()
    assert "Stabilized group payments generation 8" in one.page.locator("#panel-lines").inner_text()
    one.page.locator("#panel-close").click()
    assert one.page.locator("#panel").is_hidden()


def test_hovering_tells_what_is_under_the_pointer(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.mouse.move(*on_mark(one, "fault"))
    assert "session expired" in one.page.locator("#tip").inner_text()
    one.page.mouse.move(*point(one, row_named(one, "payments-1"), 0.2))
    assert "generation 7, leads it" in one.page.locator("#tip").inner_text()
    one.page.mouse.move(5, 5)
    assert one.page.locator("#tip").is_hidden()


def test_buttons_keys_and_the_wheel_zoom_and_move(opened: Opener) -> None:
    one = opened(crash_report())
    assert view_of(one)[:3:2] == [0, 100_000]
    picture = one.page.locator(FIRST_PICTURE)
    picture.get_by_role("button", name="Zoom in").click()
    assert view_of(one)[:3:2] == [25_000, 50_000]
    picture.get_by_role("button", name="Later").click()
    assert view_of(one)[0] > 25_000
    picture.locator(".plot").focus()
    one.page.keyboard.press("+")
    assert view_of(one)[2] == 25_000
    one.page.mouse.move(*point(one, 2, 0.5))
    one.page.keyboard.down("Control")
    one.page.mouse.wheel(0, -200)
    one.page.keyboard.up("Control")
    one.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert view_of(one)[2] < 25_000
    picture.locator(".plot").focus()
    one.page.keyboard.press("0")
    assert view_of(one)[:3:2] == [0, 100_000]


def test_dragging_moves_the_picture_and_opens_nothing(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.locator(FIRST_PICTURE).get_by_role("button", name="Zoom in").click()
    x, y = point(one, 2, 0.5)
    one.page.mouse.move(x, y)
    one.page.mouse.down()
    one.page.mouse.move(x - 200, y, steps=4)
    one.page.mouse.up()
    assert view_of(one)[0] > 25_000
    assert one.page.locator("#panel").is_hidden()


def test_the_keyboard_walks_over_lanes_and_marks(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.locator(f"{FIRST_PICTURE} .plot").focus()
    for key in ("ArrowDown", "ArrowRight"):
        one.page.keyboard.press(key)
    assert "payments-2" in one.page.locator("#says").inner_text()
    assert "session expired" in one.page.locator("#says").inner_text()
    one.page.keyboard.press("Enter")
    assert "server.log:4711" in one.page.locator("#panel").inner_text()


def repeating_report() -> Report:
    """A member that is told the same five times within a tenth of a second, and once again much later."""
    report = crash_report()
    history = report.groups[0]
    lane = next(one for one in history.lanes if one.name == "payments-1")
    often = [Mark(at=at(133 + index * 0.02), kind="join-failed", label="join failed", severity="fault",
                  evidence=a_line("payments-1/app.log", 900 + index, 133 + index * 0.02, f"JoinGroup failed {index}"))
             for index in (0, 1, 2, 3, 4, 400)]  # fmt: skip
    lanes = tuple(replace(one, marks=tuple(often)) if one is lane else one for one in history.lanes)
    return replace(report, groups=(replace(history, lanes=lanes),))


def folded_mark(one: Opened) -> tuple[float, float]:
    box = one.page.locator(f"{FIRST_PICTURE} [data-row='{row_named(one, 'payments-1')}'] .dot").first.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_repeated_marks_are_folded_with_their_count_and_listed_with_all_their_lines(opened: Opener) -> None:
    one = opened(repeating_report())
    marks = f"{FIRST_PICTURE} [data-row='{row_named(one, 'payments-1')}'] .dot"
    shown = f"{marks}:not(.folded)"
    assert (one.page.locator(marks).count(), one.page.locator(shown).count()) == (6, 2)
    assert one.page.locator(f"{FIRST_PICTURE} .counts text").all_text_contents() == ["\u00d75"]
    # One band from the first to the last of them.
    assert not (one.page.locator(shown).first.get_attribute("d") or "h0").endswith("h0")
    one.page.mouse.move(*folded_mark(one))
    assert "join failed, 5 times" in one.page.locator("#tip").inner_text()
    one.page.mouse.click(*folded_mark(one))
    assert "join failed, 5 times" in one.page.locator("#panel-title").inner_text()
    assert one.page.locator("#panel pre").count() == 5
    assert not one.complaints


def test_zooming_in_takes_folded_marks_apart(opened: Opener) -> None:
    one = opened(repeating_report())
    x, y = on_mark(one, "notice")
    one.page.mouse.move(x, y)
    one.page.keyboard.down("Control")
    for _ in range(60):
        one.page.mouse.wheel(0, -120)
    one.page.keyboard.up("Control")
    one.page.wait_for_function(f"document.querySelectorAll('{FIRST_PICTURE} .dot.folded').length === 0")
    assert one.page.locator(f"{FIRST_PICTURE} .counts text").count() == 0
    one.page.locator(FIRST_PICTURE).get_by_role("button", name="All").click()
    assert one.page.locator(f"{FIRST_PICTURE} .dot.folded").count() == 4


def test_the_keyboard_steps_over_folded_marks_at_once(opened: Opener) -> None:
    one = opened(repeating_report())
    one.page.locator(f"{FIRST_PICTURE} .plot").focus()
    says, lane = one.page.locator("#says"), row_named(one, "payments-1")
    for key in ("ArrowDown",) * lane + ("ArrowRight",):
        one.page.keyboard.press(key)
    assert "join failed, 5 times" in says.inner_text()
    one.page.keyboard.press("ArrowRight")
    assert "join failed" in says.inner_text()
    assert "times" not in says.inner_text()


def test_nothing_needs_a_mouse(opened: Opener) -> None:
    one = opened(crash_report())
    focused = "document.activeElement.className || document.activeElement.id || document.activeElement.textContent"
    reached = []
    for _ in range(20):
        one.page.keyboard.press("Tab")
        reached.append(one.page.evaluate(focused))
        if reached[-1] == "plot":
            break
    assert reached[0] == "skip"
    assert {"filter-cause", "filter-member", "zone"} <= set(reached)
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        one.page.keyboard.press(key)
    assert one.page.evaluate(focused) == "panel"
    one.page.keyboard.press("Tab")
    assert one.page.evaluate(focused) == "panel-close"
    one.page.keyboard.press("Escape")
    assert one.page.locator("#panel").is_hidden()
    assert one.page.evaluate(focused) == "plot"


def test_a_span_without_its_own_lines_shows_those_of_its_time(opened: Opener) -> None:
    report = crash_report()
    lanes = tuple(replace(lane, marks=()) if lane.name == "payments-3" else lane for lane in report.groups[0].lanes)
    one = opened(replace(report, groups=(replace(report.groups[0], lanes=lanes),)))
    one.page.mouse.click(*point(one, row_named(one, "payments-3"), 0.7))
    assert one.page.locator("#panel").is_visible()
    assert one.page.locator("#panel-lines pre").count() >= 1


def test_the_timeline_table_is_shown_without_javascript(opened: Opener) -> None:
    one = opened(crash_report(), java_script_enabled=False)
    one.page.locator(".group summary", has_text="events with their lines").click()
    assert one.page.get_by_role("region", name="Timeline").get_by_text("broker-1/server.log:4711").is_visible()


def test_times_switch_to_local_and_back(opened: Opener) -> None:
    one = opened(crash_report(), timezone_id="Asia/Tokyo")
    first = one.page.locator(".chain time").first
    assert first.inner_text() == "10:01:26.000"
    one.page.get_by_role("button", name="Local time").click()
    assert first.inner_text() == "19:01:26.000"
    assert "Asia/Tokyo" in one.page.locator("#zone-name").inner_text()
    assert "19:0" in (one.page.locator(f"{FIRST_PICTURE} .ticks").text_content() or "")
    one.page.get_by_role("button", name="Local time").click()
    assert first.inner_text() == "10:01:26.000"


def test_a_group_filter_leaves_that_group(opened: Opener) -> None:
    one = opened(many_groups(12))
    one.page.get_by_label("Group", exact=True).select_option("payments-eu-003 on prod")
    assert one.page.locator("tbody tr[data-group]:visible").count() == 1
    assert one.page.locator("details.group:visible").count() == 1


def test_a_cause_filter_leaves_that_cause(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.get_by_label("Cause", exact=True).select_option("startup")
    assert one.page.locator("article.incident").is_hidden()
    assert one.page.locator("details.incident:visible").count() == 1


def test_a_member_filter_leaves_its_lane(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.get_by_label("Member", exact=True).fill("payments-3")
    names = one.page.locator(f"{FIRST_PICTURE} .names li:visible").all_inner_texts()
    assert names == ["generations", "payments-3"]
    assert view_of(one)[3] == 52


def test_a_step_of_the_chain_is_shown_in_the_picture(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.locator(".chain button").nth(1).click()
    assert view_of(one)[2] < 100_000
    assert one.page.locator(".chain.lit").count() == 1


def test_a_link_of_the_overview_opens_the_incident(opened: Opener) -> None:
    one = opened(many_groups(12))
    one.page.locator("tbody a").nth(2).click()
    target = one.page.locator("details.incident[open]")
    target.first.wait_for()  # the browser tells the page of its new address a moment after the click
    assert target.count() == 1
    assert target.locator("h3", has_text="Proof").is_visible()


def test_only_pictures_that_can_be_seen_are_made_ready(opened: Opener) -> None:
    one = opened(many_groups(12))
    awake = one.page.locator(".picture .controls:not([hidden])")
    assert awake.count() == 1
    one.page.locator("details.group > summary").nth(3).click()
    one.page.locator("details.group[open] .controls:not([hidden])").wait_for()
    assert awake.count() == 2


def test_without_javascript_all_content_is_shown(opened: Opener) -> None:
    one = opened(crash_report(), java_script_enabled=False)
    assert one.page.locator("#filters").is_hidden()
    assert one.page.locator(".show:visible").count() == 0
    assert one.page.locator(f"{FIRST_PICTURE} .chart").is_visible()
    assert one.page.get_by_text("Find out what killed payments-2").is_visible()
    one.page.locator("details.incident summary").first.click()
    assert one.page.locator("details.incident").get_by_text("broker-1/server.log:4000").is_visible()
    one.screenshot("no-javascript")


def test_on_paper_everything_is_unfolded_and_nothing_asks_for_a_click(opened: Opener) -> None:
    one = opened(crash_report(), color_scheme="dark")
    one.page.emulate_media(media="print")
    one.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert one.page.locator("details.incident").get_by_text("broker-1/server.log:4000").is_visible()
    for gone in ("#filters", ".controls", ".show"):
        assert one.page.locator(gone).first.is_hidden()
    assert one.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    one.page.set_viewport_size({"width": 1017, "height": 720})  # A4 across, less the margins
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.screenshot("print")
    assert one.page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


@pytest.mark.parametrize("width", [1280, 390])
def test_why_a_cause_was_found_is_folded_away_and_fits_when_it_is_unfolded(opened: Opener, width: int) -> None:
    one = opened(weighed_report(), width=width)
    table = one.page.locator("table.signs").first
    assert table.is_hidden()
    one.page.get_by_text("Why: 3 causes against 4 signs").first.click()
    assert table.is_visible()
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(
    ("name", "width", "scheme"), [("light", 1280, "light"), ("dark", 1280, "dark"), ("narrow", 390, "light")]
)
def test_the_page_fits_its_window(opened: Opener, name: str, width: int, scheme: str) -> None:
    one = opened(crash_report(), width=width, color_scheme=scheme)
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert one.screenshot(name).stat().st_size > 20_000


@pytest.mark.parametrize(
    "report",
    [crash_report(), many_groups(4), weighed_report(), owned_report()],
    ids=["crash", "several-groups", "weighed", "owned"],
)
def test_axe_finds_nothing(opened: Opener, report: Report) -> None:
    one = opened(report)
    assert violations(one.page) == []
    one.page.emulate_media(color_scheme="dark")  # which changes colors and nothing else
    assert violations(one.page, "color-contrast") == []


@pytest.mark.parametrize("events", [100, 10_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_the_first_paint_of_a_busy_group_takes_less_than_two_seconds(opened: Opener, events: int) -> None:
    one = opened(many_events(events))
    paint = one.page.evaluate(FIRST_PAINT)
    assert 0 < paint < 2_000
