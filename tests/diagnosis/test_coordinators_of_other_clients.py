"""What clients in other languages log of their coordinator: one that answers is there, one that denies has moved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from tests.diagnosis.other_clients import KAFKAJS, causes, incidents, kafkajs

PYTHON = "2026-03-01 01:10:{:02},112 {} kafka.coordinator{}: {}"
IN_GENERATION = "Successfully joined group payments <Generation {} (member_id: pay-{}-{}, protocol: range)>"
UUID = "98a07f61-71e0-4d07-9f3f-8a8a1b2c3d4{}"
NOT_COORDINATOR = "This is not the correct coordinator for this group"


def told_and_rejoined(number: int, *, answer: str) -> list[str]:
    """kafka-python 3.0: it gives up its coordinator after whatever error a heartbeat is answered with."""
    return [
        PYTHON.format(0, "INFO", "", IN_GENERATION.format(3, number, UUID.format(number))),
        PYTHON.format(9, "ERROR", "", f"Error sending HeartbeatRequest to node coordinator-3 [{answer}]"),
        PYTHON.format(
            9, "WARNING", "", f"Marking the coordinator dead (node coordinator-3) for group payments: {answer}."
        ),
        PYTHON.format(9, "INFO", "", "Discovered coordinator coordinator-3 for group payments"),
        PYTHON.format(9, "INFO", "", "(Re-)joining group payments"),
        PYTHON.format(10, "INFO", "", IN_GENERATION.format(4, number, UUID.format(number))),
    ]


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ("[Error 27] RebalanceInProgressError", "unexplained"),
        ("[Error 16] NotCoordinatorError", "coordinator-failover"),
    ],
)
def test_a_coordinator_that_tells_of_a_rebalance_is_not_lost(tmp_path: Path, answer: str, cause: str) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"pay-{number}").mkdir()
        lines = told_and_rejoined(number, answer=answer)
        (tmp_path / f"pay-{number}" / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert cause in causes(tuple(found))
    assert ("coordinator-failover" in causes(tuple(found))) == (cause == "coordinator-failover")


def test_kafkajs_names_the_broker_that_denies_to_be_its_coordinator_by_its_address(tmp_path: Path) -> None:
    joined = {"groupId": "payments", "memberId": KAFKAJS, "leaderId": KAFKAJS}
    found = incidents(
        tmp_path,
        kafkajs(0, "INFO", "[ConsumerGroup] Consumer has joined the group", **joined),
        kafkajs(20, "ERROR", "[Connection] Response OffsetCommit(key: 8, version: 5)", clientId="kafkajs",
                broker="b2.example.net:9092", error=NOT_COORDINATOR),
        kafkajs(21, "WARN", "[Runner] The group is rebalancing, re-joining", groupId="payments", memberId=KAFKAJS,
                error=NOT_COORDINATOR),
        kafkajs(22, "INFO", "[ConsumerGroup] Consumer has joined the group", **joined),
    )  # fmt: skip
    (incident,) = (i for i in found if i.group == "payments")
    assert incident.root_causes[0].cause == "coordinator-failover"
    assert [culprit.name for culprit in incident.root_causes[0].culprits] == ["broker-b2.example.net:9092"]


def test_a_kafkajs_consumer_that_its_former_coordinator_forgot_owes_that_to_the_move(tmp_path: Path) -> None:
    """It knows its brokers by address, so nothing that counts on their numbers may break off."""
    joined = {"groupId": "payments", "memberId": KAFKAJS, "leaderId": KAFKAJS}
    again = joined | {"memberId": KAFKAJS.replace("10", "11"), "leaderId": KAFKAJS.replace("10", "11")}
    answered = {"clientId": "kafkajs", "broker": "b2.example.net:9092"}
    unknown = "The coordinator is not aware of this member"
    found = incidents(
        tmp_path,
        kafkajs(0, "INFO", "[ConsumerGroup] Consumer has joined the group", **joined),
        kafkajs(20, "ERROR", "[Connection] Response OffsetCommit(key: 8, version: 5)", error=NOT_COORDINATOR,
                **answered),
        kafkajs(21, "ERROR", "[Connection] Response Heartbeat(key: 12, version: 3)", **answered, error=unknown),
        kafkajs(21, "ERROR", "[Runner] The coordinator is not aware of this member, re-joining the group",
                groupId="payments", memberId=KAFKAJS, error=unknown, retryCount=0),
        kafkajs(22, "INFO", "[ConsumerGroup] Consumer has joined the group", **again),
    )  # fmt: skip
    assert causes(found) == ["coordinator-failover"]


def test_kafkajs_is_refused_for_its_protocols_as_its_connection_says(tmp_path: Path) -> None:
    error = "The group member's supported protocols are incompatible with those of existing members"
    (incident,) = incidents(
        tmp_path,
        kafkajs(0, "ERROR", "[Connection] Response JoinGroup(key: 11, version: 5)", clientId="shop", error=error),
    )
    assert incident.root_causes[0].cause == "inconsistent-protocol"


@pytest.mark.parametrize(
    ("error", "is_blamed"),
    [
        ("Not connected", False),
        ("Closed connection", False),
        ("Failed to connect: getaddrinfo ENOTFOUND b2.example.net", False),
        ("Broker 1 not found in the cached metadata", False),
        ("unknown currency XBT", True),
    ],
)
def test_a_kafkajs_consumer_that_reached_no_broker_is_not_to_blame(
    tmp_path: Path, error: str, *, is_blamed: bool
) -> None:
    joined = {"groupId": "payments", "memberId": KAFKAJS, "leaderId": KAFKAJS}
    again = {"groupId": "payments", "memberId": KAFKAJS.replace("3d", "4e"), "leaderId": "pay-2"}
    crash = f"[Consumer] Crash: KafkaJSNumberOfRetriesExceeded: {error}"
    (found,) = incidents(
        tmp_path,
        kafkajs(0, "INFO", "[ConsumerGroup] Consumer has joined the group", **joined),
        kafkajs(20, "ERROR", crash, groupId="payments", retryCount=5),
        kafkajs(20, "INFO", "[Consumer] Stopped", groupId="payments"),
        kafkajs(30, "INFO", "[Consumer] Starting", groupId="payments"),
        kafkajs(31, "INFO", "[ConsumerGroup] Consumer has joined the group", **again),
    )
    left = next(cause for cause in found.root_causes if cause.cause == "member-left")
    assert (left.confidence >= 0.9) == is_blamed
    assert left.advice[0].action.startswith("Handle the exception") == is_blamed


def test_a_kafkajs_consumer_that_stopped_without_a_broker_is_an_effect_of_the_lost_coordinator(
    tmp_path: Path,
) -> None:
    joined = {"groupId": "payments", "memberId": KAFKAJS, "leaderId": KAFKAJS}
    again = {"groupId": "payments", "memberId": KAFKAJS.replace("3d", "4e"), "leaderId": KAFKAJS.replace("3d", "4e")}
    lines = (
        kafkajs(0, "INFO", "[ConsumerGroup] Consumer has joined the group", **joined),
        kafkajs(20, "ERROR", "[Consumer] Crash: KafkaJSNumberOfRetriesExceeded: Not connected", groupId="payments"),
        kafkajs(20, "INFO", "[Consumer] Stopped", groupId="payments"),
        kafkajs(34, "INFO", "[Consumer] Starting", groupId="payments"),
        kafkajs(38, "INFO", "[ConsumerGroup] Consumer has joined the group", **again),
    )
    (tmp_path / "pay-1").mkdir()
    (tmp_path / "pay-1" / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "broker-1").mkdir()
    minute = json.loads(lines[0])["timestamp"][:16].replace("T", " ")
    messages = (
        (0, "[GroupCoordinator 1]: Stabilized group payments generation 1 (__consumer_offsets-5) with 1 members"),
        (18, "[GroupCoordinator 1]: Resigned as the group coordinator for partition 5 in epoch 7"),
        (18, "[GroupCoordinator 1]: Unloading group metadata for payments with generation 1"),
    )
    rows = (f"[{minute}:{at:02},000] INFO {line} (kafka.coordinator.group.GroupCoordinator)" for at, line in messages)
    (tmp_path / "broker-1" / "server.log").write_text("\n".join(rows) + "\n", encoding="utf-8")
    found = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert [i.root_causes[0].cause for i in found] == ["coordinator-failover"]


JAVA = "[2026-03-01 01:10:{:02},112] INFO [Consumer clientId=c-1, groupId=payments] {} ({})"
ABSTRACT = "org.apache.kafka.clients.consumer.internals.AbstractCoordinator"
NOT_HERE = "This is not the correct coordinator"
SENT = "Generation{generationId=-1, memberId='', protocol='null'}"
REFUSALS = {
    "Java 2.8": (
        JAVA,
        "Rebalance failed.",
        f"org.apache.kafka.common.errors.NotCoordinatorException: {NOT_COORDINATOR}.",
    ),
    "Java 3.9": (
        JAVA,
        f"JoinGroup failed: {NOT_HERE}. Marking coordinator unknown. Sent generation was {SENT}",
        "",
    ),
    "librdkafka": (
        "%7|1772327{:03}.112|REJOIN|c-1#consumer-1| [thrd:main]: {}",
        'Group "payments": Rejoining group without an assignment: JoinGroup error: Broker: Not coordinator',
        "",
    ),
    "brod": (
        "2026-03-01 01:10:{:02}.112 [info] {}",
        "Group member (payments,coor=<1>,cb=<2>,generation=4):\nfailed to join group\nreason:coordinator_not_available",
        "",
    ),
}


@pytest.mark.parametrize("client", REFUSALS)
@pytest.mark.parametrize("times", [1, 3])
def test_a_broker_that_refuses_every_join_is_no_coordinator_but_once_is_usual(
    tmp_path: Path, client: str, times: int
) -> None:
    record, message, exception = REFUSALS[client]
    lines = [record.format(second, message, ABSTRACT) + f"\n{exception}" * bool(exception) for second in range(times)]
    (tmp_path / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = causes(tuple(analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents))
    assert ("coordinator-failover" in found) == (times > 1)


@pytest.mark.parametrize("times", [1, 3])
def test_a_coordinator_that_is_repeatedly_given_up_as_soon_as_it_is_found_is_not_the_coordinator(
    tmp_path: Path, times: int
) -> None:
    """Before 2.0 Java does not log why it gives a coordinator up."""
    node = "b-2:9092 (id: 2147483645 rack: null)"
    given_up = [f"Discovered group coordinator {node}", f"Marking the coordinator {node} dead"] * times
    lines = [*given_up, given_up[0], "(Re-)joining group"]
    record = "2026-03-01 01:10:0{},112 INFO [Consumer clientId=c-1, groupId=payments] {}"
    found = incidents(tmp_path, *(record.format(place // 2, message) for place, message in enumerate(lines)))
    named = [i.root_causes[0] for i in found if i.root_causes[0].cause == "coordinator-failover"]
    blamed = [c.name for cause in named for c in cause.culprits]
    assert blamed == (["broker-2"] if times > 1 else [])


@pytest.mark.parametrize("words", ["Leaving group, reason: hb_timeout", "re-joining group, reason:hb_timeout"])
def test_a_brod_member_whose_heartbeat_had_no_answer_did_not_close_its_consumer(tmp_path: Path, words: str) -> None:
    """Since 3.3 it leaves and ends, and its supervisor starts another one; until then it rejoins by itself."""
    again = 7 if words.startswith("Leaving") else 4
    member = "Group member (payments,coor=<0.{}.0>,cb=<0.40.0>,generation={}):\n{}"
    found = incidents(
        tmp_path,
        "01:00:30.100 [info] " + member.format(4, 5, "elected=true"),
        "01:10:30.100 [info] " + member.format(4, 5, words),
        "01:10:34.100 [info] " + member.format(again, 7, "elected=true"),
    )
    (session,) = [i for i in found if i.severity == "warning"]
    assert "considered its session expired" in session.summary
    assert "member-left" not in causes(found)


def test_a_brod_member_is_the_one_whose_client_id_names_its_process(tmp_path: Path) -> None:
    """Its lines print the process alone, those of the coordinator the node before it."""
    header = "[2026-03-01 01:10:{},100] INFO [GroupCoordinator 1]: {} (kafka.coordinator.group.GroupCoordinator)"
    left = f"Removing member shop@pc/<0.4.0>-{UUID.format(1)} on LeaveGroup; client reason: not provided"
    state = "Preparing to rebalance group payments in state PreparingRebalance with old generation 5"
    lines = [f"{state} (__consumer_offsets-3) (reason: {left})", "Stabilized group payments generation 6"]
    lines[1] += " (__consumer_offsets-3) with 1 members"
    server = [header.format(second, line) for second, line in zip((30, 33), lines, strict=True)]
    (tmp_path / "server.log").write_text("\n".join(server) + "\n", encoding="utf-8")
    member = "2026-03-01T01:{}.100000+00:00 [info] Group member (payments,coor=<0.4.0>,cb=<0.40.0>,generation=5):\n{}"
    own = [member.format("00:30", "elected=true"), member.format("10:30", "Leaving group, reason: hb_timeout")]
    found = incidents(tmp_path, *own)
    (incident,) = [i for i in found if "left the group" in i.summary]
    assert "shop@pc/<0.4.0> left the group after a session without an answer to its heartbeat" in incident.summary
