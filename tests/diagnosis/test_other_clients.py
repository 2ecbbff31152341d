"""What clients in other languages than Java log of a group, told for no more than it says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.diagnosis.other_clients import (
    AIOKAFKA,
    ANOTHER,
    APP,
    COORDINATOR,
    DENIED,
    FORGOTTEN,
    IN_GENERATION,
    JAVA,
    KAFKAJS,
    KGO,
    LEAVES,
    PYTHON,
    PYTHON_NO_LONGER,
    RDKAFKA,
    STABLE,
    causes,
    heard,
    incidents,
    joins,
    kafkajs,
    rdkafka,
    rejoined,
)


def test_a_member_that_joined_between_two_rebalances_did_not_keep_the_first_one_waiting(tmp_path: Path) -> None:
    found = incidents(tmp_path, rejoined(1), heard(10), rejoined(10.3), heard(50), heard(50.1), rejoined(50.2))
    assert causes(found) == ["unexplained"]


@pytest.mark.parametrize("client", ["kafka-python", "KafkaJS"])
def test_a_log_of_warnings_does_not_show_that_a_member_never_rejoined(tmp_path: Path, client: str) -> None:
    warning = {
        "kafka-python": "2026-03-01 0{}:10:00,112 WARNING kafka.coordinator Heartbeat failed for group payments "
        "because it is rebalancing",
        "KafkaJS": '{{"level":"WARN","timestamp":"2026-03-01T0{}:10:00.000Z","logger":"kafkajs","message":"[Runner] '
        f'The group is rebalancing, re-joining","groupId":"payments","memberId":"{KAFKAJS}","error":"The group is '
        'rebalancing, so a rejoin is needed"}}',
    }[client]
    found = incidents(tmp_path, *(warning.format(hour) for hour in (1, 2, 3)))
    assert set(causes(found)) == {"unexplained"}


WARNED = "2026-03-01 01:{}:{:02},112 WARNING kafka.coordinator {}"
NOTICE = "Heartbeat failed for group payments because it is rebalancing"
UNKNOWN = "Heartbeat: local member_id was not recognized; this consumer needs to re-join"


def warned(minute: int, seconds: Iterable[int], message: str) -> list[str]:
    return [WARNED.format(minute, second, message) for second in seconds]


@pytest.mark.parametrize("joins_logged", [True, False])
def test_a_member_that_hears_of_a_rebalance_until_it_is_unknown_kept_the_group_waiting_until_then(
    tmp_path: Path, *, joins_logged: bool
) -> None:
    rejoins = ["2026-03-01 01:10:48,112 INFO kafka.coordinator (Re-)joining group payments"] if joins_logged else []
    lines = [*warned(10, range(3, 38, 3), NOTICE), *warned(10, [39], UNKNOWN), *rejoins]
    (incident,) = incidents(tmp_path, *lines)
    assert incident.root_causes[0].cause == "rebalance-straggler"
    assert "knew of the rebalance for 36 s and did not rejoin" in incident.summary


@pytest.mark.parametrize(("notices", "unknown_at"), [([3, 6], 9), (range(3, 20, 3), 58)])
def test_a_member_that_is_unknown_long_after_a_notice_may_have_rejoined_meanwhile(
    tmp_path: Path, notices: Iterable[int], unknown_at: int
) -> None:
    found = incidents(tmp_path, *warned(10, notices, NOTICE), *warned(10, [unknown_at], UNKNOWN))
    assert "rebalance-straggler" not in causes(found)


def test_kafkajs_keeps_its_facts_in_a_file_that_another_json_logger_fills(tmp_path: Path) -> None:
    about = {"groupId": "payments", "memberId": KAFKAJS, "error": "The coordinator is not aware of this member"}
    forgotten = kafkajs(
        1, "ERROR", "[Runner] The coordinator is not aware of this member, re-joining the group", **about
    )
    (incident,) = incidents(tmp_path, forgotten, *APP)
    assert incident.group == "payments"


def test_a_bracket_too_many_at_the_end_of_a_json_line_costs_nothing(tmp_path: Path) -> None:
    about = {"groupId": "payments", "memberId": KAFKAJS, "error": "The coordinator is not aware of this member"}
    forgotten = kafkajs(
        1, "ERROR", "[Runner] The coordinator is not aware of this member, re-joining the group", **about
    )
    (incident,) = incidents(tmp_path, forgotten + "}", *APP)
    assert incident.group == "payments"


def test_a_client_that_could_not_find_its_coordinator_while_it_started_is_not_cut_off_minutes_later(
    tmp_path: Path,
) -> None:
    timed_out = (
        "Consumer group session timed out (in join-state steady) after 28267 ms without a successful response from "
        "the group coordinator (broker 1, last error was Success): revoking assignment and rejoining group"
    )
    joined = f"JoinGroup response: GenerationId {{}}, Protocol range, LeaderId {ANOTHER}, my MemberId {RDKAFKA}, "
    found = incidents(
        tmp_path,
        rdkafka(0, "CGRPCOORD", 'Group "payments" FindCoordinator response error: COORDINATOR_NOT_AVAILABLE'),
        rdkafka(1, "CGRPCOORD", 'Group "payments" coordinator is 10.0.0.1:9092 id 1'),
        rdkafka(1, "JOIN", 'Joining group "payments" with 1 subscribed topic(s) and member id ""'),
        rdkafka(3, "JOINGROUP", joined.format(2) + "member metadata count 0: (no error)"),
        rdkafka(3.1, "SYNCGROUP", "SyncGroup response: Success (34 bytes of MemberState data)"),
        rdkafka(17, "HEARTBEAT", 'GroupCoordinator/1: Heartbeat for group "payments" generation id 2'),
        rdkafka(45, "SESSTMOUT", timed_out, level=4),
        rdkafka(45.1, "HEARTBEAT", 'Group "payments" heartbeat error response in state up (join-state wait-join, 0 '
                'partition(s) assigned): Broker: Unknown member'),
        rdkafka(47, "JOINGROUP", joined.format(4) + "member metadata count 0: (no error)"),
    )  # fmt: skip
    assert causes(found)[-1] == "process-pause"


def test_topics_that_a_client_learns_of_before_its_first_join_have_not_changed(tmp_path: Path) -> None:
    known = "Metadata for subscribed topic(s) has changed"
    found = incidents(
        tmp_path,
        rdkafka(0, "REJOIN", 'Group "payments": subscription updated from metadata change: rejoining group in state '
                'wait-metadata'),
        rdkafka(0, "REJOIN", 'Group "payments" (re)joining in join-state wait-metadata with 0 assigned partition(s): '
                f'{known}'),
        rdkafka(0, "REBALANCE", 'Group "payments" initiating rebalance (NONE) in state up (join-state wait-metadata) '
                f'with 0 assigned partition(s): {known}'),
        rdkafka(0, "REJOIN", f'Group "payments": Rejoining group without an assignment: {known}'),
        rdkafka(0, "JOIN", 'Joining group "payments" with 1 subscribed topic(s) and member id ""'),
    )  # fmt: skip
    assert "topic-metadata-change" not in causes(found)


CHANGED = 'Group "payments": effective subscription list changed from 2 to 1 topic(s):'
MODIFIED = (
    'Group "payments": modifying subscription of size 2 to new subscription of size 1, removing 1 topic(s), revoking 6 '
    "partition(s) (join-state steady)"
)
BY_METADATA = 'Group "payments": subscription updated from metadata change: rejoining group'


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((MODIFIED, CHANGED, 'Group "payments" revoking 6 of 12 partition(s)'), ["subscription-change"]),
        # In eager mode, or waiting for the metadata of the new topics.
        ((CHANGED.replace("1 topic", "0 topic"),), []),
        ((CHANGED, f"{BY_METADATA} in state wait-metadata"), []),
        ((CHANGED,), []),
        ((CHANGED, BY_METADATA), ["topic-metadata-change"]),
        ((CHANGED, f"{BY_METADATA} in state steady"), ["topic-metadata-change"]),
    ],
)
def test_only_the_check_of_the_metadata_shows_that_librdkafkas_topics_changed_by_themselves(
    tmp_path: Path, lines: tuple[str, ...], expected: list[str]
) -> None:
    found = incidents(tmp_path, *(rdkafka(n / 100, "SUBSCRIPTION", line) for n, line in enumerate(lines)))
    assert [cause for cause in causes(found) if cause != "unexplained"] == expected


@pytest.mark.parametrize(
    "lines",
    [
        [
            PYTHON.format("10:00", "(Re-)joining group payments"),
            PYTHON.format("10:03", "Successfully joined group payments with generation 2"),
            PYTHON.format("20:00", "Leaving consumer group (payments)."),
        ],
        [
            JAVA.format("10:00", "(Re-)joining group"),
            JAVA.format("10:03", f"Successfully joined group with generation {IN_GENERATION}"),
            JAVA.format("10:04", f"Successfully synced group in generation {IN_GENERATION}"),
            JAVA.format("20:00", LEAVES + "consumer is being closed"),
        ],
        [
            rdkafka(0, "JOIN", 'Joining group "payments" with 1 subscribed topic(s) and member id ""'),
            rdkafka(1, "MEMBERID", f'Group "payments": updating member id "" -> "{RDKAFKA}"'),
            rdkafka(1, "JOIN", f'Joining group "payments" with 1 subscribed topic(s) and member id "{RDKAFKA}"'),
            rdkafka(3, "JOINGROUP", f"JoinGroup response: GenerationId 2, Protocol range, LeaderId {ANOTHER}, my "
                    f"MemberId {RDKAFKA}, member metadata count 0: (no error)"),
            rdkafka(3.2, "ASSIGN", 'Group "payments": delegating assign of 3 partition(s) to application on queue '
                    'rd_kafka_cgrp_new: new assignment'),
            rdkafka(50, "LEAVE", 'Group "payments": leave (in state up)'),
        ],
    ],
    ids=["kafka-python", "Java", "librdkafka"],
)  # fmt: skip
def test_a_member_that_another_one_leads_neither_starts_the_group_nor_is_the_last_to_leave(
    tmp_path: Path, lines: list[str]
) -> None:
    assert not {"startup", "shutdown"} & set(causes(incidents(tmp_path, *lines)))


@pytest.mark.parametrize(
    "lines",
    [
        [rejoined(0), rejoined(4), kafkajs(45, "ERROR", "[Connection] Response Heartbeat(key: 12, version: 3)",
                                           clientId="kafkajs", error=FORGOTTEN),
         kafkajs(45, "ERROR", f"[Runner] {FORGOTTEN}, re-joining the group", groupId="payments", memberId=KAFKAJS,
                 error=FORGOTTEN),
         rejoined(46)],
        [AIOKAFKA.format(0, "INFO", "(Re-)joining group payments"),
         AIOKAFKA.format(1, "INFO", f"Joined group 'payments' (generation 2) with member_id aiokafka-0.14.0-{KGO[4:]}"),
         AIOKAFKA.format(1, "INFO", "Successfully synced group payments with generation 2"),
         AIOKAFKA.format(12, "WARNING", PYTHON_NO_LONGER),
         AIOKAFKA.format(12, "ERROR", "Heartbeat session expired - marking coordinator dead"),
         AIOKAFKA.format(12, "WARNING", "Marking the coordinator dead (node 1)for group payments."),
         AIOKAFKA.format(12, "INFO", "(Re-)joining group payments"),
         AIOKAFKA.format(12, "INFO",
                         f"Joined group 'payments' (generation 4) with member_id aiokafka-0.14.0-{RDKAFKA[8:]}"),
         AIOKAFKA.format(12, "INFO", "Successfully synced group payments with generation 4")],
    ],
    ids=["KafkaJS", "aiokafka"],
)  # fmt: skip
def test_a_client_that_heartbeats_from_its_handlers_loop_was_paused_or_handled_a_slow_record(
    tmp_path: Path, lines: list[str]
) -> None:
    incident = incidents(tmp_path, *lines)[-1]
    messages = {cause.cause: cause.confidence for cause in incident.root_causes}
    assert {"process-pause", "slow-processing"} <= messages.keys()
    assert max(messages.values()) <= 0.55


def test_a_kafkajs_member_that_was_silent_and_then_resumed_first_waited_for_its_handler(tmp_path: Path) -> None:
    forgotten = kafkajs(
        45,
        "ERROR",
        f"[Runner] {FORGOTTEN}, re-joining the group",
        groupId="payments",
        memberId=KAFKAJS,
        error=FORGOTTEN,
    )
    messages = incidents(tmp_path, rejoined(0), rejoined(4), forgotten, rejoined(46))[-1].root_causes
    assert [cause.cause for cause in messages][:2] == ["slow-processing", "process-pause"]


def test_kafka_python_names_the_broker_that_denies_to_be_its_coordinator(tmp_path: Path) -> None:
    found = incidents(
        tmp_path,
        PYTHON.format("10:00", "(Re-)joining group payments"),
        PYTHON.format("10:03", "Successfully joined group payments with generation 2"),
        PYTHON.format("20:00", DENIED),
        PYTHON.format("20:01", DENIED),
    )
    assert found[-1].root_causes[0].cause == "coordinator-failover"
    assert [culprit.name for culprit in found[-1].root_causes[0].culprits] == ["broker-1"]


def test_node_rdkafkas_events_are_read_as_node_prints_them(tmp_path: Path) -> None:
    expired = (
        "[thrd:main]: Consumer group session timed out (in join-state steady) after 28771 ms without a successful "
        "response from the group coordinator (broker 1, last error was Success): revoking assignment and rejoining "
        "group"
    )
    left = r"""[thrd:main]: Group "payments": marking the coordinator (1) dead: Broker: Not coordinator: \'moved\'"""
    found = incidents(
        tmp_path,
        "{", "  severity: 4,", "  fac: 'SESSTMOUT',", f"  message: '{expired}'", "}",
        "order 17 paid",
        "{ severity: 7, fac: 'COORD', message: '" + left + "' }",
        '{ severity: 7, fac: "none of them", message: 4 }',
    )  # fmt: skip
    assert "payments" in {incident.group for incident in found}
    lines = {line.line for incident in found for cause in incident.root_causes for line in cause.evidence}
    assert 1 in lines


