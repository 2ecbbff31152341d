"""An exception ends a Connect worker or the threads of a Streams client: they leave, and it was nobody's plan."""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.other_clients import causes, incidents

WORKER = "[2026-11-20 10:{}] {} {}[Worker clientId=connect-1{}] {} (org.apache.kafka.connect.runtime.distributed.{})"
DIED = "Uncaught exception in herder work thread, exiting: "
MEMBER = "connect-1-8f2a0d6a-4a63-41e7-9b52-7e0a1f3c6d84"
JOINED = WORKER.format(
    "15:30,123",
    *("INFO", "", ", groupId=connect-cluster"),
    "Successfully joined group with generation Generation{generationId=4, memberId='" + MEMBER + "', "
    "protocol='sessioned'}",
    "WorkerCoordinator",
)
THREW = (
    "org.apache.kafka.connect.errors.ConnectException: Timed out while checking for or creating topic 'configs'",
    "\tat org.apache.kafka.connect.util.TopicAdmin.createTopics(TopicAdmin.java:258)",
)
STOPPING = "[2026-11-20 10:16:30,200] INFO Kafka Connect stopping (org.apache.kafka.connect.runtime.Connect)"
LEFT = WORKER.format(
    "16:31,123",
    *("INFO", "", ", groupId=connect-cluster"),
    f"Member {MEMBER} sending LeaveGroup request to coordinator kafka-0:9092 (id: 2147483647 rack: null) due to the "
    "consumer is being closed",
    "WorkerCoordinator",
)
STREAMS = "2026-11-20 10:{} {}  [app-5444a1ce-1041-45ca-b701-1b9a6786d4a6-StreamThread-1] o.a.k.{} - {}"
CLIENT = "app-5444a1ce-1041-45ca-b701-1b9a6786d4a6"


def died(group: str = ", groupId=connect-cluster") -> str:
    return WORKER.format("16:30,123", "ERROR", "", group, DIED, "DistributedHerder")


def test_a_worker_whose_herder_died_did_not_shut_down_as_planned(tmp_path: Path) -> None:
    found = incidents(tmp_path, JOINED, died(), *THREW, STOPPING, LEFT)
    assert "scale-in" not in causes(found)
    (left,) = [incident for incident in found if incident.root_causes[0].cause == "member-left"]
    assert "ConnectException" in left.root_causes[0].narrative


def test_the_end_of_a_worker_is_reported_from_its_last_line_alone(tmp_path: Path) -> None:
    for group in (", groupId=connect-cluster", ""):
        (incident,) = incidents(tmp_path, died(group), *THREW)
        (cause,) = incident.root_causes
        assert (cause.cause, incident.severity) == ("unexplained", "warning")
        assert "Timed out while checking for or creating topic" in cause.narrative


def test_a_worker_that_is_denied_its_topics_ends_because_of_missing_permissions(tmp_path: Path) -> None:
    # Its exceptions for answers have no stack.
    denied = "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [offsets]"
    (incident,) = incidents(tmp_path, died(), denied)
    assert (incident.root_causes[0].cause, incident.group) == ("authorization-failure", "connect-cluster")


def test_an_exception_below_a_line_is_no_rest_of_it_in_the_layout_of_confluents_images(tmp_path: Path) -> None:
    line = (
        "[ERROR] 2026-11-20 10:16:30,123 [DistributedHerder-connect-1-1] org.apache.kafka.connect.runtime.distributed."
        f"DistributedHerder run - [Worker clientId=connect-1, groupId=connect-cluster] {DIED.rstrip()}"
    )
    denied = "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [offsets]"
    assert causes(incidents(tmp_path, line, denied)) == ["authorization-failure"]


def test_a_sink_task_that_fails_before_2_3_closes_the_consumer_of_its_connectors_group(tmp_path: Path) -> None:
    failed = (
        "[2026-11-20 10:16:30,123] ERROR WorkerSinkTask{id=jdbc-sink-0} Task is being killed and will not recover "
        "until manually restarted (org.apache.kafka.connect.runtime.WorkerTask)"
    )
    leaving = (
        "[2026-11-20 10:16:30,318] INFO [Consumer clientId=consumer-7, groupId=connect-{}] Sending LeaveGroup request "
        "to coordinator kafka-1:9092 (id: 2147483646 rack: null) "
        "(org.apache.kafka.clients.consumer.internals.AbstractCoordinator)"
    )
    (incident,) = incidents(tmp_path, failed, leaving.format("jdbc-sink"))
    assert "its task jdbc-sink-0 failed" in incident.root_causes[0].narrative
    assert "member-left" not in causes(incidents(tmp_path, failed, leaving.format("s3-sink")))


def test_a_streams_client_whose_threads_all_died_has_left(tmp_path: Path) -> None:
    member = f"{CLIENT}-StreamThread-1-consumer-8f2a0d6a-4a63-41e7-9b52-7e0a1f3c6d84"
    found = incidents(
        tmp_path,
        STREAMS.format(
            *("15:30,123", "INFO", "c.c.internals.ConsumerCoordinator"),
            f"[Consumer clientId={CLIENT}-StreamThread-1-consumer, groupId=app] Successfully joined group with "
            f"generation Generation{{generationId=7, memberId='{member}', protocol='stream'}}",
        ),
        STREAMS.format(
            *("16:30,123", "ERROR", "s.processor.internals.StreamThread"),
            f"stream-thread [{CLIENT}-StreamThread-1] Encountered the following exception during processing and the "
            "thread is going to shut down: ",
        ),
        "java.lang.IllegalStateException: no such customer",
        "\tat com.example.Shop.run(Shop.java:12)",
        STREAMS.format(
            *("16:30,130", "INFO", "streams.KafkaStreams"),
            f"stream-client [{CLIENT}] State transition from RUNNING to ERROR",
        ),
    )
    (left,) = [incident for incident in found if incident.root_causes[0].cause == "member-left"]
    assert "IllegalStateException" in left.root_causes[0].narrative


def test_a_streams_client_without_a_thread_left_did_not_shut_down_cleanly(tmp_path: Path) -> None:
    died = "All stream threads have died. The instance will be in error state and should be closed."
    line = STREAMS.format(*("16:30,130", "WARN", "streams.KafkaStreams"), f"stream-client [{CLIENT}] {died}")
    (incident,) = incidents(tmp_path, line)
    assert (incident.group, incident.root_causes[0].cause) == ("app", "member-left")


def test_a_client_that_gives_up_its_coordinator_as_that_broker_shuts_down_shows_the_failover(tmp_path: Path) -> None:
    at = "2026-11-20 10:16:30.{}  INFO 1 --- [{}] {}  : {}"
    (incident,) = incidents(
        tmp_path,
        at.format(*("123", "main", "kafka.server.KafkaServer"), "[Kafka Server 0], Starting controlled shutdown"),
        at.format(
            *("156", "consumer-1", "o.a.k.c.c.internals.AbstractCoordinator"),
            "Marking the coordinator localhost:9092 (id: 2147483647 rack: null) dead for group payments",
        ),
    )
    (cause,) = incident.root_causes
    assert (cause.cause, [culprit.name for culprit in cause.culprits]) == ("coordinator-failover", ["broker-0"])
