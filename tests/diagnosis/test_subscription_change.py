from __future__ import annotations

import pytest

from tests.kafka_words import Release, member_id
from tests.story import Side, Story


def subscribes_to_more(release: Release = (3, 9), seen: Side = "both") -> Story:
    story = Story(release=release, seen=seen).formed("c-1", "c-2")
    story.client(
        "c-2",
        "01:09:59.999",
        "Subscribed to topic(s): orders, refunds",
        logger="org.apache.kafka.clients.consumer.internals.ClassicKafkaConsumer",
    )
    if release >= (3, 0):
        story.client(
            "c-2",
            "01:10:00.000",
            "Request joining group due to: subscription has changed from [orders] at the "
            "beginning of the rebalance to [orders, refunds]",
        )
    message = "; client reason: subscription has changed" if release >= (3, 2) else ""
    return story.rebalanced(
        "01:10:00.010", f"Updating metadata for member {member_id('c-2')} during Stable{message}", ["c-1", "c-2"]
    )


@pytest.mark.parametrize(
    ("release", "seen"), [((3, 9), "both"), ((3, 9), "clients"), ((3, 9), "brokers"), ((4, 1), "both")]
)
def test_a_member_that_subscribes_to_more_rebalances_the_group(release: Release, seen: Side) -> None:
    story = subscribes_to_more(release, seen)
    assert story.causes() == ["subscription-change"]
    assert story.blamed() == ["c-2"]
    assert story.the_incident().severity == "info"


def test_the_first_subscription_is_no_change() -> None:
    story = Story()
    story.client(
        "c-1",
        "00:59:59.000",
        "Subscribed to topic(s): orders",
        logger="org.apache.kafka.clients.consumer.internals.ClassicKafkaConsumer",
    )
    assert story.formed("c-1", "c-2").causes() == []


def test_a_leader_that_rejoins_without_a_reason_and_without_a_changed_topic_may_have_resubscribed() -> None:
    story = Story(release=(2, 8), seen="brokers").formed("c-1", "c-2")
    story.rebalanced("01:10:00.010", f"leader {story.id_of('c-1')} re-joining group during Stable", ["c-1", "c-2"])
    incident = story.the_incident()
    cause, *rivals = incident.root_causes
    assert cause.cause == "subscription-change"
    assert cause.confidence < 0.6
    assert {rival.cause for rival in rivals} == {"topic-metadata-change", "enforced-rebalance"}
    asked = {need.needs for need in incident.would_decide}
    assert "the log of client c-1" in asked
    assert any("controller" in need for need in asked)


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_the_only_member_of_1_x_assigned_a_previously_unassigned_topic_has_subscribed_to_it(seen: Side) -> None:
    story = Story(release=(1, 1), seen=seen).formed("c-1", "c-2")
    story.reads["c-2"] = "refunds"
    story.rebalanced("01:10:00.010", "", ["c-1", "c-2"])
    assert story.causes() == ["subscription-change"]
    assert story.blamed() == ["c-2"]


@pytest.mark.parametrize("seen", ["both", "clients", "brokers"])
def test_a_member_that_is_assigned_what_it_no_longer_wants_has_changed_its_subscription(seen: Side) -> None:
    story = Story(release=(3, 9), seen=seen).formed("c-1", "c-2")
    story.client(
        "c-2",
        "01:10:00.000",
        "Request joining group due to: received assignment [orders-1] does not match the current subscription "
        "Subscribe(refunds); it is likely that the subscription has changed since we joined the group, will re-join "
        "with current subscription",
    )
    reason = "client reason: received assignment does not match the current subscription"
    story.rebalanced(
        "01:10:00.010", f"Updating metadata for member {member_id('c-2')} during Stable; {reason}", ["c-1", "c-2"]
    )
    assert story.causes() == ["subscription-change"]
    assert story.blamed() == ["c-2"]


def test_a_changed_subscription_in_the_log_of_a_single_broker_may_be_a_pattern_that_matches_a_new_topic() -> None:
    # With a pattern the client gives the same reason (ConsumerCoordinator.rejoinNeededOrPending), and a broker logs
    # only the topics whose partitions it hosts.
    found = subscribes_to_more((4, 1), "brokers").the_incident().root_causes[0]
    assert found.cause == "subscription-change"
    assert found.confidence < 0.75
