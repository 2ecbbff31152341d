from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes
from tests.kafka_words import Release
from tests.story import Story


@pytest.mark.parametrize("release", [(2, 2), (2, 4), (2, 8), (3, 9), (4, 1)])
def test_all_members_that_close_shut_the_group_down(release: Release) -> None:
    story = Story(release=release).formed("c-1", "c-2")
    closes(story, "c-2", "01:10:00.000", ["c-1"])
    closes(story, "c-1", "01:10:02.000", [])
    last = story.case().incidents[-1]
    assert last.root_causes[0].cause == "shutdown"
    assert last.severity == "info"
    assert story.causes() == []


def test_the_group_ends_empty() -> None:
    story = Story().formed("c-1", "c-2")
    closes(story, "c-2", "01:10:00.000", ["c-1"])
    closes(story, "c-1", "01:10:02.000", [])
    assert story.history().generations[-1].outcome == "empty"


def test_one_member_that_stays_keeps_the_group_up() -> None:
    story = closes(Story().formed("c-1", "c-2"), "c-2", "01:10:00.000", ["c-1"])
    assert "shutdown" not in [i.root_causes[0].cause for i in story.case().incidents]
