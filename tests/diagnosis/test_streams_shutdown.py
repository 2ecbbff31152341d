from __future__ import annotations

import pytest

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


def test_what_the_others_heard_is_shown_though_the_thread_rejoins_again_and_again() -> None:
    story = told_to_stop()
    for tenth in range(1, 40):
        story.by_consumer(
            1, 1, f"01:10:0{tenth // 10}.{tenth % 10}50", "Request joining group due to: Shutdown requested"
        )
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "streams-shutdown")
    heard = [line for line in found.root_causes[0].evidence if "Detected that shutdown was requested" in line.text]
    assert len(heard) == 2


def test_an_instance_that_closes_by_itself_requests_no_shutdown() -> None:
    story = shop().by_instance(1, "01:10:00.000", "State transition from RUNNING to PENDING_SHUTDOWN")
    assert "streams-shutdown" not in story.causes()


def test_a_handler_that_opts_for_shutdown_client_stops_its_own_instance_only() -> None:
    story = shop().by_instance(
        2,
        "01:10:00.000",
        "Encountered the following exception during processing and the registered exception handler opted to "
        "SHUTDOWN_CLIENT. The streams client is going to shut down now.\njava.lang.IllegalStateException: schema 4711",
        "ERROR",
    )
    story.by_instance(2, "01:10:00.010", "State transition from RUNNING to PENDING_ERROR")
    story.by_instance(2, "01:10:01.000", "State transition from PENDING_ERROR to ERROR")
    assert "streams-shutdown" not in story.causes()


OF_2_3 = (
    "orders is unknown yet during rebalance, please make sure they have been pre-created before starting the "
    "Streams application."
)
OF_3_0 = (
    "The following source topics are missing/unknown: [orders]. Please make sure all source topics have been "
    "pre-created before starting the Streams application. "
)


@pytest.mark.parametrize(
    ("found", "received"),
    [
        (OF_2_3, "Received error code 1 - shutdown"),
        (OF_3_0, "Received error code INCOMPLETE_SOURCE_TOPIC_METADATA"),
    ],
)
def test_a_missing_source_topic_ends_every_instance(found: str, received: str) -> None:
    story = shop().by_assignor(1, 1, "01:10:00.000", found)
    for node in (1, 2):
        story.by_thread(node, 1, "01:10:00.100", received, "ERROR")
        story.by_instance(node, "01:10:00.200", "State transition from REBALANCING to ERROR")
    assert story.causes() == ["streams-shutdown"]
    assert story.the_incident().severity == "critical"
    assert "orders" in story.the_incident().summary
    assert [c.name for c in story.the_incident().root_causes[0].culprits] == ["node-1"]


def test_a_source_topic_that_appears_in_time_ends_nothing() -> None:
    story = shop().by_assignor(1, 1, "01:10:00.000", OF_3_0)
    assert "streams-shutdown" not in story.causes()


def test_an_instance_that_ends_long_after_its_topics_were_found_ends_for_another_reason() -> None:
    story = shop().by_assignor(1, 1, "01:10:00.000", OF_3_0)
    story.by_instance(1, "01:10:30.000", "State transition from RUNNING to PENDING_ERROR")
    assert "streams-shutdown" not in story.causes()


@pytest.mark.parametrize("response", ["SHUTDOWN_CLIENT", "REPLACE_THREAD"])
def test_a_thread_that_throws_missing_source_topic_learned_of_it_from_its_assignment(response: str) -> None:
    """StreamsRebalanceListener throws it for INCOMPLETE_SOURCE_TOPIC_METADATA alone, which only the leader sets."""
    story = shop().by_instance(
        2,
        "01:10:00.000",
        "Encountered the following exception during processing and the registered exception handler opted to "
        f"{response}. The streams client is going to shut down now.\n"
        "org.apache.kafka.streams.errors.MissingSourceTopicException: One or more source topics were missing during "
        "rebalance",
        "ERROR",
    )
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "streams-shutdown")
    assert found.root_causes[0].confidence >= 0.75
    assert found.root_causes[0].culprits == ()
    assert "source topics" in found.root_causes[0].advice[0].action


def received_by_the_other_instance(*, last_thread: bool) -> Application:
    """Only node-2 and the coordinator are heard; node-1 asks, with its last thread through a thread that it adds."""
    story = shop()
    story.by_thread(
        2,
        1,
        "01:10:00.900",
        "A Kafka Streams client in this Kafka Streams application is requesting to shutdown the application",
        "ERROR",
    )
    asks = 2 if last_thread else 1
    if last_thread:
        leaver = member_id(story.consumer(1, 1))
        reason = "client reason: the consumer unsubscribed from all topics"
        story.says(
            "01:09:59.900",
            f"[Group shop] Member {leaver} has left group through explicit `LeaveGroup` request; {reason}",
        )
    story.round(
        "01:10:01.200",
        f"Updating metadata for member {member_id(story.consumer(asks, 1))} during Stable; client reason: "
        "Shutdown requested",
    )
    return story


def test_an_instance_that_only_received_the_request_is_not_blamed_for_it() -> None:
    story = received_by_the_other_instance(last_thread=False)
    story.events = [e for e in story.events if "node-1/" not in e.origin.path]
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "streams-shutdown")
    assert "node-2" not in {n for c in found.root_causes[0].culprits for n in (c.name, *c.names)}


def test_a_coordinator_does_not_show_who_asked_through_a_thread_that_was_added_for_it() -> None:
    story = received_by_the_other_instance(last_thread=True)
    story.events = [e for e in story.events if e.speaker.role == "broker"]
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "streams-shutdown")
    assert found.root_causes[0].culprits == ()
