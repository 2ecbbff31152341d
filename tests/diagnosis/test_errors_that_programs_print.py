"""Errors that a client returned to its program, in the program's words: the group's own errors read the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

FORGOTTEN = [
    'cimpl.KafkaException: KafkaError{code=UNKNOWN_MEMBER_ID,val=25,str="Commit failed: Broker: Unknown member"}',
    "Confluent.Kafka.KafkaException: Broker: Unknown member",
    "Rdkafka::RdkafkaError: Broker: Unknown member (unknown_member_id)",
    "could not commit: Broker: Unknown member",
    "read message error: [25] Unknown Member ID: the member id is not in the current generation",
    "consume failed: kafka server: The provided member is not known in the current generation.",
]


def incidents(directory: Path, *lines: str) -> tuple[Incident, ...]:
    (directory / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tuple(analyze([str(directory)], AnalyzeOptions(engine="local")).incidents)


@pytest.mark.parametrize("error", FORGOTTEN)
def test_a_member_unknown_to_its_coordinator_is_a_warning_without_a_known_cause(tmp_path: Path, error: str) -> None:
    (incident,) = incidents(tmp_path, f"2026-03-01 01:10:00,123 ERROR shop.orders {error}")
    assert incident.severity == "warning"
    assert max(cause.confidence or 0 for cause in incident.root_causes) <= 0.55


@pytest.mark.parametrize(
    "line",
    [
        (
            '{"level":"error","time":"2026-03-01T01:10:00Z","error":"kafka server: The provided member is not known in '
            'the current generation","message":"consume failed"}'
        ),
        (
            '{"level":"error","time":"2026-03-01T01:10:00Z","message":"Error from consumer","err":"kafka server: The '
            'provided member is not known in the current generation"}'
        ),
        (
            '{"log.level":"error","@timestamp":"2026-03-01T01:10:00.000Z","message":"Error reading from kafka",'
            '"error":{"message":"kafka: error while consuming orders/0: kafka server: The provided member is not known '
            'in the current generation"}}'
        ),
        (
            '{"level":"error","ts":1772327400.1,"msg":"commit","error":"[25] Unknown Member ID: the member id is not '
            'in the current generation"}'
        ),
        'time="2026-03-01T01:10:00Z" level=error msg="commit" error="Broker: Unknown member"',
    ],
)
def test_an_error_in_a_separate_field_is_read_with_its_message(tmp_path: Path, line: str) -> None:
    (incident,) = incidents(tmp_path, line)
    assert incident.severity == "warning"


@pytest.mark.parametrize(
    "line",
    [
        "2026-03-01 01:10:00,123 ERROR shop.docs RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID: Broker: Unknown member",
        "2026-03-01 01:10:00,123 ERROR shop.docs the broker does not know: an unknown member of the team",
    ],
)
def test_a_table_of_errors_and_talk_are_no_errors_of_a_group(tmp_path: Path, line: str) -> None:
    read = "2026-03-01 01:09:00,123 INFO kafka.coordinator (Re-)joining group payments"
    assert not [each for each in incidents(tmp_path, read, line) if each.severity == "warning"]


def test_a_join_whose_connection_breaks_again_and_again_never_got_in(tmp_path: Path) -> None:
    lines = [f"2026/03/01 01:10:0{second} Failed to join group payments: EOF" for second in range(3)]
    (incident,) = incidents(tmp_path, *lines)
    assert (incident.root_causes[0].cause, incident.severity, incident.ongoing) == ("unexplained", "warning", True)
    assert "asked to join 3 times" in incident.summary


def test_a_reader_that_was_rejected_before_it_restarted_is_not_a_new_member(tmp_path: Path) -> None:
    refused = (
        "[16] Not Coordinator For Group: the broker returns this error code if it receives an offset fetch or commit "
        "request for a group that it is not a coordinator for"
    )
    member = "shop@pod-1 (github.com/segmentio/kafka-go)-f4864b83-310e-49b2-b6ed-737868bb65c0"
    found = incidents(
        tmp_path,
        f"2026/03/01 01:10:00 Failed to join group payments: {refused}",
        "2026/03/01 01:10:01 entering loop for consumer group, payments",
        f"2026/03/01 01:10:02 Failed to join group payments: {refused}",
        f"2026/03/01 01:10:04 joined group payments as member {member} in generation 10",
    )
    sure = {c.cause for incident in found for c in incident.root_causes[:1] if (c.confidence or 0) >= 0.75}
    assert "scale-out" not in sure
