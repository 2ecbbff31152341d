from __future__ import annotations

from pathlib import Path

import pytest

import rebalance_forensics
from tests.browser.accessibility import violations
from tests.browser.conftest import Opener

pytestmark = pytest.mark.browser

IN_THE_DARK = ("rebalance-straggler", "probing-loop", "coordinator-failover")
SAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "sample_logs").glob("*/incident.yaml"))


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample.name for sample in SAMPLES])
def test_the_report_of_a_sample_opens_offline(opened: Opener, tmp_path: Path, sample: Path) -> None:
    page = tmp_path / "sample.html"
    rebalance_forensics.analyze(sample, engine="local").to_html(page)
    one = opened(page.read_text(encoding="utf-8"), width=390)
    assert one.page.locator("h1").is_visible()
    assert one.page.locator(".picture").count() >= 1
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # A group with nothing above info is folded; its reader unfolds it.
    one.page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true")
    mark = one.page.locator(".picture .dot").first
    mark.scroll_into_view_if_needed()
    one.page.locator(".plot").first.focus()
    for _ in range(one.page.locator(".picture .lane").count() + 20):
        one.page.keyboard.press("ArrowRight")
        one.page.keyboard.press("Enter")
        if one.page.locator("#panel").is_visible():
            break
        one.page.keyboard.press("ArrowDown")  # a lane without marks has no line to show
    assert one.page.locator("#panel").is_visible()
    assert violations(one.page) == []
    if sample.name in IN_THE_DARK:
        one.page.emulate_media(color_scheme="dark")
        assert violations(one.page, "color-contrast") == []
