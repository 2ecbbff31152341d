"""A line or two in which one client says that it lost its coordinator or its membership: never an empty report."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.model import Report
from tests.incidents.sample import LOCAL

TOO_LATE = (
    "Commit cannot be completed since the group has already rebalanced and assigned the partitions to another member. "
    "This means that the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, "
    "which typically implies that the poll loop is spending too much time message processing. You can address this "
    "either by increasing max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with "
    "max.poll.records."
)
NOT_AWARE = '"error":"The coordinator is not aware of this member"'
LONE = {
    "a commit after the group went on without it": f"2026-11-20 10:15:30,123 ERROR [consumer] o.a.k.Main - {TOO_LATE}",
    "the same as an exception": (
        f"org.apache.kafka.clients.consumer.CommitFailedException: {TOO_LATE}\n\tat a.B.c(B.java:1)"
    ),
    "the same in the listener container of Spring": (
        "2026-11-20 10:15:30.123 ERROR 1 --- [ntainer#0-0-C-1] essageListenerContainer$ListenerConsumer : Consumer "
        "exception\n\njava.lang.IllegalStateException: This error handler cannot process 'CommitFailedException's\n"
        "\tat org.springframework.kafka.listener.DefaultErrorHandler.handleOther(DefaultErrorHandler.java:192)\n"
        f"Caused by: org.apache.kafka.clients.consumer.CommitFailedException: {TOO_LATE}\n\tat a.B.c(B.java:1)"
    ),
    "a row of a table without its rule": (
        "| 2026-11-20T10:15:30.123Z | warn | [Consumer clientId=c-1, groupId=payments] Synchronous auto-commit of "
        f"offsets {{orders-0=OffsetAndMetadata{{offset=4, leaderEpoch=null, metadata=''}}}} failed: {TOO_LATE} |\n"
        "| 2026-11-20T10:15:31.123Z | warn | retried |"
    ),
    "Java before 0.10.1": "[2016-06-24 05:06:54,690] INFO Marking the coordinator 2147483645 dead. "
    "(org.apache.kafka.clients.consumer.internals.AbstractCoordinator)",
    "Sarama": "2018/08/16 14:29:50 Consumer error: kafka server: The provided member is not known in the current "
    "generation.",
    "librdkafka": "%4|1795169730.123|SESSTMOUT|rdkafka#consumer-1| [thrd:main]: Consumer group session timed out (in "
    "join-state steady) after 10484 ms without a successful response from the group coordinator (broker 2, last error "
    "was Success): revoking assignment and rejoining group",
    "kafka-python 1.0 without a coordinator": "WARNING:kafka.coordinator:Coordinator unknown during heartbeat -- will "
    "retry\nWARNING:kafka.coordinator:Heartbeat failed (GroupCoordinatorNotAvailableError); retrying",
    "KafkaJS through pino-pretty": "[10:15:30.123] ERROR (7): [Runner] The coordinator is not aware of this member, "
    're-joining the group\n    groupId: "payments"\n    memberId: "c-1"\n    retryCount: 0',
    "KafkaJS at the end of a sentence": '{"level":"ERROR","timestamp":"XXX","logger":"kafkajs","message":"[Runner] The '
    'coordinator is not aware of this member, re-joining the group","groupId":"payments","memberId":"c-1",'
    f'"retryCount":0,"retryTime":313,{NOT_AWARE}}}.',
    "KafkaJS with a bracket too many": '{"level":"ERROR","timestamp":"2026-09-17T12:35:16.757Z","logger":"kafkajs",'
    '"message":"[Runner] The coordinator is not aware of this member, re-joining the group","groupId":"payments",'
    f'"memberId":"c-1","retryCount":0,"retryTime":313,{NOT_AWARE}}}}}\n'
    '{"level":"ERROR","timestamp":"2026-09-17T12:35:18.757Z","logger":"kafkajs","message":"[Runner] The coordinator is '
    'not aware of this member, re-joining the group","groupId":"payments","memberId":"c-1","retryCount":0,'
    f'"retryTime":313,{NOT_AWARE}}}}}',
}


def report_of(text: str, directory: Path) -> Report:
    path = directory / "paste.txt"
    path.write_text(text + "\n")
    return analyze([str(path)], LOCAL)


@pytest.mark.parametrize("name", LONE)
def test_a_lone_sign_is_an_incident_and_the_report_says_what_would_decide(name: str, tmp_path: Path) -> None:
    report = report_of(LONE[name], tmp_path)
    assert len(report.incidents) == 1
    incident = report.incidents[0]
    assert incident.root_causes[0].confidence < 0.75
    assert incident.would_decide or report.gaps


@pytest.mark.parametrize("name", ["the same as an exception", "the same in the listener container of Spring"])
def test_a_commit_that_came_too_late_is_guessed_to_be_of_a_slow_loop(name: str, tmp_path: Path) -> None:
    (incident,) = report_of(LONE[name], tmp_path).incidents
    guesses = {each.cause: each.confidence for each in incident.root_causes}
    assert next(iter(guesses)) == "slow-processing"
    assert max(guesses.values()) < 0.5
    assert {"process-pause", "network-partition"} <= guesses.keys()


@pytest.mark.parametrize("broker", ["b1.example.net:9092", "<broker>", "***"])
def test_who_left_after_a_poll_timeout_is_known_whatever_the_broker_is_called(broker: str, tmp_path: Path) -> None:
    leaving = (
        f"What we see:\n\n Member c-1-77aa sending LeaveGroup request to coordinator {broker} (id: 2147483645 rack: "
        "null) due to consumer poll timeout has expired. This means the time between subsequent calls to poll() was "
        "longer than the configured max.poll.interval.ms.\n\nAny idea?"
    )
    report = report_of(leaving, tmp_path)
    assert [i.root_causes[0].cause for i in report.incidents] == ["slow-processing"]


LOST = (
    "2026-11-20 10:15:30,100 INFO [Consumer clientId=till-1, groupId=tills] Group coordinator b3.example.net:9094 (id: "
    "2147483644 rack: null) is unavailable or invalid due to cause: null.isDisconnected: true. Rediscovery will be "
    "attempted. (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
)
REFUSED = (
    "2026-11-20 10:15:30,090 WARN [Consumer clientId={client}, groupId=tills] Connection to node {node} "
    "(b3.example.net/10.0.0.3:9094) could not be established. Broker may not be available. "
    "(org.apache.kafka.clients.NetworkClient)"
)


@pytest.mark.parametrize("node", [3, 2147483644])
def test_a_client_that_cannot_connect_to_its_coordinator_says_to_which_broker(node: int, tmp_path: Path) -> None:
    """Integer.MAX_VALUE - 3 and 3 are two connections to one broker (AbstractCoordinator)."""
    refused = REFUSED.format(client="till-1", node=node)
    (incident,) = report_of(f"{refused}\n{LOST}", tmp_path).incidents
    cause = incident.root_causes[0]
    assert "till-1 lost its coordinator once and could not connect to it (broker-3)" in cause.narrative
    assert "could not be established" in cause.evidence[0].text


@pytest.mark.parametrize(("client", "node"), [("till-1", 2), ("till-1", 2147483645), ("till-2", 2147483644)])
def test_a_connection_to_another_broker_or_of_another_client_is_not_to_its_coordinator(
    client: str, node: int, tmp_path: Path
) -> None:
    incidents = report_of(f"{REFUSED.format(client=client, node=node)}\n{LOST}", tmp_path).incidents
    assert [i.summary for i in incidents if "could not connect" in i.summary] == []
    assert any("the coordinator, the network or the client" in i.summary for i in incidents)
