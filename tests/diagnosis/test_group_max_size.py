from __future__ import annotations

from tests.story import Story

FULL = "JoinGroup failed due to fatal error: The consumer group has reached its max size."


def test_a_member_too_many_is_turned_away() -> None:
    story = (
        Story().formed("c-1", "c-2").started("c-3", "01:10:00.000").client("c-3", "01:10:00.500", FULL, level="ERROR")
    )
    assert story.causes() == ["group-max-size"]
    assert story.blamed() == ["c-3"]
    assert story.the_incident().severity == "warning"


def test_a_rejection_that_the_client_and_its_application_log_happened_once() -> None:
    story = (
        Story().formed("c-1", "c-2").started("c-3", "01:10:00.000").client("c-3", "01:10:00.500", FULL, level="ERROR")
    )
    thrown = "Stopping\norg.apache.kafka.common.errors.GroupMaxSizeReachedException: Consumer group payments is full."
    story.line("c-3/app.log", "01:10:00.510", thrown, level="ERROR", logger="com.acme.Worker")
    cause = story.the_incident().root_causes[0]
    assert len(cause.evidence) == 2
    assert "The coordinator rejected the join once;" in cause.advice[0].why


def test_its_close_is_the_effect_not_the_cause() -> None:
    story = (
        Story().formed("c-1", "c-2").started("c-3", "01:10:00.000").client("c-3", "01:10:00.500", FULL, level="ERROR")
    )
    story.line(
        "c-3/app.log",
        "01:10:00.600",
        "App info kafka.consumer for c-3 unregistered",
        logger="org.apache.kafka.common.utils.AppInfoParser",
    )
    assert story.causes() == ["group-max-size"]


def test_a_group_with_room_has_no_such_trouble() -> None:
    assert Story().formed("c-1", "c-2").causes() == []
