"""What the coordinator answers is one fact, whichever client prints it: each fact in the words of each client.

The words are those of the clients' sources, behind the layout that each client writes by itself.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from rebalance_forensics.catalog.matcher import Catalog
from tests.diagnosis.other_clients import causes, incidents

JAVA, LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA, SARAMA = "Java", "librdkafka", "kafka-python", "aiokafka", "Sarama"
FRANZ_GO, KAFKA_GO, KAFKAJS, RUBY_KAFKA, BROD, PHPKAFKA = (
    "franz-go",
    "kafka-go",
    "KafkaJS",
    "ruby-kafka",
    "brod",
    "phpkafka",
)
LAYOUTS = {
    JAVA: "[2026-03-01 01:10:30,100] INFO [Consumer clientId=orders-1, groupId=payments] {} "
    "(org.apache.kafka.clients.consumer.internals.AbstractCoordinator)",
    LIBRDKAFKA: "%7|1772327430.100|HEARTBEAT|orders-1#consumer-1| [thrd:main]: {}",
    KAFKA_PYTHON: "2026-03-01 01:10:30,100 - kafka.coordinator - WARNING - {}",
    AIOKAFKA: "2026-03-01 01:10:30,100 - aiokafka.consumer.group_coordinator - WARNING - {}",
    SARAMA: "[sarama] 2026/03/01 01:10:30 {}",
    FRANZ_GO: "2026-03-01T01:10:30.100Z [INFO] {}",
    KAFKA_GO: "2026/03/01 01:10:30 {}",
    KAFKAJS: '{{"level":"ERROR","timestamp":"2026-03-01T01:10:30.100Z","logger":"kafkajs","message":"{}"}}',
    RUBY_KAFKA: "E, [2026-03-01T01:10:30.779345 #4711] ERROR -- : [[payments] {{orders: 0, 2}}:] {}",
    BROD: "01:10:30.100 [info] Group member (payments,coor=#PID<0.4032.0>,cb=#PID<0.4021.0>,generation=5):\n{}",
    PHPKAFKA: "[2026-03-01 01:10:30] ERROR: longlang\\phpkafka\\Exception\\KafkaErrorException: {}",
}
_RDKAFKA = (
    'Group "payments" heartbeat error response in state up (join-state steady, 4 partition(s) assigned): Broker: '
)
_KAFKAJS = "[Connection] Response Heartbeat(key: 12, version: 3); error: "
_NOT_STATIC = "it knows no group.instance.id"
WORDS: dict[str, dict[str, str]] = {
    "NOT_COORDINATOR": {
        JAVA: "Attempt to heartbeat failed since coordinator b2.example.net:9092 (id: 2147483645 rack: null) is either "
        "not started or not valid",
        LIBRDKAFKA: _RDKAFKA + "Not coordinator",
        KAFKA_PYTHON: "Heartbeat failed for group payments: coordinator (node coordinator-2) is either not started or "
        "not valid",
        AIOKAFKA: "Heartbeat failed for group payments: coordinator (node 2) is either not started or not valid",
        SARAMA: "kafka server: Request was for a consumer group that is not coordinated by this broker",
        FRANZ_GO: "heartbeat errored; group: payments, err: NOT_COORDINATOR: This is not the correct coordinator.",
        KAFKA_GO: "fetching message: [16] Not Coordinator For Group: the broker returns this error code if it receives "
        "an offset fetch or commit request for a group that it is not a coordinator for",
        KAFKAJS: _KAFKAJS + "This is not the correct coordinator for this group",
        RUBY_KAFKA: "Failed to find coordinator for group `payments`; retrying...",
        BROD: "re-joining group, reason:not_coordinator",
        PHPKAFKA: "[16] This is not the correct coordinator.",
    },
    "COORDINATOR_LOAD_IN_PROGRESS": {
        JAVA: "JoinGroup failed: Coordinator b2.example.net:9092 (id: 2147483645 rack: null) is loading the group.",
        LIBRDKAFKA: "JoinGroup response: GenerationId -1, Protocol , LeaderId , my MemberId orders-1-77aa, member "
        "metadata count 0: Broker: Coordinator load in progress",
        KAFKA_PYTHON: "Attempt to join group payments rejected since coordinator coordinator-2 is loading the group.",
        SARAMA: "kafka server: The coordinator is still loading offsets and cannot currently process requests",
        FRANZ_GO: "join group failed; group: payments, err: COORDINATOR_LOAD_IN_PROGRESS: The coordinator is loading "
        "and hence can't process requests.",
        KAFKA_GO: "Failed to join group payments: [14] Group Load In Progress: the broker returns this error code for "
        "an offset fetch request if it is still loading offsets (after a leader change for that offsets topic "
        "partition), "
        "or in response to group membership requests (such as heartbeats) when group metadata is being loaded by the "
        "coordinator",
        KAFKAJS: "[Connection] Response JoinGroup(key: 11, version: 5); error: The coordinator is loading and hence "
        "can't process requests for this group",
        RUBY_KAFKA: "Coordinator broker still loading, retrying in 1s...",
        BROD: "failed to join group\nreason: coordinator_load_in_progress",
        PHPKAFKA: "[14] The coordinator is loading and hence can't process requests.",
    },
    "UNKNOWN_MEMBER_ID": {
        JAVA: "Attempt to heartbeat failed for since member id orders-1-77aa is not valid.",
        LIBRDKAFKA: _RDKAFKA + "Unknown member",
        KAFKA_PYTHON: "Heartbeat: local member_id was not recognized; this consumer needs to re-join",
        AIOKAFKA: "Heartbeat failed: local member_id was not recognized; resetting and re-joining group",
        SARAMA: "kafka server: The provided member is not known in the current generation",
        FRANZ_GO: "heartbeat errored; group: payments, err: UNKNOWN_MEMBER_ID: The coordinator is not aware of this "
        "member.",
        KAFKA_GO: "fetching message: [25] Unknown Member ID: the member id is not in the current generation",
        KAFKAJS: _KAFKAJS + "The coordinator is not aware of this member",
        RUBY_KAFKA: "Error sending heartbeat: Kafka::UnknownMemberId",
        BROD: "re-joining group, reason:unknown_member_id",
        PHPKAFKA: "[25] The coordinator is not aware of this member.",
    },
    "ILLEGAL_GENERATION": {
        JAVA: "Attempt to heartbeat failed since generation 5 is not current",
        LIBRDKAFKA: _RDKAFKA + "Specified group generation id is not valid",
        KAFKA_PYTHON: "Heartbeat failed for group payments: generation id is not  current.",
        AIOKAFKA: "Heartbeat failed for group payments: generation id is not  current.",
        SARAMA: "kafka server: The provided generation id is not the current generation",
        FRANZ_GO: "heartbeat errored; group: payments, err: ILLEGAL_GENERATION: Specified group generation id is not "
        "valid.",
        KAFKA_GO: "fetching message: [22] Illegal Generation: the generation id provided in the request is not the "
        "current generation",
        KAFKAJS: _KAFKAJS + "Specified group generation id is not valid",
        RUBY_KAFKA: "Error sending heartbeat: Kafka::IllegalGeneration",
        BROD: "re-joining group, reason:illegal_generation",
        PHPKAFKA: "[22] Specified group generation id is not valid.",
    },
    "REBALANCE_IN_PROGRESS": {
        JAVA: "Attempt to heartbeat failed since group is rebalancing",
        LIBRDKAFKA: _RDKAFKA + "Group rebalance in progress",
        KAFKA_PYTHON: "Heartbeat failed for group payments because it is rebalancing",
        AIOKAFKA: "Heartbeat failed for group payments because it is rebalancing",
        SARAMA: "kafka server: A rebalance for the group is in progress. Please re-join the group",
        FRANZ_GO: "heartbeat errored; group: payments, err: REBALANCE_IN_PROGRESS: The group is rebalancing, so a "
        "rejoin is needed.",
        KAFKA_GO: "fetching message: [27] Rebalance In Progress: the coordinator has begun rebalancing the group, the "
        "client should rejoin the group",
        KAFKAJS: _KAFKAJS + "The group is rebalancing, so a rejoin is needed",
        RUBY_KAFKA: "Error sending heartbeat: Kafka::RebalanceInProgress",
        BROD: "re-joining group, reason:rebalance_in_progress",
        PHPKAFKA: "[27] The group is rebalancing, so a rejoin is needed.",
    },
    "FENCED_INSTANCE_ID": {
        JAVA: "Caught fenced group.instance.id Optional[pod-3] error in heartbeat thread",
        LIBRDKAFKA: "Fatal consumer error: Broker: Static consumer fenced by other consumer with same "
        "group.instance.id",
        KAFKA_PYTHON: "Heartbeat failed for group payments due to fenced id error: pod-3",
        SARAMA: "JoinGroup failed: group instance id pod-3 has been fenced",
        FRANZ_GO: "heartbeat errored; group: payments, err: FENCED_INSTANCE_ID: The broker rejected this static "
        "consumer since another consumer with the same group.instance.id has registered with a different member.id.",
        BROD: "Static member was fenced by another member using the same group_instance_id; check for duplicate group "
        "member configuration. Retrying stabilization after 1 seconds.",
        PHPKAFKA: "[82] The broker rejected this static consumer since another consumer with the same "
        "group.instance.id has registered with a different member.id.",
    },
}
NOT_LOGGED = {
    ("COORDINATOR_LOAD_IN_PROGRESS", AIOKAFKA): "group_coordinator.py retries and logs it at DEBUG",
    ("FENCED_INSTANCE_ID", AIOKAFKA): "group_coordinator.py handles no error 82 of its heartbeats",
    ("FENCED_INSTANCE_ID", KAFKA_GO): _NOT_STATIC,
    ("FENCED_INSTANCE_ID", KAFKAJS): _NOT_STATIC,
    ("FENCED_INSTANCE_ID", RUBY_KAFKA): _NOT_STATIC,
}


NO_INCIDENT = ("COORDINATOR_LOAD_IN_PROGRESS",)
"""A coordinator that has just started answers so for a moment, and the client retries."""
HANDLER_BLOCKS_HEARTBEATS = ["slow-processing"], "the loop or thread that runs the handlers sends the heartbeats, too"
DIFFERENT: dict[tuple[str, str], tuple[list[str], str]] = {
    **dict.fromkeys(
        product(("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"), (AIOKAFKA, KAFKAJS, RUBY_KAFKA)), HANDLER_BLOCKS_HEARTBEATS
    ),
    ("NOT_COORDINATOR", BROD): ([], "it names no request: one JoinGroup that is refused so is usual"),
    ("ILLEGAL_GENERATION", BROD): (
        ["unexplained"],
        "it names no request: a late commit is refused so although its member is in",
    ),
}
FACT_OF_REASON = {"already-rebalancing": "REBALANCE_IN_PROGRESS"}
FACT_OF_EVENT = {"InstanceFenced": "FENCED_INSTANCE_ID"}
LOGGED = dict.fromkeys(LAYOUTS, "{}") | {
    BROD: "Group member (payments,coor=#PID<0.4032.0>,cb=#PID<0.4021.0>,generation=5):\n{}",
    PHPKAFKA: "longlang\\phpkafka\\Exception\\KafkaErrorException: {}",
}
"""The message as its layout hands it to the catalog."""
CELLS = [(fact, client) for fact, words in WORDS.items() for client in words]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.load()


@pytest.mark.parametrize(("fact", "client"), [*product(WORDS, LAYOUTS)])
def test_each_client_logs_each_answer_or_has_a_reason_not_to(fact: str, client: str) -> None:
    assert (client in WORDS[fact]) != ((fact, client) in NOT_LOGGED)


@pytest.mark.parametrize(("fact", "client"), CELLS)
def test_each_answer_of_the_coordinator_has_one_name_in_every_client(catalog: Catalog, fact: str, client: str) -> None:
    match = catalog.match(LOGGED[client].format(WORDS[fact][client]))
    assert match is not None
    assert fact in (
        match.fields.get("error"),
        FACT_OF_EVENT.get(str(match.event)),
        FACT_OF_REASON.get(str(match.fields.get("why"))),
        errors_in(match.fields.get("cause")),
    )


@pytest.mark.parametrize(("fact", "client"), [(f, c) for f, c in CELLS if c != JAVA and f not in NO_INCIDENT])
def test_each_answer_of_the_coordinator_has_the_cause_that_it_has_in_javas_words(
    tmp_path: Path, fact: str, client: str
) -> None:
    (tmp_path / "java").mkdir()
    (tmp_path / "other").mkdir()
    expected = DIFFERENT.get((fact, client), (causes_of(tmp_path / "java", fact, JAVA), ""))[0]
    assert causes_of(tmp_path / "other", fact, client) == expected


def errors_in(cause: object) -> str | None:
    """The error that a client names as the cause of a lost coordinator."""
    return str(cause).removeprefix("error response ") if cause is not None else None


def causes_of(directory: Path, fact: str, client: str) -> list[str]:
    return causes(incidents(directory, LAYOUTS[client].format(WORDS[fact][client])))