def test_lines_without_times_do_not_show_for_how_long_a_connection_was_lost(tmp_path: Path) -> None:
    member = f"my MemberId {RDKAFKA}, member metadata count 0: (no error)"
    lost = 'Group "payments": marking the coordinator (1) dead: Local: Broker transport failure: x'
    expelled = 'Group "payments" heartbeat error response in state up (join-state steady, 3 partition(s) assigned): '
    lines = [
        'Joining group "payments" with 1 subscribed topic(s) and member id ""',
        f"JoinGroup response: GenerationId 2, Protocol range, LeaderId {RDKAFKA} (me), {member}",
        *[lost] * 9,
        expelled + "Broker: Unknown member",
    ]
    found = incidents(tmp_path, *(f"FAC [rdkafka#consumer-1] [thrd:main]: {line}" for line in lines))
    messages = {cause.cause: cause.confidence for incident in found for cause in incident.root_causes}
    assert messages.get("network-partition", 0) < 0.5


def test_an_application_may_log_kafkajs_place_as_nests_context(tmp_path: Path) -> None:
    nest = "[Nest] 31  - 03/01/2026, 1:10:0{} AM   {} [Kafka: {}] {}"
    found = incidents(
        tmp_path,
        nest.format(0, "ERROR", "Runner", f"{FORGOTTEN}, re-joining the group "
                    + json.dumps({"groupId": "payments", "memberId": KAFKAJS, "error": FORGOTTEN})),
        nest.format(3, "  LOG", "ConsumerGroup", "Consumer has joined the group "
                    + json.dumps({"groupId": "payments", "memberId": KAFKAJS, "leaderId": KAFKAJS})),
    )  # fmt: skip
    assert {incident.group for incident in found} == {"payments"}
    assert "slow-processing" in {cause.cause for cause in found[-1].root_causes}


