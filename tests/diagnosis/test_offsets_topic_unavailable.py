from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.other_clients import incidents
from tests.kafka_words import generation_of, member_id
from tests.story import Side, Story, ms

INSUFFICIENT = (
    "[ReplicaManager broker=2] Error processing append operation on partition __consumer_offsets-13\n"
    "org.apache.kafka.common.errors.NotEnoughReplicasException: The size of the current ISR Set(2) is insufficient to "
    "satisfy the min.isr requirement of 2 for partition __consumer_offsets-13"
)


UNAVAILABLE = (
    "Group coordinator broker-2:9092 (id: 2147483645 rack: null isFenced: false) is unavailable or invalid due to "
    "cause: error response COORDINATOR_NOT_AVAILABLE. isDisconnected: false. Rediscovery will be attempted."
)


def cannot_write(rounds: int = 4, *, group: str = "payments", coordinator: int = 2) -> Story:
    story = Story(group=group, coordinator=coordinator).formed("c-1", "c-2")
    failure = (
        f"Error COORDINATOR_NOT_AVAILABLE when storing group assignment during SyncGroup (member: {member_id('c-1')})"
    )
    for number in range(rounds):
        at = f"01:10:{number:02}"
        story.broker(f"{at}.100", INSUFFICIENT, logger="kafka.server.ReplicaManager")
        for client in ("c-1", "c-2"):
            story.client(
                client,
                f"{at}.110",
                "SyncGroup failed: The coordinator is not available. Marking coordinator unknown. "
                f"Sent generation was {generation_of(story.generation, member_id(client))}",
            )
        story.rebalanced(f"{at}.120", failure, ["c-1", "c-2"])
    return story


def test_an_assignment_that_cannot_be_stored_is_the_fault_of_the_offsets_topic() -> None:
    story = cannot_write()
    assert story.causes() == ["offsets-topic-unavailable"]
    assert story.the_incident().severity == "critical"
    assert set(story.the_incident().generations) >= {2, 3, 4, 5}


def test_a_broker_that_refuses_the_write_leads_the_partition_so_another_one_is_missing() -> None:
    story = cannot_write()
    for second in range(3):
        story.client(
            "c-1",
            f"01:09:{50 + second}.000",
            "Connection to node 3 (/10.0.0.3:9092) could not be established. Broker may not be available.",
            level="WARN",
            logger="org.apache.kafka.clients.NetworkClient",
        )
    for second in range(5):
        story.client(
            "c-1",
            f"01:10:0{second}.111",
            "Group coordinator broker-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: error "
            "response COORDINATOR_NOT_AVAILABLE. isDisconnected: false. Rediscovery will be attempted.",
        )
    assert story.blamed() == ["broker-3"]


def test_it_is_not_called_an_assignment_failure() -> None:
    assert "assignment-failure" not in cannot_write().causes()


def test_other_topics_that_lack_replicas_do_not_concern_the_group() -> None:
    story = Story().formed("c-1", "c-2")
    story.broker(
        "01:10:00.100", INSUFFICIENT.replace("__consumer_offsets-13", "orders-3"), logger="kafka.server.ReplicaManager"
    )
    assert story.causes() == []


def test_coordinators_of_1_x_give_no_reason_but_begin_again_and_again_while_the_topic_refuses() -> None:
    story = Story(release=(1, 1), seen="brokers").formed("c-1", "c-2")
    for number in range(6):
        story.broker(f"01:10:{number:02}.100", INSUFFICIENT, logger="kafka.server.ReplicaManager")
        story.rebalanced(f"01:10:{number:02}.120", "", ["c-1", "c-2"])
    assert story.causes() == ["offsets-topic-unavailable"]


def commits_refused(lasting: int) -> Story:
    """The coordinator answers every commit with COORDINATOR_NOT_AVAILABLE while broker-3 cannot be reached."""
    story = Story(release=(4, 1)).formed("c-1", "c-2")
    for number in range(6):
        at = f"01:10:{number * lasting // 5:02}"
        for told in (
            "Connection to node 3 (/10.0.0.3:9092) could not be established. Node may not be available.",
            "Offset commit failed on partition orders-1 at offset 39: The coordinator is not available.",
            UNAVAILABLE,
        ):
            story.client("c-1", f"{at}.100", told)
    return story


