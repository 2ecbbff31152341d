"""What a client never logs proves nothing by its absence."""

from __future__ import annotations

import pytest

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.dialects import CLIENT_FOLDERS
from rebalance_forensics.events.membership import LeaveSent, PollTimeoutExpired
from rebalance_forensics.events.rebalances import JoinStarted, JoinSucceeded
from rebalance_forensics.timeline.clients import (
    CLIENTS,
    is_java_member,
    lacks_poll_timer,
    library_of,
    logs_leadership,
    probable_library,
    would_log,
)
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from tests.kafka_words import member_id
from tests.story import Story

FORGOTTEN = "kafka server: The provided member is not known in the current generation"
SARAMA = [f"consumergroup/payments: lost ownership of map[orders:[0 1]] due to {FORGOTTEN}"]
AIOKAFKA = ["(Re-)joining group payments", f"Joined group 'payments' (generation 7) with member_id {member_id('c-1')}"]
KGO = [
    "joining group; group: payments",
    f"joined; group: payments, member_id: {member_id('c-1')}, instance_id: <nil>, generation: 7, leader: false",
]
RDKAFKA = ['Group "payments": failed to run assignor "range" for 3 member(s): no topics']
RDKAFKA_AT_DEBUG = [*RDKAFKA, 'Group "payments" coordinator is b2.example.net:9092 id 2']
BROD = ["Group member (payments,coor=<0.4032.0>,cb=<0.4021.0>,generation=5): elected=true"]


def member(*messages: str, logger: str = "app.orders") -> tuple[Timeline, Participant]:
    story = Story(seen="clients")
    for second, message in enumerate(messages):
        story.line("c-1/app.log", f"01:00:{second:02}.000", message, logger=logger)
    timeline = story.timeline()
    (participant,) = {timeline.participants.of_speaker(event) for event in timeline.group_events.by_clients}
    assert participant is not None
    return timeline, participant


@pytest.mark.parametrize(
    ("messages", "event", "logger", "logs"),
    [
        (SARAMA, LeaveSent, "sarama", False),  # consumer_group.go, leave
        (SARAMA, JoinStarted, "sarama", False),
        (KGO, LeaveSent, "kgo", True),
        (AIOKAFKA, LeaveSent, "aiokafka.consumer.group_coordinator", True),
        (AIOKAFKA, PollTimeoutExpired, "aiokafka.consumer.group_coordinator", False),  # it leaves, and names no reason
        (RDKAFKA, LeaveSent, "app.orders", False),  # without debug=cgrp
        (RDKAFKA_AT_DEBUG, LeaveSent, "app.orders", True),
    ],
)
def test_a_log_shows_what_its_client_logs_at_that_level(
    messages: list[str], event: type[Event], logger: str, *, logs: bool
) -> None:
    assert would_log(*member(*messages, logger=logger), event) is logs


@pytest.mark.parametrize(("messages", "logger", "lacks"), [(KGO, "kgo", True), (RDKAFKA, "app.orders", False)])
def test_a_client_without_a_poll_timer_never_leaves_for_a_slow_record(
    messages: list[str], logger: str, *, lacks: bool
) -> None:
    assert lacks_poll_timer(*member(*messages, logger=logger)) is lacks


@pytest.mark.parametrize(("messages", "leads"), [(KGO, True), (BROD, False)])
def test_a_join_without_a_line_about_leading_shows_a_follower_where_leaders_log_it(
    messages: list[str], *, leads: bool
) -> None:
    timeline, _ = member(*messages)
    (joined,) = timeline.of(JoinSucceeded)
    assert logs_leadership(joined) is leads


@pytest.mark.parametrize(
    ("logger", "java"),
    [("org.apache.kafka.clients.consumer.internals.AbstractCoordinator", True), ("kafka.coordinator", False)],
)
def test_the_words_that_kafka_python_took_over_are_those_of_who_logs_them(logger: str, *, java: bool) -> None:
    assert is_java_member(*member("(Re-)joining group payments", logger=logger)) is java


@pytest.mark.parametrize(
    ("message", "library"),
    [
        ("Marking the coordinator dead (node 107)for group payments.", "aiokafka"),
        ("Marking the coordinator dead (node 107) for group payments: Heartbeat session expired.", "kafka-python"),
    ],
)
def test_a_line_without_its_module_is_of_the_library_that_words_it_so(message: str, library: str) -> None:
    client = library_of(*member(message))
    assert client is not None
    assert client.name == library


@pytest.mark.parametrize(
    ("client_id", "library"),
    [
        ("rdkafka", "librdkafka"),
        ("aiokafka-0.7.2", "aiokafka"),
        ("kafka-python-1.4.6", "kafka-python"),
        ("sarama", "Sarama"),
        ("sarama2java", "Java"),
        ("consumer-payments-1", "Java"),
    ],
)
def test_a_member_without_a_log_has_the_library_whose_default_client_id_it_has(client_id: str, library: str) -> None:
    story = Story(seen="brokers")
    failed = f"Member {member_id(client_id)} in group payments has failed, removing it from the group"
    story.line("broker-1/server.log", "01:00:00.000", f"[GroupCoordinator 1]: {failed}")
    timeline = story.timeline()
    (participant,) = timeline.participants.everybody
    assert probable_library(timeline, participant).name == library


def test_every_folder_with_the_words_of_a_client_library_has_a_client_that_writes_them() -> None:
    assert {client.wording for client in CLIENTS} == CLIENT_FOLDERS
