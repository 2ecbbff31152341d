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


def incidents_of_two_days(sample: str, folder: Path) -> list[tuple[str, float]]:
    """The first cause of each incident and its confidence, in the logs of a sample and of the same the day before."""
    for log in (SAMPLES / sample).rglob("*.log"):
        text = log.read_text(encoding="utf-8")
        place = folder / log.relative_to(SAMPLES / sample)
        (place.parent / "day-before").mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        (place.parent / "day-before" / place.name).write_text(_of_the_day_before(text), encoding="utf-8")
    found = analyze([str(folder)], AnalyzeOptions(engine="local")).incidents
    return [(i.root_causes[0].cause, i.root_causes[0].confidence) for i in found]


@pytest.mark.parametrize("sample", ["topic-metadata-change", "enforced-rebalance", "thread-replacement"])
def test_members_whose_logs_end_a_day_before_they_start_again_did_not_surely_crash(sample: str, tmp_path: Path) -> None:
    crashes = [sure for cause, sure in incidents_of_two_days(sample, tmp_path) if cause == "process-crash"]
    assert all(confidence < 0.75 for confidence in crashes), crashes


@pytest.mark.parametrize("sample", ["member-left", "group-max-size", "slow-processing", "static-member-fenced"])
def test_a_group_of_which_no_log_shows_the_night_had_no_members_for_sure_in_the_morning(
    sample: str, tmp_path: Path
) -> None:
    """Its coordinator loads an empty group, and its members start it: no failover, no additions, no returns."""
    found = incidents_of_two_days(sample, tmp_path)
    of_members = {"coordinator-failover", "scale-out", "static-member-restart"}
    assert not [cause for cause, confidence in found if cause in of_members and confidence >= 0.75]
