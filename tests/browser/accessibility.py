"""axe-core on an opened report: what it finds wrong for people who do not see it or have no mouse."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROWS = 5
RUN = """async (rules) => (await axe.run({exclude: ['.chart', '.axis']}, {resultTypes: ['violations'], ...rules}))
    .violations.map(one => [one.impact, one.id, one.nodes[0].html])"""


def violations(page: Page, *rules: str) -> list[list[str]]:
    """Unfold everything and run axe over it, over the given rules or all; of long tables and lists over their begin."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true")
    page.evaluate(
        "(rows) => { for (const body of document.querySelectorAll('tbody'))"
        " for (const row of [...body.rows].slice(rows)) row.remove();"
        " for (const list of document.querySelectorAll('.lines, .chain, .plain, .names, .pairs'))"
        " for (const item of [...list.children].slice(rows)) item.remove(); }",
        ROWS,
    )
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found: list[list[str]] = page.evaluate(RUN, {"runOnly": list(rules)} if rules else {})
    return found
