"""One line of a client, in its own words or its framework's: it shows that a group rebalanced, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.engine.confidence import PROBABLE
from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.refusals import InputError
from tests.diagnosis.other_clients import incidents

CONSUMER = (
    "2026-11-20 10:15:01.123  INFO 1 --- [main] o.a.k.c.c.internals.ConsumerCoordinator  : "
    "[Consumer clientId=orders-1, groupId=payments] "
)
STREAMS = "2026-11-20 10:15:01.123 INFO  [ledger-StreamThread-1] o.a.k.s.processor.internals.StreamThread - "
CLIENT = "2026-11-20 10:15:01.123 INFO  [ledger-StreamThread-1] org.apache.kafka.streams.KafkaStreams - "
SMALLRYE = "2026-11-20 10:15:01,123 INFO  [io.sma.rea.mes.kafka] (smallrye-kafka-consumer-thread-1) "
ZIO = "10:15:01.123 [zio-kafka-runloop-thread-0] DEBUG z.k.c.internal.RebalanceCoordinator - "
LISTENER = (
    "User provided listener com.acme.Offsets failed on invocation of onPartitionsRevoked for partitions [orders-0]"
)
OUT = {
    "Lost previously assigned partitions": f"{CONSUMER}Lost previously assigned partitions orders-0, orders-1",
    "KIP-848": f"{CONSUMER}Member 1zF6aWBvQIWSGzWZk8Yy0w with epoch 3 transitioned from STABLE to FENCED.",
    "zio-kafka": f"{ZIO}2 partitions are lost",
    "Spring": "2026-11-20 10:15:01.123  INFO 1 --- [ntainer#0-0-C-1] o.s.k.l.KafkaMessageListenerContainer    : "
    "payments: partitions lost: [orders-0]",
}
REBALANCING = {
    "a refused commit": f"{CONSUMER}Offset commit failed on partition orders-0 at offset 5: The group is rebalancing, "
    "so a rejoin is needed.",
    "a commit between two generations": f"{CONSUMER}Failing OffsetCommit request since the consumer is not part of an "
    "active group",
    "SyncGroup": f"{CONSUMER}SyncGroup failed: The group began another rebalance. Need to re-join the group. Sent "
    "generation was Generation{generationId=3, memberId='orders-1-0c', protocol='range'}",
    "partitions revoked": f"{CONSUMER}Revoke previously assigned partitions orders-0, orders-1",
    "a stream thread": f"{STREAMS}stream-thread [ledger-StreamThread-1] State transition from RUNNING to "
    "PARTITIONS_REVOKED",
    "a Streams client": f"{CLIENT}stream-client [ledger] State transition from RUNNING to REBALANCING",
    "SmallRye": f"{SMALLRYE}SRMSG18224: Executing consumer revoked re-balance listener for group 'payments'",
    "SmallRye, a record": f"{SMALLRYE}SRMSG18239: Acked record 5 on group 'payments' was ignored because the topic "
    "partition 'orders-0' was revoked for this instance. Record will likely be processed again.",
    "zio-kafka": f"{ZIO}1 partitions are revoked",
    "Storm": "2026-11-20 10:15:01.123 o.a.s.k.s.KafkaSpout Thread-4-spout-executor[2 2] [INFO] Partitions revoked. "
    "[consumer-group=payments, consumer=org.apache.kafka.clients.consumer.KafkaConsumer@5c, "
    "topic-partitions=[orders-0]]",
}
WORKER = "[2026-11-20 10:15:01,123] {} [Worker clientId=connect-1, groupId=payments] {} (o.a.k.c.r.d.DistributedHerder)"
COORDINATOR = "[2026-11-20 10:15:{:02},123] INFO {} (kafka.coordinator.group.{})"
LEADER = "leader orders-1-0c for group payments for generation 6"
NOT_STATIC = "group.instance.id None, member.id orders-1-6c1f616c-4f3a-438a-449d-b43b49428c4b"
POLL_TIMEOUT = "consumer poll timeout has expired. This means the time between subsequent calls to poll()"
SESSION_TIMEOUT = (
    "%4 SESSTMOUT … Consumer group session timed out (in join-state steady) after 60327 ms\n"
    "   without a successful response from the group coordinator"
)
HARMLESS = {
    "a stream thread that starts": f"{STREAMS}stream-thread [ledger-StreamThread-1] State transition from STARTING to "
    "PARTITIONS_REVOKED",
    "a Streams client that starts": f"{CLIENT}stream-client [ledger] State transition from CREATED to REBALANCING",
    "nothing to revoke": f"{CONSUMER}Revoke previously assigned partitions []",
    "a member id is issued": f"{CONSUMER}Rebalance failed.\norg.apache.kafka.common.errors.MemberIdRequiredException: "
    "The group member needs to have a valid member id before actually entering a consumer group.",
    "SmallRye starts": f"{SMALLRYE}SRMSG18223: Executing consumer assigned re-balance listener for group 'payments'",
}


def only(directory: Path, line: str) -> Incident:
    (incident,) = incidents(directory, line)
    assert incident.root_causes[0].confidence < PROBABLE
    return incident


@pytest.mark.parametrize("line", OUT.values(), ids=OUT)
def test_a_client_that_logs_the_end_of_its_membership_is_out_whatever_ended_it(tmp_path: Path, line: str) -> None:
    incident = only(tmp_path, line)
    assert (incident.severity, incident.root_causes[0].cause) == ("warning", "unexplained")
    assert "no longer in the group" in incident.summary


@pytest.mark.parametrize("line", REBALANCING.values(), ids=REBALANCING)
def test_a_line_from_the_middle_of_a_rebalance_shows_a_rebalance_and_blames_no_member(
    tmp_path: Path, line: str
) -> None:
    incident = only(tmp_path, line)
    assert (incident.severity, incident.root_causes[0].cause) == ("info", "unexplained")
    assert not incident.root_causes[0].culprits


@pytest.mark.parametrize("line", HARMLESS.values(), ids=HARMLESS)
def test_a_client_that_starts_shows_no_rebalance(tmp_path: Path, line: str) -> None:
    assert not incidents(tmp_path, line)


def test_partitions_that_are_given_up_may_also_belong_to_a_consumer_that_closes(tmp_path: Path) -> None:
    assert "or when they unsubscribe or close" in only(tmp_path, REBALANCING["partitions revoked"]).summary


def test_a_listener_that_throws_in_a_rebalance_is_a_separate_incident(tmp_path: Path) -> None:
    incident = only(tmp_path, CONSUMER + LISTENER)
    assert incident.severity == "warning"
    assert "onPartitionsRevoked" in incident.summary


def test_a_listener_of_kafka_python_that_was_slow_and_worked_did_not_fail(tmp_path: Path) -> None:
    rejoins = "2026-11-20 10:15:01,123 INFO kafka.coordinator.base Successfully joined group payments <Generation 2 "
    rejoins += "(member_id: orders-1-0000c1b2-1111-4c22-9d3a-aabbccddeeff, protocol: range)>"
    slow = "2026-11-20 10:15:01,635 WARNING kafka.coordinator.consumer Rebalance listener app.Listener for group "
    slow += "payments took 0.512s. Sync listeners block the consumer event loop (including heartbeats)"
    incident = only(tmp_path, f"{rejoins}\n{slow}")
    assert (incident.severity, "listener" in incident.summary) == ("info", False)


def test_a_listener_of_kafka_python_that_throws_ends_no_poll(tmp_path: Path) -> None:
    failed = (
        "User provided subscription rebalance listener app.Listener for group payments failed on_partitions_revoked"
    )
    incident = only(tmp_path, f"2026-11-20 10:15:01,123 ERROR kafka.coordinator.consumer {failed}")
    assert (incident.severity, "poll()" in incident.summary) == ("warning", False)


@pytest.mark.parametrize("error", ["org.apache.kafka.common.errors.DisconnectException", "java.lang.Boom: x"])
def test_a_rejoin_that_failed_once_is_named_with_its_error(tmp_path: Path, error: str) -> None:
    incident = only(tmp_path, f"{CONSUMER}Rebalance failed.\n{error}")
    assert "failed to rejoin once" in incident.summary


def test_a_streams_client_that_shuts_down_on_an_exception_names_it(tmp_path: Path) -> None:
    line = (
        f"{CLIENT}stream-client [ledger] Encountered the following exception during processing and the registered "
        "exception handler opted to SHUTDOWN_CLIENT. The streams client is going to shut down now. \n"
        "org.apache.kafka.streams.errors.StreamsException: Exception caught in process. taskId=0_1"
    )
    incident = only(tmp_path, line)
    assert "StreamsException" in incident.summary
    assert "shuts down" in incident.summary


def test_a_streams_client_in_error_stays_so(tmp_path: Path) -> None:
    line = f"{CLIENT}stream-client [ledger] State transition from REBALANCING to ERROR"
    assert "processes nothing until it is started again" in only(tmp_path, line).summary


@pytest.mark.parametrize("api", ["HEARTBEAT", "OFFSET_COMMIT", "SYNC_GROUP"])
def test_a_client_that_resets_its_generation_is_running_and_has_not_crashed(tmp_path: Path, api: str) -> None:
    line = f"{CONSUMER}Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from {api} response"
    incident = only(tmp_path, line)
    assert incident.root_causes[0].cause != "process-crash"
    assert "evicted" not in incident.summary


def test_a_client_that_gives_up_its_partitions_does_not_know_that_it_was_evicted(tmp_path: Path) -> None:
    line = (
        f"{CONSUMER}Giving away all assigned partitions as lost since generation has been reset,indicating that "
        "consumer is no longer part of the group"
    )
    assert "was no longer a member" in only(tmp_path, line).summary


def test_a_worker_that_lags_in_the_config_topic_is_reported_whether_or_not_it_has_to_rejoin(tmp_path: Path) -> None:
    behind = "Current config state offset -1 is behind group assignment 1, reading to end of config log"
    incident = only(tmp_path, WORKER.format("INFO", behind))
    assert (incident.severity, incident.root_causes[0].cause) == ("info", "unexplained")
    assert "offset -1, the assignment 1" in incident.summary


def test_a_coordinator_that_loads_a_group_started_or_took_it_over(tmp_path: Path) -> None:
    loaded = (
        "Loaded member MemberMetadata(memberId=orders-1-0c, groupInstanceId=None, clientId=orders-1, "
        "clientHost=/10.0.0.45, sessionTimeoutMs=30000, rebalanceTimeoutMs=30000, supportedProtocols=List(range)) in "
        "group payments with generation 26."
    )
    incident = only(tmp_path, COORDINATOR.format(1, loaded, "GroupMetadata$"))
    assert (incident.severity, incident.root_causes[0].culprits) == ("info", ())
    assert "loaded the group as its coordinator" in incident.summary


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Group payments with generation 6 is now empty (__consumer_offsets-3)", "lost its last member"),
        ("Unloading group metadata for payments with generation 6", "broker-1 stopped coordinating the group"),
        (f"Assignment received from {LEADER}. The group has 1 members, 0 of which are static.", "assignment arrived"),
        (f"Member[{NOT_STATIC}] in group payments has left, removing it from the group", "orders-1 left the group"),
    ],
)
def test_a_line_of_a_coordinator_by_itself_shows_what_it_says(tmp_path: Path, line: str, words: str) -> None:
    incident = only(tmp_path, COORDINATOR.format(1, f"[GroupCoordinator 1]: {line}", "GroupCoordinator"))
    assert (incident.severity, incident.root_causes[0].culprits) == ("info", ())
    assert words in incident.summary


def test_a_broker_that_starts_and_loads_its_groups_disturbs_none_of_them(tmp_path: Path) -> None:
    started = "[2026-11-20 10:14:50,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)"
    others = [
        f"[2026-11-20 10:14:5{n},000] INFO Created log for partition t-{n} (kafka.log.LogManager)" for n in range(9)
    ]
    loaded = COORDINATOR.format(
        1, "[GroupCoordinator 1]: Loading group metadata for payments with generation 26", "GroupCoordinator"
    )
    assert not incidents(tmp_path, started, *others, loaded, others[-1].replace("10:14", "10:16"))


def test_a_probing_rebalance_is_seen_without_the_thread_that_a_person_left_out(tmp_path: Path) -> None:
    only(tmp_path, "2026-11-20T10:15:01.123+09:00 ..... Requested to schedule probing rebalance for 1795140961123 ms.")


def test_registries_that_advertise_one_url_could_not_elect_a_leader(tmp_path: Path) -> None:
    line = (
        "[2026-11-20 10:15:01,123] INFO Finished rebalance with leader election result: Assignment{version=1, error=1, "
        "leader='sr-1-6df2', leaderIdentity=version=1,host=sr.example,port=8081,scheme=http,leaderEligibility=true} "
        "(io.confluent.kafka.schemaregistry.leaderelector.kafka.KafkaGroupLeaderElector)"
    )
    (incident,) = incidents(tmp_path, line)
    assert incident.root_causes[0].cause == "assignment-failure"
    assert "DUPLICATE_URLS" in incident.summary


@pytest.mark.parametrize(("created", "added"), [("*******", "****"), ("####", "######")])
def test_a_member_whose_id_was_masked_by_hand_is_one_member_however_many_marks_there_are(
    tmp_path: Path, created: str, added: str
) -> None:
    new = (
        f"[GroupCoordinator 3]: Dynamic Member with unknown member id joins group *** in Empty state. Created a new "
        f"member id {created} for this member and add to the group."
    )
    preparing = "[GroupCoordinator 3]: Preparing to rebalance group *** in state PreparingRebalance with old generation"
    found = incidents(
        tmp_path,
        COORDINATOR.format(1, new, "GroupCoordinator"),
        COORDINATOR.format(
            1,
            f"{preparing} 2 (__consumer_offsets-29) (reason: Adding new member {added} with group instance id None; "
            "client reason: not provided)",
            "GroupCoordinator",
        ),
        COORDINATOR.format(
            14,
            f"{preparing} 3 (__consumer_offsets-29) (reason: removing member {added} on heartbeat expiration)",
            "GroupCoordinator",
        ),
    )
    assert "one member joined" in found[0].summary
    assert [culprit.name for culprit in found[-1].root_causes[0].culprits] == ["***"]


def test_members_that_close_in_an_excerpt_are_not_reported_as_the_last_ones(tmp_path: Path) -> None:
    lines = [
        CONSUMER.replace("orders-1", f"orders-{n}")
        + f"Member orders-{n}-0c sending LeaveGroup request to coordinator b:9092 (id: 2147483646 rack: null) due to "
        "the consumer is being closed"
        for n in (1, 2)
    ]
    found = incidents(tmp_path, *lines)
    assert not any("The last" in incident.summary for incident in found)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[Consumer] Crash: KafkaJSNonRetriableError: no JSON", "crashed once (no JSON)"),
        (f"{POLL_TIMEOUT}\nwas longer than the configured max.poll.interval.ms", "did not call poll()"),
        (f"{SESSION_TIMEOUT} … revoking assignment and rejoining group", "considered its session expired"),
        (
            "Encountered the following exception during processing and the registered exception handler",
            "lost a stream thread to an exception;",
        ),
    ],
)
def test_a_message_copied_without_its_header_group_or_end_still_shows_what_it_says(
    tmp_path: Path, line: str, words: str
) -> None:
    (incident,) = incidents(tmp_path, line)
    assert (incident.severity, words in incident.summary) == ("warning", True)


def test_an_application_that_is_asked_to_shut_down_is_named_by_its_streams_client(tmp_path: Path) -> None:
    client = "ledger-7c1d5c61-5d0a-4f6d-9a57-0d3c1a1f2b11"
    (incident,) = incidents(
        tmp_path,
        f"10:15:01.123 [{client}-StreamThread-1] ERROR o.apache.kafka.streams.KafkaStreams - stream-client [{client}] "
        "Encountered the following exception during processing and sent shutdown request for the entire application.",
    )
    assert (incident.group, incident.root_causes[0].cause) == ("ledger", "streams-shutdown")


def test_a_leader_that_assigns_shows_a_rebalance_even_where_no_generation_is_seen_to_begin(tmp_path: Path) -> None:
    line = f"{CONSUMER}Finished assignment for group at generation 3: {{orders-1-0c=Assignment(partitions=[orders-0])}}"
    incident = only(tmp_path, line)
    assert (incident.severity, incident.root_causes[0].culprits) == ("info", ())
    assert "to itself, its only member" in incident.summary


@pytest.mark.parametrize(("given", "other"), [("[0], orders [1], orders [2]", "leaves"), ("[1]", "joins")])
def test_a_members_share_before_and_after_shows_whether_another_came_or_went(
    tmp_path: Path, given: str, other: str
) -> None:
    kcat = "% Group payments rebalanced (memberid rdkafka-77aa): "
    incident = only(tmp_path, f"{kcat}revoked: orders [0], orders [1]\n{kcat}assigned: orders {given}")
    assert incident.summary.endswith(f"as when another {other}.")


def test_a_leader_without_the_latest_configuration_is_named_with_the_rebalance_that_it_spoils(tmp_path: Path) -> None:
    joined = "Successfully joined group with generation 7"
    lacks = (
        "Was selected to perform assignments, but do not have latest config found in sync request. Returning an empty "
        "configuration to trigger re-sync."
    )
    incident = only(tmp_path, "\n".join(WORKER.format("INFO", line) for line in ("Rebalance started", lacks, joined)))
    assert "without configuration that another worker has" in incident.summary


def test_a_worker_that_did_not_poll_is_measured_by_its_own_timeout_and_shows_what_it_did(tmp_path: Path) -> None:
    doing = (
        "worker poll timeout has expired. The last known action being performed by the worker is : starting 1 "
        "connector(s) and task(s) and may contribute to the timeout. Please review the last action (if known) for any "
        "corrective actions. One of the ways of addressing this can be increasing the rebalance.timeout.ms "
        "configuration value. Please note that rebalance.timeout.ms also controls the maximum allowed time for each "
        "worker to join the group once a rebalance has begun so the set value should not be very high"
    )
    (incident,) = incidents(tmp_path, WORKER.format("WARN", doing))
    assert incident.root_causes[0].cause == "slow-processing"
    assert "did not call poll() for rebalance.timeout.ms" in incident.summary
    assert "it was starting 1 connector(s)" in incident.summary
    assert all("max.poll" not in advice.action for advice in incident.root_causes[0].advice)


def test_a_client_whose_line_another_logger_prints_inside_its_own_is_named(tmp_path: Path) -> None:
    leaving = CONSUMER.partition("[Consumer")[0].replace("o.a.k.c.c.internals.ConsumerCoordinator", "c.acme.LogBridge")
    expired = "poll timeout has expired."
    leave = "Member orders-1-0c sending LeaveGroup request to coordinator b:9092 (id: 2147483646 rack: null) due to"
    (incident,) = incidents(
        tmp_path,
        f'{leaving}kafka: "[Consumer clientId=orders-1, groupId=payments] {leave} consumer {expired}"',
    )
    cause = incident.root_causes[0]
    assert (incident.group, cause.cause, cause.culprits[0].name) == ("payments", "slow-processing", "orders-1")


def test_the_console_consumer_prints_what_its_client_threw(tmp_path: Path) -> None:
    (incident,) = incidents(
        tmp_path,
        "[2026-11-20 10:15:01,123] ERROR Error processing message, terminating consumer process:  "
        "(kafka.tools.ConsoleConsumer$)",
        "org.apache.kafka.common.errors.GroupAuthorizationException: Not authorized to access group: payments",
    )
    assert (incident.group, incident.root_causes[0].cause) == ("payments", "authorization-failure")


def test_a_rebalance_whose_leader_logs_its_generation_is_not_reported_without_one(tmp_path: Path) -> None:
    incident = only(
        tmp_path,
        f"{CONSUMER}Attempt to heartbeat failed since group is rebalancing\n"
        f"{CONSUMER}Finished assignment for group at generation 4: {{orders-1-0c=Assignment(partitions=[orders-0]), "
        "orders-1-77=Assignment(partitions=[orders-1])}",
    )
    assert "to 2 members" in incident.summary


def test_a_line_that_a_sentence_quotes_is_no_line_of_the_client(tmp_path: Path) -> None:
    log = CONSUMER.partition("[Consumer")[0].replace("o.a.k.c.c.internals.ConsumerCoordinator", "c.acme.Support")
    expired = "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer"
    quote = f"{log}customer says: [Consumer clientId=orders-1, groupId=payments] {expired}"
    with pytest.raises(InputError, match="no line about a consumer group"):
        incidents(tmp_path, quote)
