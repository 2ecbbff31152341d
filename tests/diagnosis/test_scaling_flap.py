from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes, comes
from tests.story import Side, Story


def test_the_same_members_that_come_and_go_again_and_again_are_a_flap() -> None:
    story = Story().formed("c-1", "c-2")
    for minute in (10, 12, 14, 16):
        comes(story, "c-3", f"01:{minute}:00.000", ["c-1", "c-2", "c-3"])
        closes(story, "c-3", f"01:{minute + 1}:00.000", ["c-1", "c-2"])
    assert story.causes() == ["scaling-flap"]
    assert story.blamed() == ["c-3"]
    assert story.the_incident().severity != "info"
    assert "c-3 left 4 times and came back 3 times" in story.the_incident().summary


def test_out_once_and_in_once_is_no_flap() -> None:
    story = comes(Story().formed("c-1", "c-2"), "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    closes(story, "c-3", "01:40:00.000", ["c-1", "c-2"])
    assert story.causes() == ["scale-out", "scale-in"]


@pytest.mark.parametrize("seen", ["both", "brokers", "clients"])
def test_a_process_that_makes_a_consumer_for_every_job_flaps_though_each_has_another_number(seen: Side) -> None:
    story = Story(seen=seen).formed("c-1", "c-2")
    for number in (1, 2, 3):
        job = f"consumer-payments-{number}"
        comes(story, job, f"01:{10 + number}:00.000", ["c-1", "c-2", job])
        closes(story, job, f"01:{10 + number}:20.000", ["c-1", "c-2"])
    assert story.causes() == ["scaling-flap"]
    assert "joined and left again 3 times while the other members stayed" in story.the_incident().summary


@pytest.mark.parametrize("seen", ["both", "brokers", "clients"])
def test_a_group_that_is_shut_down_whole_every_night_is_no_flap_though_one_member_joins_late(seen: Side) -> None:
    story = Story(seen=seen)
    for hour in (1, 3, 5):
        comes(story, "c-1", f"0{hour}:00:00.000", ["c-1"])
        comes(story, "c-2", f"0{hour}:00:03.000", ["c-1", "c-2"])
        comes(story, "c-3", f"0{hour}:10:00.000", ["c-1", "c-2", "c-3"])
        for second, stay in enumerate((["c-2", "c-3"], ["c-3"], [])):
            closes(story, f"c-{second + 1}", f"0{hour}:20:0{second}.000", stay)
    assert "scaling-flap" not in story.causes()


@pytest.mark.parametrize("seen", ["both", "brokers", "clients"])
@pytest.mark.parametrize("seconds", [3, 40])
def test_a_consumer_that_is_opened_again_within_seconds_is_not_the_work_of_an_autoscaler(
    seconds: int, seen: Side
) -> None:
    story = Story(seen=seen).formed("c-1", "c-2")
    comes(story, "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    for minute in (12, 13, 14):
        closes(story, "c-3", f"01:{minute}:00.000", ["c-1", "c-2"])
        comes(story, "c-3", f"01:{minute}:{seconds:02}.000", ["c-1", "c-2", "c-3"])
    cause = story.goes_on("01:40:00.000").the_incident().root_causes[0]
    assert (cause.cause, [culprit.name for culprit in cause.culprits]) == ("scaling-flap", ["c-3"])
    assert ("too soon for an autoscaler" in cause.narrative) is (seconds == 3)
    assert ("closes its consumer" in cause.advice[0].action) is (seconds == 3)
