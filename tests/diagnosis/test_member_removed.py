from __future__ import annotations

import pytest

from tests.diagnosis.closings import APP_INFO, closes
from tests.diagnosis.statics import static_group
from tests.story import Side, Story

ADMIN = "member was removed by an admin"


@pytest.mark.parametrize("seen", ["both", "brokers"])
def test_a_member_that_an_administrator_removes_is_found(seen: Side) -> None:
    story = Story(release=(3, 9), seen=seen).formed("c-1", "c-2")
    story.broker("01:10:00.000", story.words.left(story.id_of("c-2"), ADMIN))
    story.rebalanced("01:10:00.001", story.words.leaving(story.id_of("c-2"), ADMIN), ["c-1"])
    assert story.causes() == ["member-removed"]
    assert story.blamed() == ["c-2"]
    assert story.the_incident().summary == "An administrator removed c-2."


def test_a_static_member_sends_no_leave_group_so_other_words_are_an_administrators() -> None:
    story = static_group("pod-1", "pod-2")
    story.broker("01:10:00.000", story.words.left(story.id_of("pod-2"), "cleaning up after the migration"))
    story.rebalanced("01:10:00.001", story.words.leaving(story.id_of("pod-2"), "cleaning up"), ["pod-1"])
    assert story.causes() == ["member-removed"]


def test_a_dynamic_member_may_give_words_of_its_own_when_it_leaves() -> None:
    story = Story(release=(3, 9), seen="brokers").formed("c-1", "c-2")
    closes(story, "c-2", "01:10:00.000", ["c-1"], "done for today")
    assert "member-removed" not in story.causes()


def test_a_static_member_that_closes_at_that_moment_asked_for_it_itself() -> None:
    story = Story(release=(3, 9)).formed("c-1", "c-2")
    story.broker("01:10:00.000", story.words.left(story.id_of("c-2"), ADMIN))
    story.line("c-2/app.log", "01:10:00.200", "App info kafka.consumer for c-2 unregistered", logger=APP_INFO)
    story.rebalanced("01:10:00.001", story.words.leaving(story.id_of("c-2"), ADMIN), ["c-1"])
    assert story.causes() == ["scale-in"]
