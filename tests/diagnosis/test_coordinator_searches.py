"""Searches for a coordinator that brokers answer with COORDINATOR_NOT_AVAILABLE."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.engine.confidence import GUESS, UNSURE
from tests.diagnosis.other_clients import causes, incidents, kafka_go, kafkajs, rdkafka

ANSWERED = 'Group "payments" GroupCoordinator response error: Broker: Group coordinator not available'
SINCE_1_0 = (
    'Group "payments" FindCoordinator response error: COORDINATOR_NOT_AVAILABLE: The coordinator is not available.'
)
JAVA = (
    "2026-03-01 01:10:00,112 INFO [Consumer clientId=c-1, groupId=payments] {} "
    "(org.apache.kafka.clients.consumer.internals.AbstractCoordinator)"
)
PYTHON = (
    "2026-03-01 01:10:00,112 - kafka.coordinator - ERROR - Group Coordinator lookup for group payments failed: "
    "[Error 15] CoordinatorNotAvailableError"
)
KAFKA_GO = (
    "Unable to establish connection to consumer group coordinator for group payments: [15] Group Coordinator Not "
    "Available: the broker returns this error code for group coordinator requests, offset commits, and most group "
    "management requests if the offsets topic has not yet been created, or if the group coordinator is not active"
)
CRASHED = "[Consumer] Crash: KafkaJSGroupCoordinatorNotFound: Failed to find group coordinator"
GIVEN_UP = (
    "Group coordinator b1:9092 (id: 2147483646 rack: null) is unavailable or invalid due to cause: {}. "
    "isDisconnected: false. Rediscovery will be attempted."
)
IN_ANY_CLIENT = (
    rdkafka(0, "CGRPCOORD", ANSWERED),
    rdkafka(0, "CGRPCOORD", SINCE_1_0),
    JAVA.format("Group coordinator lookup failed: The coordinator is not available."),
    PYTHON,
    "[sarama] 2026/03/01 01:10:00 client/coordinator coordinator for consumer group payments is not available",
    "I, [2026-03-01T01:10:00.112 #1]  INFO -- : Group coordinator not available for group `payments`",
    kafka_go(10, KAFKA_GO),
    kafkajs(0, "ERROR", CRASHED, groupId="payments"),
)


@pytest.mark.parametrize("line", IN_ANY_CLIENT)
def test_a_group_without_a_coordinator_has_no_leader_of_its_offsets_partition(tmp_path: Path, line: str) -> None:
    (incident,) = incidents(tmp_path, line)
    assert incident.root_causes[0].cause == "offsets-topic-unavailable"
    assert "its broker was just restarting" in incident.root_causes[0].narrative


def test_one_answer_may_come_from_a_cluster_that_creates_the_offsets_topic_and_many_rather_not(tmp_path: Path) -> None:
    (once,) = incidents(tmp_path, rdkafka(0, "CGRPCOORD", ANSWERED))
    (again,) = incidents(tmp_path, *(rdkafka(second, "CGRPCOORD", ANSWERED) for second in (0, 1, 2, 3)))
    assert [once.root_causes[0].confidence, again.root_causes[0].confidence] == [GUESS, UNSURE]


def test_a_client_that_finds_its_coordinator_in_the_end_had_only_to_wait(tmp_path: Path) -> None:
    found = incidents(
        tmp_path,
        *(rdkafka(second, "CGRPCOORD", ANSWERED) for second in (0, 1, 2)),
        rdkafka(3, "CGRPCOORD", 'Group "payments" coordinator is 10.0.0.1:9092 id 1'),
    )
    assert "offsets-topic-unavailable" not in causes(found)


@pytest.mark.parametrize("cause", ["coordinator unavailable", "error response COORDINATOR_NOT_AVAILABLE"])
def test_a_coordinator_that_a_client_gave_up_was_found_before(tmp_path: Path, cause: str) -> None:
    """A broken connection, and what a coordinator answers a member, say nothing about a search."""
    found = incidents(tmp_path, JAVA.format(GIVEN_UP.format(cause)))
    assert "offsets-topic-unavailable" not in causes(found)
