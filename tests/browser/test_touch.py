from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import Opened, Opener
from tests.browser.looking import FIRST_PICTURE, on_mark, point, view_of
from tests.report.building import crash_report

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession

pytestmark = pytest.mark.browser
Finger = tuple[float, float]


def phone(opened: Opener) -> Opened:
    return opened(crash_report(), width=390, has_touch=True, is_mobile=True)


def touch(session: CDPSession, kind: str, *fingers: Finger) -> None:
    points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(fingers)]
    session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_a_tap_next_to_a_mark_opens_its_lines(opened: Opener) -> None:
    one = phone(opened)
    x, y = on_mark(one, "fault")
    one.page.touchscreen.tap(x - 14, y)
    assert "has failed, removing it from the group" in one.page.locator("#panel").inner_text()


def test_the_hint_is_about_touch_on_a_phone_and_about_the_mouse_on_a_desktop(opened: Opener) -> None:
    for one, said in ((phone(opened), "tap for log lines"), (opened(crash_report()), "click for log lines")):
        shown = one.page.locator(f"{FIRST_PICTURE} .hint:visible")
        assert shown.count() == 1
        assert said in shown.inner_text()


def test_the_lane_that_was_tapped_is_not_covered_by_its_lines(opened: Opener) -> None:
    one = phone(opened)
    x, y = on_mark(one, "fault")
    one.page.set_viewport_size({"width": 390, "height": round(y) + 40})
    one.page.touchscreen.tap(x, y)
    one.page.locator("#panel").wait_for()
    one.page.wait_for_function(
        """() => { const lane = document.querySelector('.chart .cursor').getBoundingClientRect();
        return lane.bottom < document.getElementById('panel').getBoundingClientRect().top; }"""
    )


def test_two_fingers_zoom_around_what_lies_between_them(opened: Opener) -> None:
    one = phone(opened)
    session = one.page.context.new_cdp_session(one.page)
    x, y = point(one, 2, 0.5)
    touch(session, "touchStart", (x - 20, y), (x + 20, y))
    touch(session, "touchMove", (x - 40, y), (x + 40, y))
    touch(session, "touchEnd")
    left, _, span, _ = view_of(one)
    assert span == pytest.approx(50_000, rel=0.05)
    assert left + span / 2 == pytest.approx(50_000, rel=0.05)
    assert one.page.locator("#panel").is_hidden()


def test_one_finger_across_moves_the_picture_and_up_scrolls_the_page(opened: Opener) -> None:
    one = phone(opened)
    one.page.locator(FIRST_PICTURE).get_by_role("button", name="Zoom in").tap()
    session = one.page.context.new_cdp_session(one.page)
    x, y = point(one, 2, 0.5)
    before = view_of(one)[0]
    for kind, moved in (("touchStart", 0), ("touchMove", 20), ("touchMove", 60), ("touchMove", 90)):
        touch(session, kind, (x - moved, y))
    touch(session, "touchEnd")
    assert view_of(one)[0] > before
    scrolled, moved_to = one.page.evaluate("scrollY"), view_of(one)[0]
    x, y = point(one, 2, 0.5)
    for kind, moved in (("touchStart", 0), ("touchMove", 20), ("touchMove", 60), ("touchMove", 90)):
        touch(session, kind, (x, y - moved))
    touch(session, "touchEnd")
    one.page.wait_for_function("before => scrollY > before", arg=scrolled)
    assert view_of(one)[0] == moved_to
