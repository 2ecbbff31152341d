from __future__ import annotations

from tests.diagnosis.statics import replaced, static_group
from tests.story import Story


def test_a_static_member_that_returns_in_time_costs_no_rebalance() -> None:
    story = replaced(static_group("pod-1", "pod-2"), "pod-2", "01:10:00.000")
    assert story.causes() == ["static-member-restart"]
    assert story.blamed() == ["pod-2"]
    assert story.the_incident().severity == "info"
    assert story.the_incident().generations == ()


def test_all_of_them_one_after_another_are_still_no_rolling_restart() -> None:
    story = static_group("pod-1", "pod-2", "pod-3")
    for minute, pod in ((10, "pod-1"), (11, "pod-2"), (12, "pod-3")):
        replaced(story, pod, f"01:{minute}:00.000")
    assert story.causes() == ["static-member-restart"]


def test_dynamic_members_have_no_static_restart() -> None:
    story = Story().formed("c-1", "c-2").reborn("c-2")
    story.rebalanced("01:10:00.000", story.words.adding(story.id_of("c-2")), ["c-1", "c-2"])
    assert "static-member-restart" not in story.causes()
