from __future__ import annotations

import json
from pathlib import Path

import pytest

import rebalance_forensics as rf
from tests.diagnosis.closings import closes, comes
from tests.kafka_words import Release
from tests.story import Side, Story


@pytest.mark.parametrize("release", [(2, 4), (2, 8), (3, 9), (4, 1)])
def test_a_newcomer_is_a_scale_out(release: Release) -> None:
    story = comes(Story(release=release).formed("c-1", "c-2"), "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    assert story.causes() == ["scale-out"]
    assert story.blamed() == ["c-3"]
    assert story.the_incident().severity == "info"
    assert story.the_incident().generations == (2,)


@pytest.mark.parametrize("release", [(2, 4), (2, 6), (2, 8), (3, 9)])
@pytest.mark.parametrize("seen", ["brokers", "clients"])
def test_one_side_is_enough(release: Release, seen: Side) -> None:
    story = comes(Story(release=release, seen=seen).formed("c-1", "c-2"), "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    assert story.causes() == ["scale-out"]


def test_a_member_that_was_there_before_is_no_newcomer() -> None:
    story = closes(Story().formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    comes(story, "c-3", "01:10:08.000", ["c-1", "c-2", "c-3"])
    assert "scale-out" not in story.causes()


def test_forming_from_empty_is_no_scale_out() -> None:
    assert Story().formed("c-1", "c-2", "c-3").causes() == []


def test_a_newcomer_that_does_not_lead_came_to_others_whose_logs_are_missing() -> None:
    story = comes(Story(seen="clients").formed("c-1", "c-2"), "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    story.events = [e for e in story.events if e.speaker.file == "c-3/app.log"]
    assert [i.root_causes[0].cause for i in story.case().incidents] == ["scale-out"]


ADDED = (
    "Preparing to rebalance group payments in state PreparingRebalance with old generation 1 (__consumer_offsets-0) "
    "(reason: Adding new member c-4-85cf with group instance id None; client reason: not provided)"
)
PICKED = f"""[GroupCoordinator 2]: {ADDED}
[Consumer clientId=c-2, groupId=payments] (Re-)joining group
[GroupCoordinator 2]: Stabilized group payments generation 2 (__consumer_offsets-0) with 4 members
"""


def test_three_picked_lines_do_not_prove_that_a_member_is_new(tmp_path: Path) -> None:
    (tmp_path / "ticket.txt").write_text(PICKED)
    report = json.loads(rf.analyze(tmp_path, engine="local").to_json())
    causes = [incident["root_causes"][0] for incident in report["incidents"]]
    (added,) = [cause for cause in causes if cause["cause"] == "scale-out"]
    assert added["confidence"] < 0.9
    assert "the picked lines do not show whether they were members before" in added["narrative"]
