"""KafkaJS, brod and ruby-kafka print what they were assigned with the join; each of brod's members is one process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.model import Report

MEMBER = "shop-7b42eeed-3258-4a90-9e29-14627a954ecc"


def report(directory: Path, *lines: str) -> Report:
    (directory / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return analyze([str(directory)], AnalyzeOptions(engine="local"))


def kafkajs(second: int, partitions: dict[str, list[int]]) -> str:
    about = {"groupId": "payments", "memberId": MEMBER, "leaderId": MEMBER, "isLeader": True}
    return json.dumps(
        {
            "level": "INFO",
            "timestamp": f"2026-03-01T01:10:{second:02}.000Z",
            "logger": "kafkajs",
            "message": "[ConsumerGroup] Consumer has joined the group",
            **about,
            "memberAssignment": partitions,
            "groupProtocol": "RoundRobinAssigner",
            "duration": 23,
        }
    )


def brod(minute: int, second: int, process: str, generation: int, *text: str) -> str:
    header = (
        f"01:{minute}:{second:02}.000 [info] Group member (payments,coor=#PID<{process}>,cb=#PID<0.9.0>,generation="
    )
    return "\n".join((f"{header}{generation}):", *text))


def ruby(second: int, message: str) -> str:
    return f"I, [2026-03-01T01:10:{second:02}.779345 #4711]  INFO -- : [[payments] {{}}:] {message}"


def read(directory: Path, *lines: str) -> dict[str, set[str]]:
    (group,) = report(directory, *lines).groups
    found: dict[str, set[str]] = {}
    for span in group.read:
        found.setdefault(span.member, set()).update(span.partitions)
    return found


def test_kafkajs_reads_what_its_last_join_names(tmp_path: Path) -> None:
    lines = kafkajs(0, {"orders": [0, 1], "returns": [3]}), kafkajs(40, {"orders": [1]})
    (group,) = report(tmp_path, *lines).groups
    ended = {p for span in group.read if span.ended_at is not None for p in span.partitions}
    assert ended == {"orders-0", "returns-3"}
    assert {p for span in group.read for p in span.partitions} == {"orders-0", "orders-1", "returns-3"}


def test_each_process_of_brod_is_a_member_of_its_generation(tmp_path: Path) -> None:
    first = "assignments received:", "  orders:", "    partition=0 begin_offset=42", "    partition=1 begin_offset=7"
    second = "assignments received:", "  orders:", "    partition=2 begin_offset=undefined"
    (group,) = report(tmp_path, brod(10, 1, "0.21.0", 7, *first), brod(10, 1, "0.35.0", 7, *second)).groups
    (generation,) = group.generations
    assert [member.client_id for member in generation.members] == ["<0.21.0>", "<0.35.0>"]
    assert {frozenset(span.partitions) for span in group.read} == {
        frozenset({"orders-0", "orders-1"}),
        frozenset({"orders-2"}),
    }


def test_ruby_kafka_keeps_a_topic_when_it_prints_the_next_one(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        ruby(0, f"Joined group `payments` with member id `{MEMBER}`"),
        ruby(0, "Partitions assigned for `orders`: 0, 2"),
        ruby(0, "Partitions assigned for `returns`: 1"),
    )
    assert set().union(*found.values()) == {"orders-0", "orders-2", "returns-1"}
    (group,) = report(tmp_path, (tmp_path / "app.log").read_text(encoding="utf-8")).groups
    assert not any(span.ended_at for span in group.read)


@pytest.mark.parametrize("reason", ["unknown_member_id", ":unknown_member_id", "UnknownMemberId"])
def test_brod_has_lost_its_membership_in_erlangs_words_and_in_elixirs(tmp_path: Path, reason: str) -> None:
    lines = brod(10, 1, "0.21.0", 7, "elected=true"), brod(12, 9, "0.21.0", 7, f"re-joining group, reason:{reason}")
    found = report(tmp_path, *lines, brod(12, 10, "0.21.0", 9, "elected=true")).incidents
    (incident,) = [each for each in found if each.severity != "info"]
    assert max(cause.confidence or 0 for cause in incident.root_causes) <= 0.55


def test_brod_has_lost_its_coordinator_when_that_connection_breaks(tmp_path: Path) -> None:
    closed = brod(12, 9, "0.21.0", 7, "re-joining group, reason:{:connection_down, {:shutdown, :tcp_closed}}")
    (incident,) = report(tmp_path, brod(10, 1, "0.21.0", 7, "elected=true"), closed).incidents
    assert incident.root_causes[0].cause in ("network-partition", "coordinator-failover", "unexplained")
    assert max(cause.confidence or 0 for cause in incident.root_causes) <= 0.55


def test_a_log_of_warnings_at_every_heartbeat_is_of_a_member_that_has_not_rejoined(tmp_path: Path) -> None:
    warning = "Heartbeat failed for group payments because it is rebalancing"
    lines = [f"2026-03-01 01:10:{second:02},120 WARNING kafka.coordinator {warning}" for second in range(0, 30, 3)]
    (incident,) = report(tmp_path, *lines).incidents
    assert (incident.root_causes[0].cause, incident.severity) == ("rebalance-straggler", "warning")
    assert (incident.root_causes[0].confidence or 0) <= 0.55


def test_warnings_that_are_minutes_apart_are_of_several_rebalances(tmp_path: Path) -> None:
    warning = "Heartbeat failed for group payments because it is rebalancing"
    lines = [f"2026-03-01 01:{minute:02}:00,120 WARNING kafka.coordinator {warning}" for minute in range(0, 30, 3)]
    assert "rebalance-straggler" not in {i.root_causes[0].cause for i in report(tmp_path, *lines).incidents}


def test_sarama_logs_that_a_session_is_over_and_the_next_begins_but_not_why(tmp_path: Path) -> None:
    over = "consumergroup/payments loop check partition number coroutine will exit, topics [orders]"
    found = "client/coordinator coordinator for consumergroup payments is #1 (b1.example.net:9092)"
    lines = [f"[sarama] 2026/03/01 01:10:00 {text}" for text in (over, found)]
    (incident,) = report(tmp_path, *lines).incidents
    assert (incident.group, incident.root_causes[0].cause, incident.severity) == ("payments", "unexplained", "info")
