"""People ask about the exception alone: what Kafka throws at a member is found wherever it was printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.model import Report

ERRORS = "org.apache.kafka.common.errors."
DENIED = f"{ERRORS}GroupAuthorizationException: Not authorized to access group: payments"
FENCED = (
    f"{ERRORS}FencedInstanceIdException: The broker rejected this static consumer since another consumer with the same "
    "group.instance.id has registered with a different member.id."
)
UNLIKE = (
    f"{ERRORS}InconsistentGroupProtocolException: The group member's supported protocols are incompatible with those "
    "of existing members or first group member tried to join with empty protocol type or empty protocol list."
)
FULL = (
    f"{ERRORS}GroupMaxSizeReachedException: Consumer group payments already has the configured maximum number of "
    "members."
)
SPRING = "2026-11-20 10:15:30.678 ERROR 1 --- [ntainer#0-0-C-1] o.s.k.l.KafkaMessageListenerContainer    : "
WRAPPED = (
    "java.lang.IllegalStateException: This error handler cannot process that\n\tat com.acme.Loop.run(Loop.java:7)\n"
)
MIGRATED = (
    "stream-thread [ledger-StreamThread-1] Detected that the thread is being fenced. This implies that this thread "
    "missed a rebalance and dropped out of the consumer group. Will close out all assigned tasks and rejoin the "
    "consumer group."
)
TASK = (
    "org.apache.kafka.streams.errors.TaskMigratedException: Producer got fenced trying to commit a transaction "
    "[stream-thread [ledger]]; it means all tasks belonging to this thread should be migrated."
)


def report_on(directory: Path, text: str) -> Report:
    """What is found in a paste."""
    (directory / "paste.md").write_text(text + "\n", encoding="utf-8")
    return analyze([str(directory)], AnalyzeOptions(engine="local"))


@pytest.mark.parametrize("before", ["", "Caused by: ", 'Exception in thread "main" ', f"{SPRING}boom\n"])
@pytest.mark.parametrize(
    ("thrown", "cause"),
    [
        (DENIED, "authorization-failure"),
        (FENCED, "static-member-fenced"),
        (UNLIKE, "inconsistent-protocol"),
        (FULL, "group-max-size"),
    ],
)
def test_what_kafka_threw_at_a_member_tells_its_cause(tmp_path: Path, before: str, thrown: str, cause: str) -> None:
    (incident,) = report_on(tmp_path, f"We see this since Monday.\n\n{before}{thrown}").incidents
    assert incident.root_causes[0].cause == cause


@pytest.mark.parametrize("thrown", [DENIED, FENCED, UNLIKE])
def test_the_exception_that_a_listener_container_wraps_is_found_below_its_own(tmp_path: Path, thrown: str) -> None:
    (incident,) = report_on(tmp_path, f"{SPRING}Consumer exception\n{WRAPPED}Caused by: {thrown}").incidents
    assert incident.root_causes[0].cause in ("authorization-failure", "static-member-fenced", "inconsistent-protocol")


def test_the_exception_that_names_the_group_gives_it_its_name(tmp_path: Path) -> None:
    assert [group.group for group in report_on(tmp_path, f"{SPRING}boom\n{DENIED}").groups] == ["payments"]


def test_an_excerpt_that_begins_within_a_stack_trace_keeps_what_was_thrown(tmp_path: Path) -> None:
    report = report_on(tmp_path, f"Caused by: {DENIED}\n[INFO] BUILD FAILURE\n[INFO] Total time: 7.750 s")
    assert [incident.root_causes[0].cause for incident in report.incidents] == ["authorization-failure"]


def test_a_fenced_thread_is_reported_once_although_its_exception_follows(tmp_path: Path) -> None:
    (incident,) = report_on(tmp_path, f"{MIGRATED}\n{TASK}\n\tat org.apache.kafka.streams.X.y(X.java:1)").incidents
    (cause,) = incident.root_causes
    assert cause.cause == "unexplained"
    assert "was told once that it is no longer in the group" in cause.narrative


def test_a_producers_denial_does_not_concern_a_group(tmp_path: Path) -> None:
    denied = f"{ERRORS}TopicAuthorizationException: Not authorized to access topics: [orders]"
    assert not report_on(tmp_path, f"{SPRING}send failed\n{denied}").groups


def test_a_leader_that_could_not_assign_is_known_by_the_newer_name_of_that_step(tmp_path: Path) -> None:
    join = (
        "2026-11-20 10:15:30.123 INFO 1 --- [main] o.a.k.c.c.internals.ConsumerCoordinator  : "
        "[Consumer clientId=c-1, groupId=payments] (Re-)joining group\n"
    )
    trace = (
        "java.lang.IllegalStateException: no rack\n\tat com.acme.RackAssignor.assign(RackAssignor.java:41)\n"
        "\tat org.apache.kafka.clients.consumer.internals.ConsumerCoordinator.onLeaderElected("
        "ConsumerCoordinator.java:703)"
    )
    (incident,) = report_on(tmp_path, f"{join}{SPRING}boom\n{trace}").incidents
    assert incident.root_causes[0].cause == "assignment-failure"
