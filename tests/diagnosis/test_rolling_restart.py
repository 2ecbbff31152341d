from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes, comes
from tests.kafka_words import Release
from tests.story import Side, Story

ALL = ["c-1", "c-2", "c-3"]


def deployed(release: Release = (3, 9), seen: Side = "both", bounces: int = 1) -> Story:
    story = Story(release=release, seen=seen).formed(*ALL)
    for minute, client in enumerate(ALL * bounces, 10):
        stay = [c for c in ALL if c != client]
        closes(story, client, f"01:{minute}:00.000", stay)
        comes(story, client, f"01:{minute}:08.000", [*stay, client])
    return story


@pytest.mark.parametrize("release", [(2, 4), (2, 8), (3, 9), (4, 1)])
def test_members_that_leave_and_return_one_after_another_are_a_deployment(release: Release) -> None:
    story = deployed(release)
    assert story.causes() == ["rolling-restart"]
    assert story.blamed() == ["payments"]
    assert story.the_incident().severity == "info"
    assert story.the_incident().generations == (2, 3, 4, 5, 6, 7)


@pytest.mark.parametrize("release", [(2, 4), (2, 6), (2, 8), (3, 9)])
@pytest.mark.parametrize("seen", ["brokers", "clients"])
def test_one_side_is_enough(release: Release, seen: Side) -> None:
    assert deployed(release, seen).causes() == ["rolling-restart"]


def test_one_member_that_restarts_for_ever_is_no_deployment() -> None:
    story = Story().formed(*ALL)
    for minute in (10, 11, 12):
        closes(story, "c-3", f"01:{minute}:00.000", ["c-1", "c-2"])
        comes(story, "c-3", f"01:{minute}:08.000", ALL)
    assert "rolling-restart" not in story.causes() or story.blamed() == ["c-3"]


@pytest.mark.parametrize("seen", ["both", "brokers", "clients"])
def test_two_deployments_in_a_row_are_deployments_still(seen: Side) -> None:
    story = deployed(seen=seen, bounces=2)
    assert set(story.causes()) == {"rolling-restart"}
    assert {i.severity for i in story.incidents()} == {"info"}
