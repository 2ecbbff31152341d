"""Who left a group and why, where a paste mixes lines of a client with lines of its coordinator."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

MEMBER = "orders-1-a23536bd-28f5-43cb-8bb4-b3379e60b29b"
BROKER = "[2026-03-01 01:10:{}] INFO [GroupCoordinator 1]: {} (kafka.coordinator.group.GroupCoordinator)"
LEFT = (
    BROKER.format(
        "43,632",
        "Preparing to rebalance group payments in state PreparingRebalance with old generation 1 "
        f"(__consumer_offsets-31) (reason: Removing member {MEMBER} on LeaveGroup)",
    ),
    BROKER.format("43,633", "Group payments with generation 2 is now empty (__consumer_offsets-31)"),
)
# AbstractCoordinator, since 3.0: the same words after a close, an unsubscribe and a poll timeout.
LEAVING = (
    "[Consumer clientId=orders-1, groupId=payments] Request joining group due to: consumer pro-actively leaving the "
    "group"
)
HEARTBEATS = "kafka-coordinator-heartbeat-thread | payments"
CLIENT = "{}[{}] INFO org.apache.kafka.clients.consumer.internals.ConsumerCoordinator - {}"


def incidents(directory: Path, *lines: str) -> list[Incident]:
    """The incidents of a paste."""
    (directory / "paste.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return list(analyze([str(directory)], AnalyzeOptions(engine="local")).incidents)


@pytest.mark.parametrize(("thread", "cause"), [(HEARTBEATS, "slow-processing"), ("main", "shutdown")])
def test_only_a_poll_timeout_makes_the_heartbeat_thread_leave(tmp_path: Path, thread: str, cause: str) -> None:
    (incident,) = incidents(tmp_path, CLIENT.format("2026-03-01 01:10:43,600 ", thread, LEAVING), *LEFT)
    likeliest = incident.root_causes[0]
    assert likeliest.cause == cause
    assert likeliest.confidence > 0.75


def test_a_client_without_a_line_near_its_leave_does_not_show_that_it_shut_down_cleanly(tmp_path: Path) -> None:
    (incident,) = incidents(tmp_path, CLIENT.format("", "main", LEAVING), *LEFT)
    assert incident.root_causes[0].confidence < 0.75
    assert "cleanly" not in incident.summary


def test_a_kafkajs_crash_names_its_group_and_is_what_the_only_member_that_left_then_logged(tmp_path: Path) -> None:
    crash = (
        '{"level":"ERROR","timestamp":"2026-03-01T01:10:43.600Z","logger":"kafkajs","message":"[Consumer] Crash: '
        'KafkaJSNonRetriableError: unknown currency","groupId":"%s","retryCount":0}'
    )
    (incident,) = incidents(tmp_path, crash % "payments", *LEFT)
    assert incident.root_causes[0].cause == "member-left"
    assert "KafkaJSNonRetriableError" in incident.summary
    apart = {i.group: i.root_causes[0].cause for i in incidents(tmp_path, crash % "invoices", *LEFT)}
    assert apart == {"payments": "shutdown", "invoices": "unexplained"}


def test_a_worker_that_cannot_read_its_config_topic_in_time_leaves_the_group(tmp_path: Path) -> None:
    worker = (
        "2026-03-01 01:10:{} {} [Worker clientId=connect-1, groupId=payments] {} "
        "(org.apache.kafka.connect.runtime.distributed.DistributedHerder)"
    )
    behind = "Current config state offset 70 is behind group assignment 71, reading to end of config log"
    read = "Didn't reach end of config log quickly enough"
    (incident,) = incidents(tmp_path, worker.format("35,625", "INFO", behind), worker.format("38,625", "WARN", read))
    assert (incident.severity, incident.root_causes[0].cause) == ("warning", "unexplained")
    assert "left the group once because it did not read the config topic" in incident.summary


def test_a_fencing_is_reported_where_the_coordinator_names_only_the_members(tmp_path: Path) -> None:
    fenced = (
        "Request memberId=i-1-66ff for static member with groupInstanceId=i-1 is fenced by current memberId=i-1-77aa"
    )
    (incident,) = incidents(tmp_path, BROKER.format("43,632", f"{fenced} during operation heartbeat"))
    assert incident.root_causes[0].cause == "static-member-fenced"
    assert [c.name for c in incident.root_causes[0].culprits] == ["i-1"]


KAFKAJS = '{"level":"ERROR","timestamp":"2026-03-01T01:10:43.600Z","logger":"kafkajs","message":"%s","error":"%s",%s}'
UNKNOWN = "The coordinator is not aware of this member"


@pytest.mark.parametrize(
    ("message", "named", "words"),
    [
        ("[Connection] Response Heartbeat(key: 12, version: 3)", '"clientId":"shop"', "blocked its heartbeats"),
        ("[Connection] Response SyncGroup(key: 14, version: 3)", '"clientId":"shop"', "no longer in the group"),
        (f"[Consumer] Crash: KafkaJSNumberOfRetriesExceeded: {UNKNOWN}", '"groupId":"payments"', "crashed once"),
    ],
)
def test_only_a_refused_heartbeat_of_kafkajs_shows_that_its_loop_sent_none(
    tmp_path: Path, message: str, named: str, words: str
) -> None:
    (incident,) = incidents(tmp_path, KAFKAJS % (message, UNKNOWN, named))
    assert words in incident.summary
    assert incident.severity == "warning"


def test_a_refused_join_of_a_newcomer_does_not_say_that_it_was_a_member(tmp_path: Path) -> None:
    sent = f"Sent generation was Generation{{generationId=-1, memberId='{MEMBER}', protocol='null'}}"
    refused = f"[Consumer clientId=orders-1, groupId=payments] JoinGroup failed: {UNKNOWN}. Need to re-join the group."
    (incident,) = incidents(tmp_path, CLIENT.format("2026-03-01 01:10:43,600 ", "main", f"{refused} {sent}"))
    assert "did not know its member id" in incident.summary
    assert "no longer" not in incident.summary


@pytest.mark.parametrize(
    ("line", "answered"),
    [
        ("Offset commit failed on partition orders-0 at offset 42: The request timed out.", [True]),
        ("Asynchronous auto-commit of offsets failed: The request timed out.", []),
    ],
)
def test_a_commit_that_the_coordinator_could_not_replicate_is_not_blamed_on_the_network(
    tmp_path: Path, line: str, answered: list[bool]
) -> None:
    message = f"[Consumer clientId=orders-1, groupId=payments] {line}"
    found = incidents(tmp_path, CLIENT.format("2026-03-01 01:10:43,600 ", "main", message))
    assert ["__consumer_offsets" in i.summary for i in found] == answered


def test_records_joined_after_the_first_ones_logger_are_two(tmp_path: Path) -> None:
    expired = (
        LEFT[0]
        .partition("INFO ")[2]
        .replace("Removing", "removing")
        .replace("on LeaveGroup", "on heartbeat expiration")
    )
    (incident,) = incidents(tmp_path, expired + LEFT[1].partition("INFO ")[2])
    assert incident.root_causes[0].cause == "process-crash"


def test_a_worker_that_rejoins_when_another_stops_shows_that_the_group_lives_on(tmp_path: Path) -> None:
    stopped = (
        "connect-1 | [2026-03-01 10:10:55,645] INFO Kafka Connect stopped (org.apache.kafka.connect.runtime.Connect)"
    )
    joining = (
        "connect-2 | [2026-03-01 10:10:56,019] INFO [Worker clientId=connect-1, groupId=payments] (Re-)joining group "
        "(org.apache.kafka.connect.runtime.distributed.WorkerCoordinator)"
    )
    alone = "broker    | " + BROKER.format(
        "56,021", "Stabilized group payments generation 5 (__consumer_offsets-0) with 1 members"
    )
    assert "shutdown" not in {i.root_causes[0].cause for i in incidents(tmp_path, stopped, joining, alone)}


def test_a_line_that_names_the_group_ties_those_of_its_writer_that_do_not(tmp_path: Path) -> None:
    refused = (
        "[2026-03-01 01:10:43,839] ERROR    OffsetCommit failed for group payments due to group error ({}), will rejoin"
    )
    again = "[2026-03-01 01:10:43,841] WARNING  Auto offset commit failed: {}"
    error = "IllegalGenerationError - 22 - The generation id is not the current generation."
    found = incidents(tmp_path, *LEFT, refused.format(error), again.format(error))
    assert {i.group for i in found} == {"payments"}


def test_the_lines_without_a_time_above_the_coordinators_show_why_the_member_left(tmp_path: Path) -> None:
    expired = "[Consumer clientId=orders-1, groupId=payments] consumer poll timeout has expired."
    leaving = (
        f"[Consumer clientId=orders-1, groupId=payments] Member {MEMBER} sending LeaveGroup request to coordinator "
        "localhost:9092 (id: 2147483646 rack: null) due to consumer poll timeout has expired."
    )
    client = [CLIENT.format("", HEARTBEATS, message) for message in (expired, leaving)]
    (incident,) = incidents(tmp_path, *client, *LEFT)
    likeliest = incident.root_causes[0]
    assert (likeliest.cause, [culprit.name for culprit in likeliest.culprits]) == ("slow-processing", ["orders-1"])
    assert likeliest.confidence > 0.75


def test_a_brod_member_that_rejoins_because_it_was_fenced_shares_its_instance_id(tmp_path: Path) -> None:
    again = "Group member (payments,coor=#PID<0.922.0>,cb=#PID<0.921.0>,generation=170): re-joining group, reason::{}"
    found = incidents(tmp_path, again.format("fenced_instance_id"), again.format("rebalance_in_progress"))
    assert [incident.root_causes[0].cause for incident in found] == ["static-member-fenced"]


def _rewritten(how: str, line: str) -> str:
    if how == "entities":
        return line.replace("[Consumer", "&#91;Consumer")
    if how == "escapes":
        return line.replace("[", "\\[").replace("]", "\\]").replace("_", "\\_")
    # What a form leaves of the colours in which Spring Boot prints its lines.
    return line.replace(" WARN 1 ---", "[33m WARN[0;39m [35m1[0;39m [2m---[0;39m").replace("  :", " [2m:[0;39m")


@pytest.mark.parametrize("how", ["entities", "escapes", "colours"])
def test_damage_by_a_web_page_to_a_message_after_a_complete_header_hides_no_poll_timeout(
    tmp_path: Path, how: str
) -> None:
    line = (
        "2026-11-20 10:15:30.123  WARN 1 --- [main] o.a.k.c.c.internals.ConsumerCoordinator  : "
        "[Consumer clientId=orders-1, groupId=pay_ments] Member orders-1-05ba4dd6-3a98-4ea8-91eb-003ee4fc7aca sending "
        "LeaveGroup request to coordinator kafka-2:9092 (id: 2147483645 rack: null) due to consumer poll timeout has "
        "expired."
    )
    (tmp_path / "app.log").write_text(_rewritten(how, line) + "\n", encoding="utf-8")
    (incident,) = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert (incident.group, incident.root_causes[0].cause) == ("pay_ments", "slow-processing")
