from __future__ import annotations

import pytest

from tests.kafka_words import Release, generation_of, member_id
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


def test_the_members_log_alone_shows_that_no_client_words_its_reason_so() -> None:
    story = enforced("nightly cache refresh", (4, 1), seen="clients")
    assert (story.causes(), story.blamed()) == (["enforced-rebalance"], ["c-2"])


def test_the_broker_alone_passes_the_reason_on() -> None:
    assert enforced("rebalance enforced by user", seen="brokers").causes() == ["enforced-rebalance"]


def test_a_changed_subscription_was_not_enforced() -> None:
    story = enforced("subscription has changed from [a] at the beginning of the rebalance to [a, b]", seen="clients")
    assert "enforced-rebalance" not in story.causes()


@pytest.mark.parametrize("reason", ["group is already rebalancing", "consumer pro-actively leaving the group"])
@pytest.mark.parametrize("column", [",host-1", '","host-1"', "\thost-1", " | host-1 |", "; svc: orders"])
def test_text_that_another_logger_adds_after_a_reason_does_not_make_it_the_applications(
    column: str, reason: str
) -> None:
    story = Story(release=(3, 9), seen="clients").formed("c-1", "c-2")
    story.client("c-2", "01:10:00.000", f"Request joining group due to: {reason}{column}")
    assert "enforced-rebalance" not in story.causes()


def joined_again(generation: int, *between: str) -> Story:
    """A follower of 2.8 joins anew without a word of why."""
    story = Story(release=(2, 8)).formed("c-1", "c-2")
    for told in between:
        story.client("c-2", "01:09:59.000", told)
    story.client("c-2", "01:10:00.000", "Revoke previously assigned partitions orders-2, orders-3")
    story.client("c-2", "01:10:00.010", "(Re-)joining group")
    reached = generation_of(generation, member_id("c-2"))
    story.client("c-2", "01:10:00.020", f"Successfully joined group with generation {reached}")
    return story


def test_a_member_that_joins_again_unasked_and_is_given_the_generation_it_had_enforced_a_rebalance_in_vain() -> None:
    assert joined_again(1).causes() == ["enforced-rebalance"]
    assert joined_again(1).blamed() == ["c-2"]
    assert joined_again(1).the_incident().generations == ()


def test_a_member_that_was_asked_to_rejoin_enforced_nothing() -> None:
    assert joined_again(1, "Attempt to heartbeat failed since group is rebalancing").causes() == []


def joined_first(release: Release) -> Story:
    """The leader joins anew without a word of why, the others because of it."""
    story = Story(release=release).formed("c-1", "c-2")
    story.line("c-1/app.log", "01:10:00.000", story.of("c-1").joining())
    reason = f"leader {member_id('c-1')} re-joining group during Stable"
    return story.rebalanced("01:10:00.010", reason, ["c-2", "c-1"], asked_by="c-1")


def test_a_client_that_tells_every_other_reason_and_joins_first_without_one_enforced_the_rebalance() -> None:
    assert joined_first((2, 8)).causes() == ["enforced-rebalance"]
    assert joined_first((2, 8)).blamed() == ["c-1"]
    assert "enforced-rebalance" not in joined_first((2, 5)).causes()
