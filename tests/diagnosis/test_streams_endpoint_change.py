from __future__ import annotations

from tests.diagnosis.threads import shop
from tests.kafka_words import member_id


def test_an_instance_with_a_new_endpoint_makes_the_group_learn_it() -> None:
    story = shop()
    story.by_assignor(
        2,
        1,
        "01:10:00.000",
        "Requested to schedule immediate rebalance to update group with new host endpoint = node-2:9090.",
    )
    story.by_thread(2, 1, "01:10:00.100", "Triggering the followup rebalance scheduled for 0 ms.")
    story.round(
        "01:10:01.000",
        f"Updating metadata for member {member_id(story.consumer(2, 1))} during Stable; client reason: not provided",
    )
    assert story.causes() == ["streams-endpoint-change"]
    assert story.the_incident().severity == "info"
    assert story.the_incident().followups == ("endpoint",)


def test_an_instance_that_keeps_its_endpoint_changes_nothing() -> None:
    assert shop().causes() == []