def test_a_coordinator_that_answers_and_refuses_every_commit_for_long_cannot_write_them() -> None:
    assert commits_refused(lasting=20).causes() == ["offsets-topic-unavailable"]
    assert commits_refused(lasting=20).blamed() == ["broker-3"]


def test_a_coordinator_that_is_not_available_for_a_moment_moves() -> None:
    assert "offsets-topic-unavailable" not in commits_refused(lasting=3).causes()


def test_a_coordinator_that_moves_while_nothing_can_be_written_is_part_of_the_same_outage() -> None:
    story = cannot_write()
    loading = "[GroupCoordinator 3]: Loading group metadata for payments with generation 5"
    story.broker("01:10:02.500", loading, 3, "kafka.coordinator.group.GroupCoordinator")
    assert story.causes() == ["offsets-topic-unavailable"]
    later = cannot_write()
    later.broker("01:30:02.500", loading, 3, "kafka.coordinator.group.GroupCoordinator")
    assert "coordinator-failover" in later.causes()


def test_an_outage_goes_on_while_its_replica_is_away_however_rarely_the_group_writes() -> None:
    story = Story().formed("c-1", "c-2")
    shrink = "[Partition __consumer_offsets-13 broker=2] Shrinking ISR from 2,3 to 2. Leader: (highWatermark: 5, "
    shrink += "endOffset: 6). Out of sync replicas: (brokerId: 3, endOffset: 5)."
    story.broker("01:05:00.000", shrink, logger="kafka.cluster.Partition")
    failure = (
        f"Error COORDINATOR_NOT_AVAILABLE when storing group assignment during SyncGroup (member: {member_id('c-1')})"
    )
    for at in ("01:10:00.000", "01:20:00.000", "01:30:00.000"):
        story.rebalanced(at, failure, ["c-1", "c-2"])
    assert story.causes() == ["offsets-topic-unavailable"]
    assert story.blamed() == ["broker-3"]


def test_commits_that_are_refused_are_not_told_as_failed_rebalances() -> None:
    assert "offset commits failed" in commits_refused(lasting=20).the_incident().summary
    assert "every rebalance failed" in cannot_write().the_incident().summary


def refused_in(partition: int, seconds: int = 60) -> Story:
    """Brokers before 2.8: a rebalance waits for its first members while a partition refuses every write."""
    story = Story(release=(2, 7), seen="brokers").formed("c-1", "c-2")
    story.broker("01:09:00.000", story.words.preparing(1, story.words.adding(story.id_of("c-3"))))
    for second in range(0, seconds, 5):
        line = INSUFFICIENT.replace("__consumer_offsets-13", f"__consumer_offsets-{partition}")
        story.broker(f"01:09:{second:02}.100", line, logger="kafka.server.ReplicaManager")
    return story


def test_a_partition_that_refuses_every_write_for_long_stores_nothing_of_the_groups_in_it() -> None:
    assert refused_in(partition=13).causes() == ["offsets-topic-unavailable"]


def test_a_partition_of_other_groups_does_not_concern_the_group() -> None:
    assert "offsets-topic-unavailable" not in refused_in(partition=14).causes()


def test_a_partition_that_refuses_writes_for_a_moment_may_be_tried_again() -> None:
    assert "offsets-topic-unavailable" not in refused_in(partition=13, seconds=10).causes()


def test_an_outage_begins_with_the_first_append_to_the_groups_partition_that_failed() -> None:
    story = cannot_write()
    for partition in (13, 14):
        failed = INSUFFICIENT.replace("__consumer_offsets-13", f"__consumer_offsets-{partition}")
        story.broker(f"01:09:{53 - partition}.000", failed, logger="kafka.server.ReplicaManager")
    assert story.the_incident().started_at == ms("01:09:40.000")


def test_an_append_that_fails_as_the_leaders_assignment_arrives_leaves_it_unstored() -> None:
    story = Story().formed("c-1", "c-2")
    story.broker("01:10:00.037", "Stabilized group payments generation 3 (__consumer_offsets-13)")
    story.broker("01:10:00.037", "Assignment received from leader for group payments for generation 3")
    story.broker("01:10:00.038", INSUFFICIENT, logger="kafka.server.ReplicaManager")
    assert story.causes() == ["offsets-topic-unavailable"]


