from __future__ import annotations

from dataclasses import replace

import pytest

from tests.diagnosis.closings import closes, comes
from tests.kafka_words import Release
from tests.story import Side, Story


@pytest.mark.parametrize("release", [(2, 4), (2, 8), (3, 9), (4, 1)])
def test_members_that_close_and_stay_away_were_scaled_in(release: Release) -> None:
    story = closes(Story(release=release).formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    assert story.causes() == ["scale-in"]
    assert story.blamed() == ["c-3"]
    assert story.the_incident().severity == "info"


@pytest.mark.parametrize("seen", ["brokers", "clients"])
def test_one_side_is_enough(seen: Side) -> None:
    story = closes(Story(seen=seen).formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    (removed, *_) = story.the_incident().root_causes
    assert (removed.cause, removed.confidence >= 0.75) == ("scale-in", seen == "clients")


def test_two_that_leave_soon_after_each_other_are_one_incident() -> None:
    story = Story().formed("c-1", "c-2", "c-3", "c-4")
    closes(story, "c-4", "01:10:00.000", ["c-1", "c-2", "c-3"])
    closes(story, "c-3", "01:10:09.000", ["c-1", "c-2"])
    assert story.causes() == ["scale-in"]
    assert story.blamed() == ["c-3", "c-4"]


def test_a_member_that_comes_back_was_not_scaled_in() -> None:
    story = closes(Story().formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    comes(story, "c-3", "01:10:08.000", ["c-1", "c-2", "c-3"])
    assert "scale-in" not in story.causes()


def test_a_member_that_closes_while_no_other_member_logs_may_be_part_of_a_shutdown() -> None:
    story = Story(seen="clients").formed("c-3", "c-1", "c-2")
    closes(story, "c-3", "01:10:00.000", ["c-1", "c-2"])
    alone = replace(story, events=[e for e in story.events if e.origin.path.startswith("c-3/")])
    incident = alone.the_incident()
    assert incident.root_causes[0].confidence < 0.9
    assert any(wanted.needs.startswith("server.log of") for wanted in incident.would_decide)


@pytest.mark.parametrize("after", [3, 2])
def test_a_member_whose_place_is_soon_taken_again_was_hardly_removed_for_good(after: int) -> None:
    story = closes(Story(seen="brokers").formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    story.broker("01:10:11.000", story.words.stabilized(3, after))
    story.goes_on("01:15:00.000")
    removed = next(i.root_causes[0] for i in story.incidents() if i.root_causes[0].cause == "scale-in")
    assert removed.confidence == (0.55 if after == 2 else 0.4)
