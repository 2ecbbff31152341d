"""What clients in other languages than Java log of a group, told for no more than it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

KAFKAJS = "kafkajs-b9aebbba-0940-4779-a689-9f2125e2cc10"
RDKAFKA, ANOTHER = "rdkafka-58937e1f-cc2c-42da-90eb-a49bb53979e6", "rdkafka-82951956-8c07-4554-bf36-5bfa8f2b2dc8"
KGO, SECOND_KGO = "kgo-c0266201-59c1-419d-94ca-5bed270a335a", "kgo-11efec48-12ec-4d3e-92f9-09245df23a57"


def incidents(directory: Path, *lines: str) -> tuple[Incident, ...]:
    (directory / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return analyze([str(directory)], AnalyzeOptions(engine="local")).incidents


def causes(found: tuple[Incident, ...]) -> list[str]:
    return [incident.root_causes[0].cause for incident in found]


def kafkajs(second: float, level: str, message: str, **more: object) -> str:
    at = f"2026-03-01T01:10:{second:06.3f}Z"
    return json.dumps({"level": level, "timestamp": at, "logger": "kafkajs", "message": message, **more})


def heard(second: float) -> str:
    error = "The group is rebalancing, so a rejoin is needed"
    return kafkajs(
        second, "ERROR", "[Connection] Response Heartbeat(key: 12, version: 3)", clientId="kafkajs", error=error
    )


def rejoined(second: float) -> str:
    about = {"groupId": "payments", "memberId": KAFKAJS, "leaderId": KAFKAJS, "isLeader": True, "duration": 231}
    return kafkajs(second, "INFO", "[ConsumerGroup] Consumer has joined the group", **about)


def rdkafka(second: float, facility: str, message: str, level: int = 7) -> str:
    return f"%{level}|{1772327400 + second:.3f}|{facility}|rdkafka#consumer-1| [thrd:main]: {message}"


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


APP = ['{"level":"WARN","timestamp":"2026-03-01T01:10:02.000Z","logger":"app","message":"slow query"}'] * 50


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


COORDINATOR = "[2026-03-01 01:10:{:02},100] INFO [GroupCoordinator 1]: {} (kafka.coordinator.group.GroupCoordinator)"
REBALANCE = (
    "Preparing to rebalance group payments in state PreparingRebalance with old generation {} "
    "(__consumer_offsets-1) (reason: {})"
)
STABLE = "Stabilized group payments generation {} (__consumer_offsets-1) with 2 members"


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("after revoking what we lost from a rebalance", None),
        ("rejoining after we previously errored and backed off", None),
        ("rejoining because we are the leader and noticed some topics have new partitions", "topic-metadata-change"),
        ("partitions were added to a subscribed topic", "topic-metadata-change"),
    ],
)
def test_what_franz_go_and_sarama_say_by_themselves_is_no_wish_of_the_application(
    tmp_path: Path, reason: str, cause: str | None
) -> None:
    rejoins = f"Leader {KGO} re-joining group during Stable; client reason: {reason}"
    found = incidents(
        tmp_path,
        COORDINATOR.format(0, STABLE.format(4)),
        COORDINATOR.format(20, REBALANCE.format(4, rejoins)),
        COORDINATOR.format(21, STABLE.format(5)),
    )
    told = {each.cause for incident in found for each in incident.root_causes}
    assert "enforced-rebalance" not in told
    assert cause is None or cause in told


PYTHON = "2026-03-01 01:{},112 INFO kafka.coordinator {}"
JAVA = (
    "2026-03-01 01:{},112 INFO [Consumer clientId=c-1, groupId=payments] {} (o.a.k.c.c.internals.ConsumerCoordinator)"
)
MEMBER = "c-1-7b42eeed-3258-4a90-9e29-14627a954ecc"
IN_GENERATION = f"Generation{{generationId=7, memberId='{MEMBER}', protocol='range'}}"
LEAVES = f"Member {MEMBER} sending LeaveGroup request to coordinator b1:9092 (id: 2147483646 rack: null) due to the "


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


AIOKAFKA = "2026-03-01 01:{:02}:00,112 - aiokafka.consumer.group_coordinator - {} - {}"
PYTHON_NO_LONGER = "Heartbeat failed: local member_id was not recognized; resetting and re-joining group"
FORGOTTEN = "The coordinator is not aware of this member"


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
         AIOKAFKA.format(12, "INFO", "(Re-)joining group payments"),
         AIOKAFKA.format(13, "INFO",
                         f"Joined group 'payments' (generation 4) with member_id aiokafka-0.14.0-{RDKAFKA[8:]}"),
         AIOKAFKA.format(13, "INFO", "Successfully synced group payments with generation 4")],
    ],
    ids=["KafkaJS", "aiokafka"],
)  # fmt: skip
def test_a_client_that_heartbeats_from_its_handlers_loop_was_paused_or_handled_a_slow_record(
    tmp_path: Path, lines: list[str]
) -> None:
    incident = incidents(tmp_path, *lines)[-1]
    told = {cause.cause: cause.confidence for cause in incident.root_causes}
    assert {"process-pause", "slow-processing"} <= told.keys()
    assert max(told.values()) <= 0.55


SEGMENTIO = "segmentio@pay-1 (github.com/segmentio/kafka-go)-{}"
FIRST_ID, SECOND_ID = SEGMENTIO.format(KGO[4:]), SEGMENTIO.format(RDKAFKA[8:])


def kafka_go(minute: int, message: str, name: str = "kafka reader") -> str:
    return f"{name}: 2026/03/01 01:{minute:02}:00 {message}"


def test_the_name_that_an_application_gives_kafka_gos_logger_is_no_host(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(
        "\n".join([
            kafka_go(0, f"Joined group payments as member {FIRST_ID} in generation 2"),
            kafka_go(9, "Failed to join group payments: [25] Unknown Member ID: the member id is not in the current "
                     "generation", "kafka reader error"),
            kafka_go(10, f"Joined group payments as member {SECOND_ID} in generation 4"),
        ]), encoding="utf-8",
    )  # fmt: skip
    report = analyze([str(tmp_path)], AnalyzeOptions(engine="local"))
    assert "kafka" not in {read.host for read in report.inputs}
    assert report.incidents[-1].root_causes[0].cause == "process-pause"


def test_kafka_go_says_that_it_leaves_when_it_gives_up_after_an_error(tmp_path: Path) -> None:
    found = incidents(
        tmp_path,
        kafka_go(0, f"Joined group payments as member {FIRST_ID} in generation 2"),
        kafka_go(9, "Unable to establish connection to consumer group coordinator for group payments: EOF"),
        kafka_go(9, f"Leaving group payments, member {FIRST_ID}"),
        kafka_go(12, f"Joined group payments as member {SECOND_ID} in generation 3"),
    )
    told = {cause.cause for incident in found for cause in incident.root_causes}
    assert not {"member-left", "scale-in", "shutdown"} & told


def joins(second: int, member: str, generation: int) -> list[str]:
    adding = f"Adding new member {member} with group instance id None; client reason: not provided"
    return [
        COORDINATOR.format(
            second,
            f"Dynamic member with unknown member id joins group payments in Stable state. Created a new member id "
            f"{member} and request the member to rejoin with this id.",
        ),
        COORDINATOR.format(second, REBALANCE.format(generation, adding)),
    ]


def fails(second: int, member: str, generation: int) -> list[str]:
    removing = f"removing member {member} on heartbeat expiration"
    return [
        COORDINATOR.format(second, f"Member {member} in group payments has failed, removing it from the group"),
        COORDINATOR.format(second, REBALANCE.format(generation, removing)),
    ]


def test_a_newcomer_that_has_left_again_takes_nobodys_place(tmp_path: Path) -> None:
    third = "rdkafka-0000c1b2-1111-4c22-9d3a-aabbccddeeff"
    leaving = f"Removing member {RDKAFKA} on LeaveGroup; client reason: not provided"
    found = incidents(
        tmp_path,
        *(line.replace("Stable state", "Empty state") for line in joins(0, ANOTHER, 0)),
        COORDINATOR.format(1, STABLE.format(1).replace("2 members", "1 members")),
        *joins(14, RDKAFKA, 1), COORDINATOR.format(17, STABLE.format(2)),
        COORDINATOR.format(32, REBALANCE.format(2, leaving)),
        COORDINATOR.format(32, f"Member MemberMetadata(memberId={RDKAFKA}, groupInstanceId=None, clientId=rdkafka, "
                           "clientHost=/10.0.0.1, sessionTimeoutMs=10000, rebalanceTimeoutMs=20000, "
                           "supportedProtocols=List(range)) has left group payments through explicit `LeaveGroup`; "
                           "client reason: not provided"),
        COORDINATOR.format(33, STABLE.format(3).replace("2 members", "1 members")),
        *joins(40, third, 3), COORDINATOR.format(43, STABLE.format(4)),
        *fails(58, third, 4), *fails(59, ANOTHER, 5),
    )  # fmt: skip
    assert "rolling-restart" not in causes(found)


def test_a_broker_that_loads_its_own_group_again_hands_it_to_nobody(tmp_path: Path) -> None:
    loaded = (
        "[2026-03-01 01:10:{:02},100] INFO [GroupCoordinator 1]: Loading group metadata for payments with generation 4 "
        "(kafka.coordinator.group.GroupCoordinator)"
    )
    (incident,) = (
        i
        for i in incidents(
            tmp_path,
            COORDINATOR.format(0, STABLE.format(4)),
            loaded.format(40),
            COORDINATOR.format(44, REBALANCE.format(4, f"removing member {KGO} on heartbeat expiration")),
            COORDINATOR.format(45, STABLE.format(5)),
        )
        if i.root_causes[0].cause == "coordinator-failover"
    )
    assert "took it over again" in incident.root_causes[0].narrative
    assert "another broker" not in incident.root_causes[0].narrative


DENIED = "Marking the coordinator dead (node coordinator-1) for group payments: [Error 16] NotCoordinatorError."


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


def test_a_log_without_times_beside_one_with_times_is_not_from_1970(tmp_path: Path) -> None:
    (tmp_path / "client.log").write_text(f"WARNING:kafka.coordinator:{DENIED}\n" * 3, encoding="utf-8")
    found = incidents(tmp_path, *fails(10, RDKAFKA, 4), COORDINATOR.format(12, STABLE.format(5)))
    assert all(i.started_at is None or i.started_at > 1_700_000_000_000 for i in found)


def test_a_member_id_with_blanks_and_brackets_is_read_in_a_coordinators_reason(tmp_path: Path) -> None:
    found = incidents(tmp_path, *fails(10, FIRST_ID, 4), COORDINATOR.format(12, STABLE.format(5)))
    assert [culprit.name for culprit in found[0].root_causes[0].culprits] == [FIRST_ID.removesuffix(KGO[3:])]
    report = analyze([str(tmp_path)], AnalyzeOptions(engine="local"))
    assert sum(read.unmatched_kafka for read in report.inputs) == 0


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
    told = {cause.cause: cause.confidence for incident in found for cause in incident.root_causes}
    assert told.get("network-partition", 0) < 0.5


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
