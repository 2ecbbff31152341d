"""librdkafka's lines that a handler prints without the client's name belong to the one group that they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.pipeline.run import analyze
from tests.incidents.sample import LOCAL

ASKED = '[thrd:main]: Group "{}": Rejoining group without an assignment: group rejoin\n'
ANSWERED = (
    "[thrd:main]: JoinGroup response: GenerationId 4, Protocol range, LeaderId rdkafka-1 (me), my MemberId rdkafka-1, "
    "member metadata count 1: (no error)\n"
)


@pytest.mark.parametrize("category", ["", "info: com.acme.Bus[0]\n      "])
def test_the_answer_belongs_to_the_group_that_was_asked_for(category: str, tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text(category + ASKED.format("payments") + category + ANSWERED)
    (group,) = analyze([str(log)], LOCAL).groups
    assert (group.group, [each.generation for each in group.generations]) == ("payments", [4])


def test_of_two_groups_in_one_log_neither_is_answered(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text(ASKED.format("payments") + ASKED.format("orders") + ANSWERED)
    groups = {group.group: group.generations for group in analyze([str(log)], LOCAL).groups}
    assert not groups["payments"]
    assert not groups["orders"]


TOO_FEW_BROKERS = (
    "[2026-11-21 02:0{}:00,120] ERROR [KafkaApi-1] Number of alive brokers '1' does not meet the required replication "
    "factor '3' for the offsets topic (configured via 'offsets.topic.replication.factor'). This error can be ignored "
    "if the cluster is starting up and not all brokers are up yet. (kafka.server.KafkaApis)\n"
)
SUBSCRIBED = (
    "[2026-11-21 02:00:00,010] INFO [Consumer clientId=c-1, groupId=payments] Subscribed to topic(s): orders "
    "(org.apache.kafka.clients.consumer.KafkaConsumer)\n"
)


@pytest.mark.parametrize("lines", [1, 9])
def test_a_broker_that_cannot_create_the_offsets_topic_keeps_all_groups_out(lines: int, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("".join(map(TOO_FEW_BROKERS.format, range(lines))))
    (incident,) = analyze([str(tmp_path)], LOCAL).incidents
    assert incident.root_causes[0].cause == "offsets-topic-unavailable"
    assert incident.severity == ("critical" if lines > 1 else "warning")
    assert incident.ongoing


STABILIZED = (
    "[2026-11-21 02:0{}:08,000] INFO [GroupCoordinator 1]: Stabilized group payments generation {} "
    "(__consumer_offsets-3) with 1 members (kafka.coordinator.group.GroupCoordinator)\n"
)


@pytest.mark.parametrize(("minute", "generation", "is_kept_out"), [(2, 1, True), (2, 42, False), (0, 1, False)])
def test_a_group_was_kept_out_if_its_first_generation_came_long_after_the_brokers_had_started(
    minute: int, generation: int, *, is_kept_out: bool, tmp_path: Path
) -> None:
    """Brokers that start together log it as well, until all of them have registered."""
    (tmp_path / "server.log").write_text(
        "".join(map(TOO_FEW_BROKERS.format, range(minute + 1))) + STABILIZED.format(minute, generation)
    )
    causes = {incident.root_causes[0].cause for incident in analyze([str(tmp_path)], LOCAL).incidents}
    assert ("offsets-topic-unavailable" in causes) == is_kept_out


LOADED = "[2026-11-21 02:00:09,900] INFO [GroupCoordinator 1]: Loading group metadata for payments with generation 41\n"
LOST = (
    "[2026-11-21 01:59:58,310] INFO [Consumer clientId=c-1, groupId=payments] Group coordinator b1:9092 "
    "(id: 2147483646 rack: null) is unavailable or invalid, will attempt rediscovery\n"
)


@pytest.mark.parametrize("line", [LOADED, LOST])
def test_a_group_that_had_a_coordinator_has_its_offsets_topic(line: str, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(TOO_FEW_BROKERS.format(0))
    (tmp_path / "app.log").write_text(line)
    causes = {incident.root_causes[0].cause for incident in analyze([str(tmp_path)], LOCAL).incidents}
    assert "offsets-topic-unavailable" not in causes


def test_a_group_that_clients_name_is_kept_out_by_it_under_its_name(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("".join(map(TOO_FEW_BROKERS.format, range(9))))
    (tmp_path / "app.log").write_text(SUBSCRIBED)
    report = analyze([str(tmp_path)], LOCAL)
    assert [history.group for history in report.groups] == ["payments"]
    (incident,) = report.incidents
    assert (incident.group, incident.root_causes[0].cause) == ("payments", "offsets-topic-unavailable")
