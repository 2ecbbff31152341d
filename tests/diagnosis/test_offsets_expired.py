from __future__ import annotations

from tests.diagnosis.closings import closes
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
