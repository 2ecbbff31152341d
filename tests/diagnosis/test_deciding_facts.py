"""What the logs hold and decides what to do is in the report, and nothing that Kafka does not do."""

from __future__ import annotations

from pathlib import Path

import pytest

import rebalance_forensics as rf
from rebalance_forensics.diagnosis.reference.glossary import glossary
from tests.diagnosis.expiries import evicted
from tests.diagnosis.test_group_max_size import FULL
from tests.diagnosis.test_inconsistent_protocol import REFUSED
from tests.diagnosis.test_slow_processing import EXPIRED, SHORT, slow_member
from tests.diagnosis.test_static_member_fenced import fenced
from tests.diagnosis.test_subscription_change import subscribes_to_more
from tests.story import Story

ROUND_ROBIN = "[org.apache.kafka.clients.consumer.RoundRobinAssignor]"


def test_a_rejected_member_is_shown_with_its_assignor_and_that_of_the_group() -> None:
    story = Story().formed("c-1", "c-2")
    story.started("c-3", "01:10:00.000", partition_assignment_strategy=ROUND_ROBIN)
    story.client("c-3", "01:10:00.500", REFUSED, level="ERROR")
    assert story.the_incident().summary == "c-3 was rejected: it offers only roundrobin; the group uses range."


def test_the_size_of_a_full_group_is_shown_where_a_broker_printed_it() -> None:
    story = Story().formed("c-1", "c-2")
    story.broker("00:59:00.000", "KafkaConfig values: \n\tgroup.max.size = 2", logger="kafka.server.KafkaConfig")
    story.started("c-3", "01:10:00.000").client("c-3", "01:10:00.500", FULL, level="ERROR")
    assert story.the_incident().summary == "c-3 was rejected: the group is full (group.max.size is 2)."


def test_a_subscription_change_names_the_old_and_the_new_topics() -> None:
    assert subscribes_to_more().the_incident().summary == (
        "c-2 changed its subscription from orders to orders and refunds."
    )


def test_a_subscription_change_names_both_where_a_line_each_does() -> None:
    # Before 3.0 no line names the reason: the process subscribed, and later subscribed again.
    story = Story(release=(2, 8)).formed("c-1", "c-2")
    for at, topics in (("00:59:58.000", "orders"), ("01:09:59.999", "orders, refunds")):
        story.client(
            "c-2", at, f"Subscribed to topic(s): {topics}", logger="org.apache.kafka.clients.consumer.KafkaConsumer"
        )
    story.rebalanced("01:10:00.010", f"Updating metadata for member {story.id_of('c-2')} during Stable", ["c-1", "c-2"])
    assert story.the_incident().summary == "c-2 changed its subscription from orders to orders and refunds."


def test_a_fenced_consumer_is_reported_as_out_of_the_group_until_it_is_restarted() -> None:
    assert "does not rejoin by itself" in fenced().the_incident().summary


def first_action(story: Story) -> str:
    return story.the_incident().root_causes[0].advice[0].action


def test_a_java_consumer_is_advised_to_lower_max_poll_records() -> None:
    assert first_action(slow_member((3, 9))).startswith("Lower max.poll.records,")


def test_a_sink_task_sets_its_consumer_with_a_prefix() -> None:
    """KIP-458: a connector's configuration has the consumer's settings under consumer.override."""
    first, second, slow = clients = [f"connector-consumer-sink-{task}" for task in range(3)]
    story = Story(release=(3, 9), group="connect-sink").formed(*clients)
    old = story.id_of(slow)
    story.client(slow, "01:10:00.000", EXPIRED, level="WARN").broker("01:10:00.010", story.words.left(old, SHORT))
    story.rebalanced("01:10:00.011", story.words.leaving(old, SHORT), [first, second])
    advice = story.the_incident().root_causes[0].advice
    assert advice[0].action.startswith("Lower consumer.override.max.poll.records,")
    assert advice[1].action.startswith("Raise consumer.override.max.poll.interval.ms ")


@pytest.mark.parametrize(
    ("dumps", "known"), [({"c-1": 10_000, "c-3": 45_000}, True), ({"c-1": 10_000, "c-2": 45_000}, False)]
)
def test_a_session_timeout_is_not_taken_from_configurations_of_others_that_disagree(
    dumps: dict[str, int], *, known: bool
) -> None:
    story = evicted((3, 9)).goes_on("01:15:00.000")
    for client, value in dumps.items():
        story.started(client, "00:59:00.000", session_timeout_ms=value)
    assert ("after 45 s" in story.the_incident().summary) == known
    assert "after 10 s" not in story.the_incident().summary


MAXPOLL = (
    "%4|1610634034.520|MAXPOLL|rdkafka#consumer-1| [thrd:main]: Application maximum poll interval (6000ms) exceeded by "
    "55ms (adjust max.poll.interval.ms for long-running message processing): leaving group\n%7|1610634034.520|LEAVE|"
    'rdkafka#consumer-1| [thrd:main]: Group "payments": leave (in state up)\n'
)
STREAM_THREAD = (
    "[2026-11-21 01:10:00,000] WARN [Consumer clientId=app-7f2c9a31-StreamThread-1-consumer, "
    "groupId=app] consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer "
    "than the configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time "
    "processing messages. (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
)


@pytest.mark.parametrize(
    ("log", "advice"),
    [
        # CONFIGURATION.md of librdkafka lists no max.poll.records.
        (MAXPOLL, "handle fewer messages between two calls: librdkafka has no max.poll.records"),
        # StreamThread.runOnce polls again after half of max.poll.interval.ms, however many records are left.
        (STREAM_THREAD, "Find the one slow call: a record, a punctuator, a commit or a restore."),
    ],
)
def test_lowering_a_setting_that_does_not_help_is_not_advised(log: str, advice: str, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(log)
    (incident,) = rf.analyze(tmp_path, engine="local").report.incidents
    action = incident.root_causes[0].advice[0].action
    assert advice in action
    assert not action.startswith("Lower")


@pytest.mark.parametrize(
    ("setting", "fact"),
    [
        ("group.consumer.migration.policy", "bidirectional (disabled in 3.7 to 3.9)"),  # GroupCoordinatorConfig
        ("group.initial.rebalance.delay.ms", "up to 3.9, not in those for KRaft"),  # config/kraft/server.properties
    ],
)
def test_a_default_that_differs_by_release_is_reported_with_its_releases(setting: str, fact: str) -> None:
    assert fact in glossary().settings[setting]
