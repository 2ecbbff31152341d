"""A real Chromium for reports, offline; where the machine has none, these tests are skipped by name."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.model import Report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = (
    # Containers run tests as root, where Chromium refuses its sandbox.
    "--no-sandbox",
    "--disable-gpu",
    # A report must not talk to anybody, and neither may the browser that shows it.
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"

Opener = Callable[..., "Opened"]
Desk = Callable[..., "BrowserContext"]


class Opened:
    """A report in a browser, with everything it complained about or asked the network for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self._refuse(dialog.message))
        page.on("request", lambda request: self._note(request.url))

    def _refuse(self, message: str) -> None:
        self.complaints.append(f"dialog: {message}")

    def _note(self, url: str) -> None:
        if not url.startswith("file:"):
            self.complaints.append(f"request: {url}")

    def screenshot(self, name: str, *, whole: bool = True) -> Path:
        """Keep a picture of the page for people."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.page.screenshot(path=path, full_page=whole)
        return path


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start one browser for all tests."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with api.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def desk(chromium: Browser) -> Iterator[Desk]:
    """Keep a window for each way of looking: to start one takes longer than most tests."""
    windows: dict[str, BrowserContext] = {}

    def window(*, width: int, height: int, **settings: object) -> BrowserContext:
        key = repr((width, height, sorted(settings.items())))
        if key not in windows:
            windows[key] = chromium.new_context(
                offline=True,
                viewport={"width": width, "height": height},
                **settings,  # type: ignore[arg-type] # options of one test
            )
        return windows[key]

    yield window
    for context in windows.values():
        context.close()


@pytest.fixture
def opened(desk: Desk, tmp_path: Path) -> Iterator[Opener]:
    """Open a report offline; afterwards nothing may have been complained about."""
    everything: list[Opened] = []

    def show(report: Report | str, *, width: int = 1280, height: int = 900, **settings: object) -> Opened:
        path = tmp_path / f"report-{len(everything)}.html"
        path.write_text(report if isinstance(report, str) else page_of(report), encoding="utf-8")
        one = Opened(desk(width=width, height=height, **settings).new_page())
        everything.append(one)
        one.page.goto(path.as_uri())
        return one

    yield show
    for one in everything:
        one.page.close()
        assert one.complaints == []


@lru_cache(maxsize=32)
def page_of(report: Report) -> str:
    """Write the page of a report that several tests open."""
    return to_html(report)
