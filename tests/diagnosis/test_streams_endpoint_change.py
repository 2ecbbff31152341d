from __future__ import annotations

from tests.diagnosis.statics import replaced, static_group
from tests.diagnosis.threads import shop
from tests.kafka_words import member_id
from tests.story import Story


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


def followed(reason: str) -> Story:
    """Both threads of an instance come back in time, and two seconds later one of them asks for a rebalance."""
    story = static_group("inst-1-1", "inst-2-1", "inst-2-2")
    for thread in ("inst-2-1", "inst-2-2"):
        replaced(story, thread, "01:10:00.000")
    asked = f"Updating metadata for member {story.id_of('inst-2-1')} during Stable; client reason: {reason}"
    story.broker("01:10:02.000", story.words.preparing(1, asked))
    story.broker("01:10:03.000", story.words.stabilized(2, 3))
    return story.broker("01:10:03.010", story.words.assigned(2, 3, story.id_of("inst-1-1")))


def test_brokers_alone_show_a_return_that_asks_for_a_rebalance_at_once() -> None:
    incident = followed("triggered followup rebalance scheduled for 0").the_incident()
    assert [c.cause for c in incident.root_causes] == ["streams-endpoint-change"]
    assert incident.root_causes[0].confidence == 0.75
    assert [c.name for c in incident.root_causes[0].culprits] == ["inst-2-1", "inst-2-2"]
    assert "the log of instance inst-2-1" in {wanted.needs for wanted in incident.would_decide}


def test_a_probing_rebalance_after_a_return_tells_of_no_endpoint() -> None:
    incidents = followed("triggered followup rebalance scheduled for 1772327400000").incidents()
    assert "streams-endpoint-change" not in {c.cause for incident in incidents for c in incident.root_causes}