def test_one_line_picked_out_of_node_rdkafkas_events_is_still_its_message(tmp_path: Path) -> None:
    lost = 'Group "payments": marking the coordinator (1) dead: Broker: Not coordinator: it moved'
    (incident,) = incidents(tmp_path, f"  message: '[thrd:main]: {lost}'")
    assert incident.group == "payments"


def test_a_python_traceback_that_ends_in_a_refused_commit_tells_of_a_lost_membership(tmp_path: Path) -> None:
    (incident,) = incidents(
        tmp_path,
        "Traceback (most recent call last):",
        '  File "/app/kafka/coordinator/consumer.py", line 521, in commit_offsets_sync',
        "kafka.errors.CommitFailedError: CommitFailedError: Commit cannot be completed since the group has already",
        "            rebalanced and assigned the partitions to another member.",
    )
    assert "lost its membership" in incident.root_causes[0].narrative


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-20 10:15:30 - kafka.coordinator - ERROR - Failed to join group payments: [26] Invalid Session Timeout",
        rdkafka(0, "REQERR", "b1/0: JoinGroupRequest failed: Broker: Invalid session timeout: actions Permanent"),
    ],
)
def test_a_client_rejected_for_its_session_timeout_is_reported_with_the_conflicting_settings(
    tmp_path: Path, line: str
) -> None:
    (incident,) = incidents(tmp_path, line)
    (cause,) = incident.root_causes
    assert incident.severity == "warning"
    assert "group.max.session.timeout.ms" in cause.narrative


