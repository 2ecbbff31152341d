"""Size and first paint of the HTML report with a hundred to a hundred thousand events, and for nights of many groups.

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
from operator import itemgetter
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
NIGHTS = ((25, 3), (25, 64), (300, 3))
"""Number of groups, and members per group."""
STALLS = 3
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
    """How long a browser took for a page, in ms."""

    paint: float
    ready: float
    zoom: float
    nodes: int


def measure(directory: Path, *, runs: int) -> str:
    """Measure one group that only rebalances, then the same number of events in many groups."""
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
        "Logs of evictions and rejoins only, and of a broker that stalls three times under many groups; read, "
        "diagnosed and written as HTML; opened offline by Chromium, the "
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
            yield _row(browser, _log(directory, events, groups), events, groups, runs)
        for groups, members in NIGHTS:
            log = night(directory, groups, members)
            with log.open() as lines:
                events = sum(1 for _ in lines)
            yield _row(browser, log, events, f"{groups} of {members} members, one broker stalls", runs)
        browser.close()


def _row(browser: Browser, log: Path, events: int, groups: int | str, runs: int) -> list[object]:
    report = analyze([str(log)], AnalyzeOptions(engine="local"))
    started = time.perf_counter()
    text = to_html(report)
    written = time.perf_counter() - started
    page = log.with_suffix(".html")
    page.write_text(text, encoding="utf-8")
    shown = [_shown(browser, page) for _ in range(runs)]
    return [
        *(events, groups, len(report.incidents), f"{len(text.encode()) / 1e6:.2f}", f"{written:.2f}"),
        *(f"{statistics.median(values):.0f}" for values in zip(*map(_times, shown), strict=True)),
        shown[0].nodes,
    ]


def night(directory: Path, groups: int, members: int) -> Path:
    """The log of a broker that is paused repeatedly: its groups' sessions expire, and their members rejoin."""
    file = directory / f"night-{groups}-{members}" / "broker-2" / "server.log"
    file.parent.mkdir(parents=True, exist_ok=True)
    words = "kafka.coordinator.group.GroupCoordinator"
    lines = [
        (240 * stall + 0.003 * group + after, line)
        for stall in range(1 + STALLS)
        for group in range(groups)
        for line, after in _rebalance(f"group-{group}", members, stall)
    ]
    with file.open("w") as log:
        for at, line in sorted(lines, key=itemgetter(0)):
            clock = f"{int(at) // 60:02}:{int(at) % 60:02},{int(at * 1000) % 1000:03}"
            log.write(f"[2026-03-01 01:{clock}] INFO [GroupCoordinator 2]: {line} ({words})\n")
    return file


def _rebalance(group: str, members: int, generation: int) -> Iterator[tuple[str, float]]:
    def member(number: int, life: int) -> str:
        return f"{group}-{number}-{life:08x}-0000-4000-8000-{number:012x}"

    if generation:
        for number in range(members):
            yield (
                f"Member {member(number, generation - 1)} in group {group} has failed, removing it from the group",
                0.0,
            )
    state = "PreparingRebalance" if generation else "Empty"
    for number in range(members):
        joined = member(number, generation)
        line = f"Dynamic member with unknown member id joins group {group} in {state} state. Created a new member id "
        yield f"{line}{joined} and request the member to rejoin with this id.", 0.4
    reason = f"Adding new member {member(0, generation)} with group instance id None; client reason: not provided"
    line = f"Preparing to rebalance group {group} in state PreparingRebalance with old generation {generation} "
    yield f"{line}(__consumer_offsets-13) (reason: {reason})", 0.45
    yield f"Stabilized group {group} generation {generation + 1} (__consumer_offsets-13) with {members} members", 3.5
    line = f"Assignment received from leader {member(0, generation)} for group {group} for generation {generation + 1}."
    yield f"{line} The group has {members} members, 0 of which are static.", 3.6


def _log(directory: Path, events: int, groups: int) -> Path:
    """A log with exactly this number of lines, each an event."""
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
    """Measure, print the table and write PAGES.md."""
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
