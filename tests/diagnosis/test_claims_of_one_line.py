"""A line decides only what it says: a client's own clock, a refused commit, a figure that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident
from tests.diagnosis.other_clients import causes, incidents

OWN_CLOCK = {
    "kafka-python": ("Heartbeat session expired, marking coordinator dead", "Leaving consumer group (payments)."),
    "aiokafka": ("Heartbeat session expired - marking coordinator dead", "LeaveGroup request succeeded"),
}


def line(client: str, at: str, level: str, message: str) -> str:
    logger = {"kafka-python": "kafka.coordinator", "aiokafka": "aiokafka.consumer.group_coordinator"}[client]
    return f"2026-03-01 {at},112 - {logger} - {level} - {message}"


def every_cause(found: tuple[Incident, ...]) -> set[str]:
    return {cause.cause for incident in found for cause in incident.root_causes}


@pytest.mark.parametrize("left_at", ["01:12:20", "01:19:08"])
@pytest.mark.parametrize("client", OWN_CLOCK)
def test_a_client_that_counts_its_session_as_expired_and_leaves_later_did_not_crash(
    tmp_path: Path, client: str, left_at: str
) -> None:
    expired, leaves = OWN_CLOCK[client]
    found = incidents(
        tmp_path,
        line(client, "01:10:00", "INFO", "Discovered coordinator coordinator-1 for group payments"),
        line(client, "01:12:00", "WARNING", expired),
        line(client, "01:12:05", "INFO", "Discovered coordinator coordinator-1 for group payments"),
        line(client, left_at, "INFO", leaves),
        "2026-03-01 01:19:13,322 - kafka.consumer.subscription_state - INFO - Updating subscribed topics to: ('t',)",
        line(client, "01:19:16", "INFO", "Successfully joined group payments with generation 15"),
    )
    assert "process-crash" not in every_cause(found)
    assert not any("evicted" in incident.summary for incident in found)


def test_a_refused_commit_weighs_the_same_whichever_client_logs_it(tmp_path: Path) -> None:
    refused = {
        "kafka-python": "kafka.coordinator.consumer:OffsetCommit for group payments failed: UnknownMemberIdError",
        "aiokafka": "aiokafka.consumer.group_coordinator:OffsetCommit failed for group payments due to group error "
        "([Error 25] UnknownMemberIdError: payments), will rejoin",
    }
    weighed = {}
    for client, message in refused.items():
        (tmp_path / client).mkdir()
        (incident,) = incidents(tmp_path / client, f"ERROR:{message}")
        weighed[client] = [(cause.cause, cause.confidence) for cause in incident.root_causes]
    assert weighed["kafka-python"] == weighed["aiokafka"]
    assert weighed["aiokafka"][0][1] < 0.5


REFUSED = (
    "2026-03-01 09:52:30.444,Caused by: org.apache.kafka.clients.consumer.CommitFailedException: Offset commit cannot "
    "be completed since the consumer is not part of an active group for auto partition assignment; it is likely that "
    "the consumer was kicked out of the group."
)
POLL_TIMEOUT = (
    "2026-03-01 {}  WARN 7 --- [-thread | g1] o.a.k.c.c.internals.ConsumerCoordinator  : [Consumer clientId=c1, "
    "groupId=g1] consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer "
    "than the configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time "
    "processing messages."
)


@pytest.mark.parametrize("fence", [(), ("```",)])
def test_a_poll_timeout_hours_after_a_rejected_commit_is_a_separate_incident(
    tmp_path: Path, fence: tuple[str, ...]
) -> None:
    found = incidents(tmp_path, REFUSED, *fence, POLL_TIMEOUT.format("19:14:27.530"))
    sure = [i for i in found if i.root_causes[0].confidence > 0.9]
    assert causes(tuple(sure)) == ["slow-processing"]
    assert sure[0].started_at == max(i.started_at for i in found)


def test_a_poll_timeout_soon_after_the_refused_commit_is_the_same_incident(tmp_path: Path) -> None:
    assert causes(incidents(tmp_path, REFUSED, "```", POLL_TIMEOUT.format("09:52:31.530"))) == ["slow-processing"]


@pytest.mark.parametrize(
    ("exceeded_ms", "sure"), [(448, True), (90_000, True), (1_996_859_793, False), (9_223_372_036_854, False)]
)
def test_a_poll_interval_exceeded_by_days_is_named_as_implausible(
    tmp_path: Path, exceeded_ms: int, *, sure: bool
) -> None:
    (incident,) = incidents(
        tmp_path,
        f"%4|1772327400.000|MAXPOLL|rdkafka#consumer-1| [thrd:main]: Application maximum poll interval (300000ms) "
        f"exceeded by {exceeded_ms}ms (adjust max.poll.interval.ms for long-running message processing): leaving group",
    )
    assert incident.root_causes[0].cause == "slow-processing"
    assert (incident.root_causes[0].confidence >= 0.9) is sure
    assert ("implausible" in incident.summary) is not sure


def test_a_client_that_names_itself_only_as_it_leaves_is_the_client_of_its_whole_log(tmp_path: Path) -> None:
    (incident,) = incidents(
        tmp_path,
        "2026-03-01 01:03:58.893   Member consumer-7 sending LeaveGroup request to coordinator due to consumer poll "
        "timeout has expired.",
        "2026-03-01 01:05:14.797   Giving away all assigned partitions as lost since generation has been reset,"
        "indicating that consumer is no longer part of the group",
        "2026-03-01 01:05:14.797   (Re-)joining group",
        "2026-03-01 01:08:58.965   Successfully joined group with generation 189",
    )
    assert incident.root_causes[0].cause == "slow-processing"
    assert [c.name for c in incident.root_causes[0].culprits] == ["consumer-7"]


RUNBOOK = (
    "Errors you may see, and what to do:",
    "Application maximum poll interval (300000ms) exceeded",
    "org.apache.kafka.common.errors.GroupAuthorizationException: Not authorized to access group: <group>",
    (
        "org.apache.kafka.common.errors.FencedInstanceIdException: The broker rejected this static consumer since "
        "another consumer with the same group.instance.id has registered with a different member.id."
    ),
    "Broker: Inconsistent group protocol",
)


def test_a_runbook_that_lists_errors_shows_no_member_even_next_to_a_members_log(tmp_path: Path) -> None:
    assert incidents(tmp_path, *RUNBOOK) == ()
    (tmp_path / "runbook.md").write_text("\n".join(RUNBOOK), encoding="utf-8")
    (incident,) = incidents(tmp_path, POLL_TIMEOUT.format("19:14:27.530"))
    assert (incident.group, incident.root_causes[0].cause) == ("g1", "slow-processing")


def test_a_single_error_in_prose_without_a_time_is_what_the_user_asks_about(tmp_path: Path) -> None:
    assert causes(incidents(tmp_path, "Since Monday:", "", RUNBOOK[3])) == ["static-member-fenced"]


LEAVING = (
    "[Consumer clientId=c-1, groupId=g1] Member c-1-77aa sending LeaveGroup request to coordinator b1:9092 "
    "(id: 2147483647 rack: null) due to consumer poll timeout has expired."
)


@pytest.mark.parametrize(
    "document",
    [
        f"# Runbook\n\nWhen you see this:\n\n{LEAVING}\n\nraise max.poll.interval.ms.\n",
        f"If a consumer logs\n\n```\n{LEAVING}\n```\n",
        f"In case you run into the following error:\n\n    2024-01-01 12:00:00,000 ERROR {LEAVING}\n",
        f"## 2.3.1\n- Fixed: no more `{LEAVING}`\n",
        f"Whenever you get `{LEAVING}`, raise max.poll.interval.ms.\n",
        f"Docs say:\n{LEAVING}\n",
        f"From the official documentation on slow consumers:\n\n```\n{LEAVING}\n```\n",
    ],
)
def test_what_documentation_shows_as_an_example_happened_to_no_member(tmp_path: Path, document: str) -> None:
    (tmp_path / "README.md").write_text(document, encoding="utf-8")
    (incident,) = incidents(tmp_path, POLL_TIMEOUT.format("19:14:27.530"))
    assert [c.name for c in incident.root_causes[0].culprits] != ["c-1"]


@pytest.mark.parametrize("before", ["When I start a second one, I see this:", "If you look at the logs:", "We get:"])
def test_an_error_that_a_user_reports_in_prose_happened(tmp_path: Path, before: str) -> None:
    (incident,) = incidents(tmp_path, before, "", LEAVING)
    assert (incident.group, incident.root_causes[0].cause) == ("g1", "slow-processing")


def test_a_group_whose_name_was_cut_short_in_the_prefix_leaves_the_message_whole(tmp_path: Path) -> None:
    cut = "2026-11-20 19:14:27.530 INFO  [main] o.a.k.c.c.internals.AbstractCoordinator - " + LEAVING.replace(
        "=g1]", "=g\u2026]"
    )
    (incident,) = incidents(tmp_path, cut)
    assert incident.root_causes[0].cause == "slow-processing"


def test_an_offset_on_a_separate_line_is_not_a_stack_frame(tmp_path: Path) -> None:
    head = (
        "2026-11-20 19:14:27.530 ERROR [main] o.a.k.c.c.internals.ConsumerCoordinator - "
        "[Consumer clientId=c-1, groupId=g1] "
    )
    failed = (
        "Offset commit failed on partition orders-0",
        "    at offset 5: The coordinator is not aware of this member.",
    )
    (incident,) = incidents(tmp_path, head + failed[0], failed[1])
    assert incident.root_causes[0].cause == "slow-processing"


def test_a_client_without_a_poll_timeout_is_not_advised_to_raise_it(tmp_path: Path) -> None:
    (incident,) = incidents(
        tmp_path,
        "I, [2026-03-01T01:10:00.123456 #1]  INFO -- : [[payments] {orders: 0}:] Committing offsets: orders/0:42",
        "E, [2026-03-01T01:10:00.133456 #1] ERROR -- : [[payments] {orders: 0}:] Error committing offsets: "
        "Kafka::UnknownMemberId",
    )
    slow = incident.root_causes[0]
    assert slow.cause == "slow-processing"
    assert "max.poll.interval.ms" not in f"{incident.summary} {slow.advice}"
    assert slow.advice[0].action == "Call trigger_heartbeat while records are handled."
