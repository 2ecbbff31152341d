"""The HTML report at a hundred to a hundred thousand events: its size, and how soon a browser shows it.

`python -m benchmarks.pages` writes benchmarks/PAGES.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.generate import generate
from benchmarks.measuring import ROOT, table
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.html import to_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

RESULTS = ROOT / "benchmarks" / "PAGES.md"
SHAPES = ((100, 1), (10_000, 1), (100_000, 1), (100_000, 200))
FIRST_PAINT = """new Promise(done => new PerformanceObserver((list) => {
  const paint = list.getEntriesByName('first-contentful-paint')[0];
  if (paint) done(paint.startTime);
}).observe({type: 'paint', buffered: true}))"""
ZOOM = """() => new Promise(done => {
  const begun = performance.now();
  document.querySelector('.picture [data-do="in"]').click();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
})"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How a browser took one page, in ms."""

    paint: float
    ready: float
    zoom: float
    nodes: int


def measure(directory: Path, *, runs: int) -> str:
    """One group that does nothing but rebalance, then the same number of events in many groups."""
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    titles = (
        "events",
        "groups",
        "incidents",
        "page MB",
        "written in s",
        "first paint ms",
        "usable ms",
        "zoom ms",
        "nodes",
    )
    return (
        "# The page at many events\n\n"
        "Logs of evictions and rejoins only, read, diagnosed and written as HTML; opened offline by Chromium, the "
        f"median of {runs}.\nUsable: its script has run. Zoom: from the click to the next frame. "
        "`python -m benchmarks.pages` repeats it.\n"
        f"Measured on {os.cpu_count()} cores, load {load} when it began.\n\n"
        + table(titles, list(_rows(directory, runs)))
        + "\n"
    )


def _rows(directory: Path, runs: int) -> Iterator[list[object]]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - the other benchmarks need no browser

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for events, groups in SHAPES:
            report = analyze([str(_log(directory, events, groups))], AnalyzeOptions(engine="local"))
            started = time.perf_counter()
            text = to_html(report)
            written = time.perf_counter() - started
            page = directory / f"page-{events}-{groups}.html"
            page.write_text(text, encoding="utf-8")
            shown = [_shown(browser, page) for _ in range(runs)]
            yield [
                *(events, groups, len(report.incidents), f"{len(text.encode()) / 1e6:.2f}", f"{written:.2f}"),
                *(f"{statistics.median(values):.0f}" for values in zip(*map(_times, shown), strict=True)),
                shown[0].nodes,
            ]
        browser.close()


def _log(directory: Path, events: int, groups: int) -> Path:
    """A log of exactly so many lines, each an event."""
    file = directory / f"page-{events}-{groups}.log"
    if not file.exists():
        much = generate(directory / "page-source.log", events * 256, share=1.0, seed=5, groups=groups)
        with much.open() as source, file.open("w") as log:
            log.writelines(islice(source, events))
        much.unlink()
    return file


def _times(shown: Shown) -> tuple[float, float, float]:
    return shown.paint, shown.ready, shown.zoom


def _shown(browser: Browser, path: Path) -> Shown:
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page: Page = context.new_page()
    page.goto(path.as_uri())
    shown = Shown(
        paint=page.evaluate(FIRST_PAINT),
        ready=page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"),
        zoom=page.evaluate(ZOOM),
        nodes=page.evaluate("document.querySelectorAll('*').length"),
    )
    context.close()
    return shown


def main() -> None:
    """Measure, print the table and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "rebalance-forensics-bench")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    text = measure(arguments.directory, runs=arguments.runs)
    RESULTS.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
