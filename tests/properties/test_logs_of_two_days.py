"""Logs of the same processes from two days: a log that ends does not show that its process crashed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

SAMPLES = Path(__file__).parents[2] / "sample_logs"

_ID = re.compile(r"\b([0-9a-f]{8})(?=-[0-9a-f]{4}-[0-9a-f]{4}-)")


def _of_the_day_before(text: str) -> str:
    """The text with times one day earlier and other member ids."""
    return _ID.sub(lambda found: found[1][::-1], text.replace("2026-11-21", "2026-11-20"))


@pytest.mark.parametrize("sample", ["topic-metadata-change", "enforced-rebalance"])
def test_members_whose_logs_end_a_day_before_they_start_again_did_not_surely_crash(sample: str, tmp_path: Path) -> None:
    for log in (SAMPLES / sample).rglob("*.log"):
        text = log.read_text(encoding="utf-8")
        place = tmp_path / log.relative_to(SAMPLES / sample)
        (place.parent / "day-before").mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        (place.parent / "day-before" / place.name).write_text(_of_the_day_before(text), encoding="utf-8")
    incidents = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    crashes = [c.confidence for i in incidents if (c := i.root_causes[0]).cause == "process-crash"]
    assert all(confidence < 0.75 for confidence in crashes), crashes
