from __future__ import annotations

from tests.story import Story

REFUSED = (
    "JoinGroup failed due to fatal error: The group member's supported protocols are incompatible with those of "
    "existing "
    "members or first group member tried to join with empty protocol type or empty protocol list."
)


def test_a_newcomer_without_a_common_assignor_is_turned_away() -> None:
    story = Story().formed("c-1", "c-2").started("c-3", "01:10:00.000")
    story.client("c-3", "01:10:00.500", REFUSED, level="ERROR")
    assert story.causes() == ["inconsistent-protocol"]
    assert story.blamed() == ["c-3"]
    assert story.the_incident().severity == "warning"


def test_it_needed_no_rebalance() -> None:
    story = Story().formed("c-1", "c-2").client("c-3", "01:10:00.500", REFUSED, level="ERROR")
    assert story.the_incident().generations == ()


def test_members_that_agree_are_not_suspected() -> None:
    assert Story().formed("c-1", "c-2").causes() == []
