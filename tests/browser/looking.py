"""Where things are in a picture of an opened report."""

from __future__ import annotations

from tests.browser.conftest import Opened

FIRST_PICTURE = '[data-picture="picture-0"]'


def point(one: Opened, row: int, x: float, picture: str = FIRST_PICTURE) -> tuple[float, float]:
    """Find a place in a lane: `x` from 0 (left) to 1."""
    chart = one.page.locator(f"{picture} .chart")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box
    return box["x"] + x * box["width"], box["y"] + row * 26 + 13


def on_mark(one: Opened, kind: str) -> tuple[float, float]:
    """Find the first mark of a kind in the first picture."""
    mark = one.page.locator(f"{FIRST_PICTURE} .dot.{kind}").first
    mark.scroll_into_view_if_needed()
    x = one.page.eval_on_selector(
        f"{FIRST_PICTURE} .dot.{kind}",
        "node => node.getBoundingClientRect().x + node.getBoundingClientRect().width / 2",
    )
    box = mark.bounding_box()
    assert box
    return x, box["y"] + box["height"] / 2


def row_named(one: Opened, name: str, picture: str = FIRST_PICTURE) -> int:
    """Find the lane of a name."""
    return one.page.locator(f"{picture} .names li").all_inner_texts().index(name)


def view_of(one: Opened, picture: str = FIRST_PICTURE) -> list[float]:
    """Read which part of the picture is shown."""
    view = one.page.locator(f"{picture} .chart").get_attribute("viewBox")
    assert view
    return [float(number) for number in view.split()]
