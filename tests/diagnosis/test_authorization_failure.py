from __future__ import annotations

from tests.story import Story

DENIED = "Topic authorization failed for topics [orders]"


def test_a_member_that_may_not_read_the_topic_is_blamed() -> None:
    story = Story().formed("c-1", "c-2").started("c-3", "01:10:00.000")
    story.client("c-3", "01:10:00.500", DENIED, level="ERROR", logger="org.apache.kafka.clients.Metadata")
    assert story.causes() == ["authorization-failure"]
    assert story.blamed() == ["c-3"]
    assert story.the_incident().severity == "warning"


def test_a_group_that_is_denied_in_the_heartbeat_thread_is_a_refusal_too() -> None:
    story = Story().formed("c-1", "c-2")
    story.client("c-2", "01:10:00.500", "A group authorization error occurred in the heartbeat thread", level="ERROR")
    assert story.causes() == ["authorization-failure"]


def test_nobody_is_denied_in_a_healthy_group() -> None:
    assert Story().formed("c-1", "c-2").causes() == []