def test_a_write_that_was_refused_while_the_members_got_their_assignment_was_not_that_assignment() -> None:
    story = Story().formed("c-1", "c-2")
    story.rebalanced("01:10:00.010", "Adding new member c-3", ["c-1", "c-2", "c-3"])
    story.broker("01:10:00.525", INSUFFICIENT, logger="kafka.server.ReplicaManager")
    assert "offsets-topic-unavailable" not in story.causes()


def test_one_write_that_came_late_for_an_empty_group_is_no_proof_of_an_outage() -> None:
    story = Story(seen="brokers").formed("c-1")
    story.broker("01:10:00.000", "Group payments with generation 2 is now empty (__consumer_offsets-13)")
    late = "Failed to write empty metadata for group payments: The group is rebalancing, so a rejoin is needed."
    story.broker("01:10:05.000", late)
    incident = next(i for i in story.incidents() if i.root_causes[0].cause == "offsets-topic-unavailable")
    assert incident.severity == "warning"
    assert (incident.root_causes[0].confidence or 0) < 0.75


def too_large(*, seen: Side) -> Story:
    """An assignment that no record of the offsets topic may hold, as its coordinator logs it or only answers."""
    story = Story(seen=seen).formed("c-1", "c-2")
    story.broker(
        "01:10:00.100",
        "[GroupMetadataManager brokerId=2] Appending metadata message for group payments generation 1 failed due "
        "to org.apache.kafka.common.errors.RecordTooLargeException, returning UNKNOWN error code to the client",
        logger="kafka.coordinator.group.GroupMetadataManager",
    )
    story.line(
        "c-1/app.log",
        "01:10:00.120",
        "Consumer exception\njava.lang.IllegalStateException: This error handler cannot process "
        "'org.apache.kafka.common.KafkaException's; no record information is available\n\tat "
        "org.springframework.kafka.listener.DefaultErrorHandler.handleOtherException(DefaultErrorHandler.java:198)\n"
        "Caused by: org.apache.kafka.common.KafkaException: Unexpected error from SyncGroup: The server experienced "
        "an unexpected error when processing the request.",
        level="ERROR",
        logger="org.springframework.kafka.listener.KafkaMessageListenerContainer",
    )
    reason = "Error UNKNOWN_SERVER_ERROR when storing group assignment during SyncGroup (member: {})"
    return story.rebalanced("01:10:00.130", reason.format(member_id("c-1")), ["c-1", "c-2"])


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_an_assignment_that_is_too_large_to_be_stored_needs_a_larger_limit_and_no_replica(seen: Side) -> None:
    incident = too_large(seen=seen).the_incident()
    (cause, *_) = incident.root_causes
    assert cause.cause == "offsets-topic-unavailable"
    assert (cause.confidence >= 0.75) is (seen == "both")
    advice = " ".join(each.action for each in cause.advice)
    assert "max.message.bytes" in advice
    assert "min.insync.replicas" not in advice
    assert any("Unexpected error from SyncGroup" in line.text for line in cause.evidence)


@pytest.mark.parametrize("refused", ["{group_id=payments}", "null"])
def test_brokers_before_0_11_cannot_create_the_offsets_topic_either_when_they_are_too_few(
    tmp_path: Path, refused: str
) -> None:
    (incident,) = incidents(
        tmp_path,
        f"[2016-07-31 23:50:48,022] ERROR [KafkaApi-0] Error when handling request {refused} (kafka.server.KafkaApis)",
        "kafka.admin.AdminOperationException: replication factor: 3 larger than available brokers: 1",
        "\tat kafka.admin.AdminUtils$.assignReplicasToBrokers(AdminUtils.scala:117)",
        "[2016-07-31 23:50:49,022] INFO (Re-)joining group payments (o.a.k.clients.consumer.AbstractCoordinator)",
    )
    assert incident.root_causes[0].cause == "offsets-topic-unavailable"
    assert "one broker was there, and it needs 3" in incident.summary
    assert incident.group == "payments"
