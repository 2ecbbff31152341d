"""CALIBRATION.md is written by one command: what it measures of excerpts stands in what it writes."""

from __future__ import annotations

from pathlib import Path

from benchmarks.calibration.results import claims_of_excerpts, page
from benchmarks.excerpts import Claim, Drawn, Excerpt

LINES = Excerpt("process-crash", "server.log", ("a line",))


def drawn(*claims: tuple[float, bool]) -> Drawn:
    found = tuple(Claim(LINES, "process-crash", confidence, holds, ()) for confidence, holds in claims)
    return Drawn(found, excerpts=7, spoke=len(found))


def test_the_page_says_how_many_claims_of_excerpts_the_whole_logs_bear_out() -> None:
    excerpts = {"incidents": [drawn((0.97, True), (0.9, False)), drawn((0.55, True))], "samples": [drawn()]}
    rows = claims_of_excerpts(excerpts)
    assert "| confidence | 14 excerpts of incidents | 7 excerpts of samples |" in rows
    assert "| 0.90 and more | 1 of 2 | 0 of 0 |" in rows
    assert "| something found | 3 | 0 |" in rows
    assert page([], [], excerpts, minutes=1, jobs=1).endswith(rows)


def test_the_published_page_has_the_section() -> None:
    published = (Path(__file__).parents[2] / "benchmarks" / "CALIBRATION.md").read_text(encoding="utf-8")
    assert claims_of_excerpts({"incidents": [], "samples": []}).split("|")[0] in published
