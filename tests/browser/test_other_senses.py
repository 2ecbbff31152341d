from __future__ import annotations

from itertools import pairwise

import pytest

from tests.browser.conftest import Opener
from tests.browser.looking import FIRST_PICTURE, point, view_of
from tests.report.building import crash_report
from tests.report.extremes import many_groups

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_theme_of_high_contrast_leaves_the_colours_that_carry_meaning(opened: Opener, scheme: str) -> None:
    one = opened(crash_report(), forced_colors="active", color_scheme=scheme)
    colours = "(node) => [getComputedStyle(node).fill, getComputedStyle(node).backgroundColor]"
    drawn = one.page.locator(f"{FIRST_PICTURE} .bar.member").first.evaluate(colours)[0]
    told = one.page.locator(f"{FIRST_PICTURE} .legend .member").evaluate(colours)[1]
    assert drawn == told
    one.screenshot(f"forced-colors-{scheme}")


def test_the_keys_of_the_browser_stay_the_browsers(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.locator(f"{FIRST_PICTURE} .plot").focus()
    for key in ("Control++", "Control+-", "Alt+ArrowLeft"):
        one.page.keyboard.press(key)
    assert view_of(one)[2] == 100_000
    assert one.page.locator("#tip").is_hidden()


def test_the_item_under_the_keyboard_cursor_is_announced_only_while_the_picture_has_focus(opened: Opener) -> None:
    one = opened(crash_report())
    one.page.locator(f"{FIRST_PICTURE} .plot").focus()
    one.page.keyboard.press("ArrowDown")
    assert one.page.locator("#tip").is_visible()
    one.page.keyboard.press("Tab")
    assert one.page.locator("#tip").is_hidden()


def test_a_screen_reader_announces_the_matches_of_a_filter_and_an_empty_result_is_shown_to_all_users(
    opened: Opener,
) -> None:
    one = opened(many_groups(12))
    one.page.locator("#filter-group").select_option(index=2)
    assert one.page.locator("#says").text_content() == "1 incident and 1 group shown"
    assert one.page.locator(".tally").is_hidden()
    one.page.locator("#filter-group").select_option(index=0)
    one.page.locator("#filter-member").fill("nobody")
    assert one.page.locator("#none").inner_text() == "No incident matches member nobody. Clear filters"
    one.page.locator("#filter-member").fill("")
    assert one.page.locator("#none").is_hidden()


def test_the_picture_is_named_and_says_how_it_is_used(opened: Opener) -> None:
    one = opened(crash_report())
    plot = one.page.locator(f"{FIRST_PICTURE} .plot")
    assert plot.get_attribute("role") == "application"  # else a screen reader keeps the arrow keys
    described = plot.get_attribute("aria-describedby")
    assert "arrows" in (one.page.locator(f"#{described}").text_content() or "")
    assert "4 lanes" in (plot.get_attribute("aria-label") or "")


def test_headings_follow_one_another_without_a_gap(opened: Opener) -> None:
    one = opened(many_groups(12))
    levels = one.page.evaluate("[...document.querySelectorAll('main :is(h1,h2,h3,h4)')].map(one => +one.tagName[1])")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_times_within_sentences_switch_too(opened: Opener) -> None:
    one = opened(crash_report(), timezone_id="Asia/Tokyo")
    said = one.page.locator("details.group .plain time").first
    before = said.inner_text()
    one.page.get_by_role("button", name="Local time").click()
    assert int(said.inner_text()[:2]) == (int(before[:2]) + 9) % 24


def test_who_wants_no_motion_sees_none(opened: Opener) -> None:
    one = opened(crash_report(), reduced_motion="reduce")
    assert one.page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    one.page.mouse.click(*point(one, 2, 0.2))
    assert one.page.evaluate("document.getAnimations().length") == 0
