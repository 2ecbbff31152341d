from __future__ import annotations

from tests.kafka_words import Release, member_id
from tests.story import Side, Story


def enforced(reason: str, release: Release = (3, 9), seen: Side = "both") -> Story:
    story = Story(release=release, seen=seen).formed("c-1", "c-2")
    story.client("c-2", "01:10:00.000", f"Request joining group due to: {reason}")
    broker = f"Updating metadata for member {member_id('c-2')} during Stable; client reason: {reason}"
    return story.rebalanced("01:10:00.010", broker, ["c-1", "c-2"])


def test_the_application_asked_for_it() -> None:
    story = enforced("rebalance enforced by user")
    assert story.causes() == ["enforced-rebalance"]
    assert story.blamed() == ["c-2"]
    assert story.the_incident().severity == "info"


def test_a_reason_in_the_applications_own_words_is_shown() -> None:
    story = enforced("nightly cache refresh", (4, 1))
    assert story.causes() == ["enforced-rebalance"]
    assert "nightly cache refresh" in story.the_incident().summary


def test_the_broker_alone_passes_the_reason_on() -> None:
    assert enforced("rebalance enforced by user", seen="brokers").causes() == ["enforced-rebalance"]


def test_a_changed_subscription_was_not_enforced() -> None:
    story = enforced("subscription has changed from [a] at the beginning of the rebalance to [a, b]", seen="clients")
    assert "enforced-rebalance" not in story.causes()
