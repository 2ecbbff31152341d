"""KafkaJS writes one JSON object a line, names its member in a field of it, and prints no generation."""

from __future__ import annotations

import json
from pathlib import Path

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

FIRST, SECOND = "pay-1-7b42eeed-3258-4a90-9e29-14627a954ecc", "pay-1-8c53ffee-4369-4ba1-8f3a-25738b065fdd"
REBALANCING = "[Runner] The group is rebalancing, re-joining"
FORGOTTEN = "[Runner] The coordinator is not aware of this member, re-joining the group"


def logged(minute: int, level: str, message: str, member: str, **more: object) -> str:
    at = f"2026-03-01T01:{minute:02}:00.000Z"
    about = {"groupId": "payments", "memberId": member}
    return json.dumps({"level": level, "timestamp": at, "logger": "kafkajs", "message": message, **about, **more})


def joined(minute: int, member: str) -> str:
    fields = {"leaderId": member, "isLeader": True, "memberAssignment": {"orders": [0]}, "duration": 3012}
    message = "[ConsumerGroup] Consumer has joined the group"
    return logged(minute, "INFO", message, member, groupProtocol="RoundRobinAssigner", **fields)


def told_again(minute: int, message: str, error: str) -> str:
    return logged(minute, "WARN", message, FIRST, error=error, retryCount=0, retryTime=259)


def incidents(directory: Path, *lines: str) -> tuple[Incident, ...]:
    (directory / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tuple(analyze([str(directory)], AnalyzeOptions(engine="local")).incidents)


def test_a_rebalance_that_a_member_learns_of_is_unexplained_if_no_log_numbers_it(tmp_path: Path) -> None:
    rebalancing = told_again(10, REBALANCING, "The group is rebalancing, so a rejoin is needed")
    (incident,) = incidents(tmp_path, joined(0, FIRST), rebalancing, joined(11, FIRST))
    assert [cause.cause for cause in incident.root_causes] == ["unexplained"]
    assert any(wanted.needs.startswith("server.log of") for wanted in incident.would_decide)


def test_a_member_that_says_itself_that_it_is_forgotten_did_not_crash(tmp_path: Path) -> None:
    forgotten = told_again(10, FORGOTTEN, "The coordinator is not aware of this member")
    (incident,) = incidents(tmp_path, joined(0, FIRST), forgotten, joined(11, SECOND))
    assert "process-crash" not in {cause.cause for cause in incident.root_causes}
    assert "process-crash" in {out.cause for out in incident.ruled_out}
    assert [culprit.name for culprit in incident.root_causes[0].culprits] == ["pay-1"]


def test_a_consumer_that_crashed_has_left_even_where_only_its_errors_are_logged(tmp_path: Path) -> None:
    crash = logged(10, "ERROR", "[Consumer] Crash: KafkaJSNumberOfRetriesExceeded: db down", FIRST, retryCount=5)
    again = logged(11, "ERROR", "[Consumer] Restarting the consumer in 8206ms", FIRST, retryCount=5, retryTime=8206)
    found = incidents(tmp_path, joined(0, FIRST), crash, again, joined(12, SECOND))
    assert found[-1].root_causes[0].cause == "member-left"


def test_no_generation_is_mentioned_where_the_client_prints_none(tmp_path: Path) -> None:
    starting = [
        json.dumps(
            {
                "level": "INFO",
                "timestamp": f"2026-03-01T01:{minute:02}:00.000Z",
                "logger": "kafkajs",
                "message": "[Consumer] Starting",
                "groupId": "payments",
            }
        )
        for minute in (0, 20)
    ]
    found = incidents(tmp_path, starting[0], joined(1, FIRST), starting[1], joined(21, SECOND))
    assert "it closed no consumer" in found[-1].summary


def refused(at: str) -> str:
    return json.dumps(
        {
            "level": "ERROR",
            "timestamp": f"2026-03-01T01:{at}Z",
            "logger": "kafkajs",
            "message": "[Connection] Response Heartbeat(key: 12, version: 3)",
            "clientId": "pay-1",
            "error": "The group is rebalancing, so a rejoin is needed",
        }
    )


def test_what_a_connection_logs_of_one_of_two_clients_in_a_log_belongs_to_the_group_of_the_member_named_after_it(
    tmp_path: Path,
) -> None:
    rebalancing = told_again(10, REBALANCING, "The group is rebalancing, so a rejoin is needed")
    (incident,) = incidents(
        tmp_path,
        joined(0, FIRST),
        joined(0, FIRST.replace("pay-1", "pay-2")),
        refused("10:00.000"),
        rebalancing,
        joined(11, FIRST),
    )
    assert incident.group == "payments"


def test_a_crash_that_names_only_its_group_is_of_the_groups_only_member(tmp_path: Path) -> None:
    group = {"timestamp": "2026-03-01T01:10:00.000Z", "logger": "kafkajs", "groupId": "payments"}
    crash = json.dumps(
        {
            "level": "ERROR",
            **group,
            "message": "[Consumer] Crash: KafkaJSNonRetriableError: db down",
            "stack": "Error\n",
        }
    )
    stopped = json.dumps({"level": "INFO", **group, "message": "[Consumer] Stopped"})
    (tmp_path / "server.log").write_text(
        "[2026-03-01 01:10:08,000] INFO [GroupCoordinator 1]: Dynamic member with unknown member id joins group "
        f"payments in Empty state. Created a new member id {SECOND} and request the member to rejoin with this id. "
        "(kafka.coordinator.group.GroupCoordinator)\n",
        encoding="utf-8",
    )
    (incident,) = incidents(tmp_path, crash, stopped)
    assert incident.root_causes[0].cause == "member-left"
    assert [culprit.name for culprit in incident.root_causes[0].culprits] == ["pay-1"]


def test_what_a_connection_logs_of_a_rebalance_is_of_the_group_whose_member_repeats_it(tmp_path: Path) -> None:
    rebalancing = told_again(10, REBALANCING, "The group is rebalancing, so a rejoin is needed")
    other = joined(0, SECOND).replace("payments", "invoices")
    refusals = [refused(f"09:{second}.000") for second in (15, 30, 45)]
    found = incidents(tmp_path, joined(0, FIRST), other, *refusals, rebalancing, joined(11, FIRST))
    assert {incident.group for incident in found if incident.severity != "info"} <= {"payments"}
    assert "rebalance-straggler" not in {i.root_causes[0].cause for i in found if i.group == "invoices"}