@pytest.mark.parametrize("task", ["before 1.0", "since 1.0"])
def test_a_sink_task_whose_commit_came_too_late_was_out_of_its_group(tmp_path: Path, task: str) -> None:
    messages = {
        "before 1.0": "Commit of WorkerSinkTask{id=sink-3} offsets threw an unexpected exception: ",
        "since 1.0": "WorkerSinkTask{id=sink-3} Commit of offsets threw an unexpected exception for sequence number 7: "
        "{orders-0=OffsetAndMetadata{offset=42, metadata=''}}",
    }[task]
    (incident,) = incidents(
        tmp_path,
        f"[2026-11-20 10:15:30,123] ERROR {messages} (org.apache.kafka.connect.runtime.WorkerSinkTask:204)",
        "org.apache.kafka.clients.consumer.CommitFailedException: Commit cannot be completed since the group has "
        "already rebalanced and assigned the partitions to another member.",
        "\tat org.apache.kafka.clients.consumer.internals.ConsumerCoordinator.sendOffsetCommitRequest(X.java:698)",
    )
    assert incident.root_causes[0].cause == "slow-processing"
    assert incident.root_causes[0].confidence < 0.5


def test_a_sink_task_that_its_groups_refusal_ended_tells_of_the_group(tmp_path: Path) -> None:
    (incident,) = incidents(
        tmp_path,
        "[2026-11-20 10:15:30,123] ERROR WorkerSinkTask{id=sink-3} Task threw an uncaught and unrecoverable exception. "
        "Task is being killed and will not recover until manually restarted "
        "(org.apache.kafka.connect.runtime.WorkerTask:196)",
        "org.apache.kafka.common.errors.GroupAuthorizationException: Not authorized to access group: connect-sink",
    )
    assert (incident.group, incident.root_causes[0].cause) == ("connect-sink", "authorization-failure")


