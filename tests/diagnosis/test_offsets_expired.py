from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes
from tests.epochs import EpochStory
from tests.story import Story

GM = "kafka.coordinator.group.GroupMetadataManager"


def deserted() -> Story:
    story = Story().formed("c-1", "c-2")
    closes(story, "c-2", "01:10:00.000", ["c-1"])
    return closes(story, "c-1", "01:10:02.000", [])


def test_the_offsets_of_an_empty_group_expire() -> None:
    story = deserted()
    story.broker(
        "01:20:00.000",
        "[GroupMetadataManager brokerId=2] Group payments transitioned to Dead in generation 3",
        logger=GM,
    )
    story.broker(
        "01:20:00.001", "[GroupMetadataManager brokerId=2] Removed 6 expired offsets in 7 milliseconds.", logger=GM
    )
    assert story.causes() == ["offsets-expired"]
    assert story.blamed() == ["payments"]


def test_a_cleanup_that_removes_nothing_is_quiet() -> None:
    story = deserted()
    story.broker(
        "01:20:00.001", "[GroupMetadataManager brokerId=2] Removed 0 expired offsets in 0 milliseconds.", logger=GM
    )
    assert story.causes() == []


@pytest.mark.parametrize(("partition", "expired"), [(13, True), (14, False)])
def test_no_line_says_that_a_kip_848_group_is_empty_before_its_offsets_expire(partition: int, *, expired: bool) -> None:
    story = EpochStory(release=(4, 1)).joins("c-1", "01:00:00.000").joins("c-2", "01:00:01.000")
    story.closes("c-2", "01:10:00.000", "c-1").closes("c-1", "01:10:02.000")
    message = "Generated 9 tombstone records while cleaning up group metadata in 2 milliseconds."
    place = f"[GroupCoordinator id=2 topic=__consumer_offsets partition={partition}]"
    story.broker("01:20:00.000", f"{place} {message}", 2, "org.apache.kafka.coordinator.group.GroupCoordinatorShard")
    assert ("offsets-expired" in story.causes()) is expired


def test_offsets_that_expire_while_the_group_is_at_work_again_are_those_of_another() -> None:
    story = deserted()
    story.reborn("c-1").started("c-1", "01:11:58.000")
    story.rebalanced("01:12:00.000", story.words.adding(story.id_of("c-1")), ["c-1"])
    removed = "[GroupMetadataManager brokerId=2] Removed 6 expired offsets in 7 milliseconds."
    story.broker("01:20:00.001", removed, logger=GM)
    assert "offsets-expired" not in story.causes()
