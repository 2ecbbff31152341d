"""An application's own errors are told from Kafka's, in Java and in Python."""

from __future__ import annotations

import json

import pytest

from rebalance_forensics.catalog.exceptions import application_frame, exception_in
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.sources.records.record_reader import parse_line

TRACE = 'Traceback (most recent call last):\n  File "/app/worker.py", line 60, in loop\n    handle(m)\n'


def test_what_python_raised_is_the_last_line_of_its_traceback() -> None:
    line = {"asctime": "2026-11-20 10:15:30,123", "levelname": "ERROR", "name": "orders", "message": "worker failed"}
    match = exception_in(parse_line(json.dumps(line | {"exc_info": f"{TRACE}ValueError: unknown currency"})), None)
    assert match is not None
    assert (match.fields["exception"], match.fields["detail"]) == ("ValueError", "unknown currency")


def test_a_traceback_is_looked_for_in_any_layout() -> None:
    assert Catalog.load().prefilter().hits(f'{{"exc_info": {json.dumps(TRACE)}}}\n'.encode())


INTERRUPTED = (
    "org.apache.kafka.common.errors.InterruptException: java.lang.InterruptedException\n"
    "\tat org.apache.kafka.clients.consumer.KafkaConsumer.close(KafkaConsumer.java:1790) ~[kafka-clients-4.2.0.jar:?]\n"
    "\tat java.base/java.lang.Thread.run(Thread.java:840) [?:?]\n"
)


@pytest.mark.parametrize("logger", ["org.apache.kafka.common.utils.Utils", "Utils"])
def test_what_only_kafkas_classes_went_through_is_kafkas_where_a_layout_prints_classes_without_packages(
    logger: str,
) -> None:
    warned = f"2026-11-20 10:15:30,123 WARN [main] {logger} - Failed to close consumer with type KafkaConsumer\n"
    assert exception_in(parse_line(warned + INTERRUPTED), "connect") is None


def test_what_went_through_the_applications_classes_is_its_own() -> None:
    failed = "2026-11-20 10:15:30,123 ERROR [main] Orders - worker failed\n"
    match = exception_in(parse_line(f"{failed}{INTERRUPTED}\tat com.acme.Orders.poll(Orders.java:31)\n"), None)
    assert match is not None
    assert match.fields["exception"] == "org.apache.kafka.common.errors.InterruptException"


def test_a_line_of_a_connectors_consumer_is_kafkas_after_its_context() -> None:
    line = (
        "2026-11-20 10:15:30,123 ERROR [main] ClassicKafkaConsumer - [sink-1|task-0] "
        "[Consumer clientId=c, groupId=g] Failed to close coordinator\n"
    )
    assert exception_in(parse_line(line + "java.lang.IllegalStateException: closed\n"), "connect") is None


def test_a_refused_commit_was_thrown_to_the_application_though_only_kafkas_frames_are_left_of_its_trace() -> None:
    refused = "org.apache.kafka.clients.consumer.CommitFailedException"
    frame = (
        "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator.commitOffsetsSync(ConsumerCoordinator.java)"
    )
    line = f"2026-11-20 10:15:30,123 node-3 Exception while committing\n{refused}: Offset commit cannot\n\tat {frame}\n"
    match = exception_in(parse_line(line), None)
    assert match is not None
    assert match.fields["exception"] == refused


THROWN = (
    "Poll failed\njava.lang.IllegalStateException: weights do not add up\n"
    "\tat java.base/java.util.Optional.orElseThrow(Optional.java:403)\n"
    "\tat org.example.WeightedAssignor.assign(WeightedAssignor.java:41)\n"
)


def test_where_the_application_threw_an_exception_is_the_first_line_that_is_neither_javas_nor_kafkas() -> None:
    assert application_frame(THROWN, "java.lang.IllegalStateException") == (
        "at org.example.WeightedAssignor.assign(WeightedAssignor.java:41)"
    )


def test_a_line_above_an_exception_or_below_its_cause_does_not_show_where_it_was_thrown() -> None:
    wrapped = f"{THROWN}Caused by: org.example.Refused: no\n\tat org.example.Rules.check(Rules.java:7)\n"
    assert application_frame(wrapped, "org.example.Refused") == "at org.example.Rules.check(Rules.java:7)"
    assert application_frame(f"{THROWN}Caused by: org.example.Refused: no", "org.example.Refused") is None


def test_a_trace_that_was_cut_after_the_assignor_still_shows_that_it_threw() -> None:
    logged = f"2026-11-20 10:15:30,123 ERROR [main] com.acme.Loop - {THROWN}"
    match = exception_in(parse_line(logged), "consumer")
    assert match is not None
    assert match.fields["assigning"]


@pytest.mark.parametrize(
    ("thrown", "trace"),
    [
        (
            'cimpl.KafkaException: KafkaError{code=UNKNOWN_MEMBER_ID,val=25,str="Broker: Unknown member"}',
            f"{TRACE}{{}}",
        ),
        ("kafka.errors.RebalanceInProgressError: [Error 27] RebalanceInProgressError: payments", f"{TRACE}{{}}"),
        ("KafkaJSProtocolError: The coordinator is not aware of this member", "{}\n    at Broker.heartbeat (b.js:9:3)"),
        (
            "KafkaJSProtocolError: Specified group generation id is not valid",
            "KafkaJSNumberOfRetriesExceeded\n  Caused by: {}\n    at Connection.send (c.js:433:35)",
        ),
        (
            "Confluent.Kafka.KafkaException: Broker: Specified group generation id is not valid",
            "{}\n   at Confluent.Kafka.Consumer`2.Consume(Int32 millisecondsTimeout)",
        ),
        (
            "Broker: Specified group generation id is not valid",
            "Confluent.Kafka.KafkaException\n  Message={}\n  StackTrace:\n   at Confluent.Kafka.Consumer`2.Commit()",
        ),
        ("Kafka::HeartbeatError: Kafka::UnknownMemberId", "{}\nlib/kafka/consumer_group.rb:117:in `heartbeat'"),
        ("RdKafka\\Exception: Broker: Unknown member in /app/Commit.php:20", "{}\nStack trace:\n#0 /app/run.php(9)"),
        (
            "org.apache.kafka.common.errors.UnknownMemberIdException: The coordinator is not aware of this member.",
            "java.lang.IllegalStateException: no\n\tat com.acme.Loop.run(Loop.java:7)\nCaused by: {}",
        ),
        ("org.apache.kafka.common.errors.NotCoordinatorException: This is not the correct coordinator.", "{}"),
    ],
)
def test_what_a_client_threw_says_below_the_words_of_its_application_what_it_says_alone(
    thrown: str, trace: str
) -> None:
    alone = Catalog.load().match(thrown)
    below = Catalog.load().match("could not handle order 4711\n" + trace.format(thrown))
    assert alone is not None
    assert below is not None
    assert (below.event, below.fields, below.group) == (alone.event, alone.fields, alone.group)
    assert below.thrown == thrown
    assert alone.thrown is None


def test_words_of_an_exception_in_a_message_without_a_stack_are_talk_about_it() -> None:
    listed = "Known errors:\nkafka.errors.UnknownMemberIdError: [Error 25] UnknownMemberIdError"
    assert Catalog.load().match(listed) is None