def test_a_commit_that_failed_is_known_where_its_explanation_was_cut_off(tmp_path: Path) -> None:
    (incident,) = incidents(
        tmp_path,
        "[2026-11-20 10:15:30,123] WARN [Consumer clientId=c, groupId=payments] Synchronous auto-commit of offsets "
        "{orders-0=OffsetAndMetadata{offset=4, metadata=''}} failed: Commit cannot be completed since the group "
        "has already rebalanced and assigned the partitions to another member. This means that the time between",
    )
    assert causes((incident,)) == ["slow-processing"]


def test_kafkajs_syncgroup_for_a_forgotten_member_shows_that_it_was_out(tmp_path: Path) -> None:
    refused = kafkajs(1, "ERROR", "[Connection] Response SyncGroup(key: 14, version: 1)", clientId="shop",
                      error="The coordinator is not aware of this member")  # fmt: skip
    (incident,) = incidents(tmp_path, refused)
    assert incident.severity == "warning"


def test_heartbeats_that_a_handler_blocks_are_let_through_as_the_client_of_the_member_does_it(tmp_path: Path) -> None:
    lines = (
        "Heartbeat failed: local member_id was not recognized; resetting and re-joining group",
        "Heartbeat session expired - marking coordinator dead",
        "Marking the coordinator dead (node 107)for group payments.",
    )
    (incident,) = incidents(tmp_path, *lines)
    slow = next(cause for cause in incident.root_causes if cause.cause == "slow-processing")
    actions = " ".join(advice.action for advice in slow.advice)
    assert "event loop" in actions
    assert "eachMessage" not in actions
    paused = next(cause for cause in incident.root_causes if cause.cause == "process-pause")
    assert not any("GC log" in advice.action for advice in paused.advice)


def test_generations_of_a_time_without_a_coordinators_log_may_well_have_their_assignment(tmp_path: Path) -> None:
    (tmp_path / "broker-1").mkdir()
    lines = [*joins(30, RDKAFKA, 8), COORDINATOR.format(34, STABLE.format(9))]
    lines += [COORDINATOR.format(35, f"Assignment received from leader {ANOTHER} for group payments for generation 9")]
    (tmp_path / "broker-1" / "server.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    joined = f"JoinGroup response: GenerationId {{}}, Protocol range, LeaderId {ANOTHER}, my MemberId {RDKAFKA}, "
    names = rdkafka(-9000, "JOIN", f'Joining group "payments" with 1 subscribed topic(s) and member id "{RDKAFKA}"')
    rejoins = (
        rdkafka(-9000 + 60 * number, "JOINGROUP", joined.format(number) + "member metadata count 0: (no error)")
        for number in range(3, 9)
    )
    assert "assignment-failure" not in causes(incidents(tmp_path, names, *rejoins))
