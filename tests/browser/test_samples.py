from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rebalance_forensics.report.html import to_html
from tests.browser.accessibility import Seen, violations
from tests.browser.conftest import Opener
from tests.incidents.sample import all_samples, report_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

IN_THE_DARK = 3
"""So many of them, those with the most kinds of elements, are looked at in the dark as well."""
Kind = tuple[str, ...]


class Kinds(HTMLParser):
    """Every kind of element of a page: its name, its classes and its role; pictures are not axe's business."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[Kind] = set()
        self.drawing = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element unless it is drawn."""
        given = dict(attrs)
        self.drawing += tag == "svg"
        if not self.drawing:
            self.found.add((tag, *sorted((given.get("class") or "").split()), given.get("role") or ""))

    def handle_endtag(self, tag: str) -> None:
        """Note where a drawing ends."""
        self.drawing -= tag == "svg"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The page of every sample."""
    return {sample.folder.name: to_html(report_of(sample.folder)) for sample in all_samples()}


def test_the_report_of_every_sample_opens_on_a_phone_and_shows_a_line(opened: Opener, pages: dict[str, str]) -> None:
    one = opened("<!DOCTYPE html><title>none</title>", width=390, height=844)
    for sample, text in pages.items():
        _show(one.page, text)
        assert one.page.locator("h1").is_visible(), sample
        assert one.page.locator(".picture").count() >= 1, sample
        assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), sample
        # A group with nothing above info is folded; its reader unfolds it.
        one.page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true")
        one.page.locator(".plot").first.focus()
        for _ in range(20):
            for key in ("ArrowRight", "Enter"):
                one.page.keyboard.press(key)
            if one.page.locator("#panel").is_visible():
                break
            one.page.keyboard.press("ArrowDown")  # a lane without marks has no line to show
        assert one.page.locator("#panel").is_visible(), sample


@pytest.mark.long
def test_axe_finds_nothing_in_samples_that_hold_every_kind_of_element(opened: Opener, pages: dict[str, str]) -> None:
    one = opened("<!DOCTYPE html><title>none</title>", width=390, height=844)
    seen: Seen = {}
    for place, sample in enumerate(_fewest(pages)):
        _show(one.page, pages[sample])
        assert violations(one.page, seen=seen) == [], sample
        if place >= IN_THE_DARK:
            continue
        one.page.emulate_media(color_scheme="dark")
        assert violations(one.page, "color-contrast") == [], sample
        one.page.emulate_media(color_scheme="light")


def test_verdict_impact_and_picture_are_on_the_first_screen(opened: Opener, pages: dict[str, str]) -> None:
    for width, height in ((1440, 900), (390, 844)):
        one = opened("<!DOCTYPE html><title>none</title>", width=width, height=height)
        for sample in ("slow-processing", "process-crash", "streams-shutdown", "network-partition"):
            _show(one.page, pages[sample])
            tops = [
                one.page.locator(part).first.evaluate("node => node.getBoundingClientRect().top")
                for part in ("h1", ".facts", ".picture .lanes", ".advice")
                if one.page.locator(part).count()
            ]
            assert tops == sorted(tops), sample
            lanes = one.page.locator(".picture .lanes").first.bounding_box()
            assert lanes, sample
            assert lanes["y"] + min(lanes["height"], 140) <= height, f"{sample} at {width} x {height}"


def test_every_incident_of_a_sample_is_printed_by_itself_on_two_pages(opened: Opener, pages: dict[str, str]) -> None:
    one = opened("<!DOCTYPE html><title>none</title>")
    for sample in _fewest(pages):
        _show(one.page, pages[sample])
        one.page.evaluate("() => { window.print = () => {}; }")
        one.page.evaluate("for (const folded of document.querySelectorAll('details.incident')) folded.open = true")
        for button in one.page.get_by_role("button", name="Print").all():
            button.click()
            assert one.page.pdf(prefer_css_page_size=True).count(b"/Type /Page\n") <= 2, sample


def _show(page: Page, text: str) -> None:
    """Put another page into the window without a new one."""
    path = Path(page.url.removeprefix("file://"))
    path.write_text(text, encoding="utf-8")
    page.goto(path.as_uri())


def _fewest(pages: dict[str, str]) -> list[str]:
    """Choose samples that together hold every kind of element that any of them holds."""
    kinds: dict[str, set[Kind]] = {}
    for sample, text in pages.items():
        parser = Kinds()
        parser.feed(text)
        kinds[sample] = parser.found
    missing, chosen = set[Kind]().union(*kinds.values()), list[str]()
    while missing:
        chosen.append(max(kinds, key=lambda sample: len(kinds[sample] & missing)))
        missing -= kinds[chosen[-1]]
    return chosen
