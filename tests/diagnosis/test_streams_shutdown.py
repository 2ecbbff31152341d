from __future__ import annotations

from tests.diagnosis.threads import Application, shop
from tests.kafka_words import member_id


def told_to_stop() -> Application:
    story = shop()
    story.by_instance(
        1,
        "01:10:00.000",
        "Encountered the following exception during processing and sent shutdown request for the "
        "entire application.\norg.apache.kafka.streams.errors.StreamsException: Exception caught in process. "
        "taskId=0_3, processor=KSTREAM-SOURCE-0000000000, topic=orders, partition=3, offset=724",
        "ERROR",
    )
    story.by_consumer(1, 1, "01:10:00.100", "Request joining group due to: Shutdown requested")
    story.round(
        "01:10:00.200",
        f"Updating metadata for member {member_id(story.consumer(1, 1))} during Stable; client reason: "
        "Shutdown requested",
    )
    for node in (1, 2):
        story.by_thread(
            node,
            1,
            "01:10:01.000",
            "Detected that shutdown was requested. All clients in this app will now begin to shutdown",
            "WARN",
        )
    return story


def test_the_instance_that_asked_everybody_to_stop_is_blamed() -> None:
    story = told_to_stop()
    assert "streams-shutdown" in story.causes()
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "streams-shutdown")
    assert {"node-1"} <= {n for c in found.root_causes[0].culprits for n in (c.name, *c.names)}
    assert len(found.root_causes[0].culprits) == 1
    assert found.severity == "critical"


def test_an_instance_that_closes_for_itself_asks_nobody() -> None:
    story = shop().by_instance(1, "01:10:00.000", "State transition from RUNNING to PENDING_SHUTDOWN")
    assert "streams-shutdown" not in story.causes()
