from __future__ import annotations

from tests.diagnosis.static_epochs import AGAIN, FORMED, OTHER, two_pods
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


def test_a_kip_848_member_that_leaves_with_epoch_minus_two_and_is_back_in_the_same_epoch_costs_no_rebalance() -> None:
    story = two_pods().closes("pod-1", FORMED, "01:10:00.000", 2, leaves_with=-2)
    story.joins("pod-1", AGAIN, "01:10:04.000", 2, "orders-0, orders-1")
    assert story.causes() == ["static-member-restart"]
    assert story.blamed() == ["pod-1"]
    assert story.the_incident().severity == "info"


def test_a_kip_848_member_that_comes_back_in_a_later_epoch_had_been_removed() -> None:
    story = two_pods().closes("pod-1", FORMED, "01:10:00.000", 2, leaves_with=-2)
    story.joins("pod-1", AGAIN, "01:12:00.000", 4, "orders-0, orders-1")
    assert "static-member-restart" not in story.causes()


def test_a_kip_848_member_that_leaves_with_epoch_minus_one_leaves_for_good() -> None:
    story = two_pods().closes("pod-1", FORMED, "01:10:00.000", 2, leaves_with=-1)
    story.given("pod-2", OTHER, "01:10:00.500", 3, "orders-0, orders-1")
    assert story.causes() == ["scale-in"]
