"""The pictures of README and docs, taken anew from a sample: `make pictures`."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.terminal import render
from tests.browser.conftest import ARGUMENTS, CHROMIUM

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
SAMPLE = "sample_logs/rebalance-straggler"
IMAGES = ROOT / "docs" / "images"
WIDTH = 80
LINES_SHOWN = 37


def terminal(report: Report) -> str:
    """The first screen of a terminal as a page with one SVG."""
    shown = render(report, width=WIDTH, color=True).splitlines()[:LINES_SHOWN]
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi("\n".join(shown)))
    svg = console.export_svg(title=f"rebalance-forensics analyze {SAMPLE}")
    return f"<!DOCTYPE html><style>body {{ margin: 0; width: 1160px }}</style>{svg}"


def take(browser: Browser, page: str, name: str, *, width: int, height: int, scheme: str = "light") -> None:
    """One picture of one page."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(page, encoding="utf-8")
        context = browser.new_context(
            offline=True,
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        shown = context.new_page()
        shown.goto(file.as_uri())
        target = shown.locator("svg").first if name == "terminal" else None
        if target is not None:
            target.screenshot(path=IMAGES / f"{name}.png")
        else:
            shown.screenshot(path=IMAGES / f"{name}.png")
        context.close()


def main() -> None:
    """Take them all."""
    report = analyze([str(ROOT / SAMPLE)], AnalyzeOptions(engine="local"))
    page = to_html(report)
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        take(browser, page, "report", width=1280, height=1180)
        take(browser, page, "report-dark", width=1280, height=1180, scheme="dark")
        take(browser, page, "report-narrow", width=390, height=1100)
        take(browser, terminal(report), "terminal", width=1160, height=1000)
        browser.close()


if __name__ == "__main__":
    main()
