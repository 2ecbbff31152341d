from __future__ import annotations

import pytest

from tests.epochs import HEARTBEAT, EpochStory, three_members
from tests.story import Side, Story

REFUSED = (
    "JoinGroup failed due to fatal error: The group member's supported protocols are incompatible with those of "
    "existing "
    "members or first group member tried to join with empty protocol type or empty protocol list."
)


def test_a_newcomer_without_a_common_assignor_is_turned_away() -> None:
    story = Story().formed("c-1", "c-2").started("c-3", "01:10:00.000")
    story.client("c-3", "01:10:00.500", REFUSED, level="ERROR")
    assert story.causes() == ["inconsistent-protocol"]
    assert story.blamed() == ["c-3"]
    assert story.the_incident().severity == "warning"


def test_it_needed_no_rebalance() -> None:
    story = Story().formed("c-1", "c-2").client("c-3", "01:10:00.500", REFUSED, level="ERROR")
    assert story.the_incident().generations == ()


def test_members_that_agree_are_not_suspected() -> None:
    assert Story().formed("c-1", "c-2").causes() == []


NOT_ALLOWED = "Cannot upgrade classic group payments to consumer group because online upgrade is disabled."
NO_CONSUMER_GROUP = (
    "ConsumerGroupHeartbeatRequest failed due to unexpected error GROUP_ID_NOT_FOUND: Group payments is not a consumer "
    "group."
)


def migration_refused(seen: Side) -> EpochStory:
    """The first member of the consumer protocol comes to a classic group, and the policy of the brokers forbids it."""
    story = EpochStory(release=(4, 1), seen=seen)
    for second, client in enumerate(("c-1", "c-2")):
        story.started(client, f"00:59:5{second}.000")
    Story.rebalanced(story, "01:00:00.000", story.words.adding(story.id_of("c-1")), ["c-1", "c-2"], takes_ms=3_000)
    story.started("c-3", "01:09:58.000", group_protocol="consumer")
    story.moves("c-3", "01:10:00.000", "UNSUBSCRIBED", "JOINING", 0)
    story.broker("01:10:00.010", f"[GroupCoordinator id=2 topic=__consumer_offsets partition=13] {NOT_ALLOWED}")
    story.client("c-3", "01:10:00.030", NO_CONSUMER_GROUP, level="ERROR", logger=HEARTBEAT)
    return story


@pytest.mark.parametrize(("seen", "blamed"), [("both", "c-3"), ("brokers", "payments"), ("clients", "c-3")])
def test_a_consumer_protocol_member_that_the_migration_policy_keeps_out_is_no_scaling(seen: Side, blamed: str) -> None:
    story = migration_refused(seen)
    assert story.causes() == ["inconsistent-protocol"]
    assert story.blamed() == [blamed]
    assert "group.consumer.migration.policy" in story.the_incident().root_causes[0].advice[0].action


def test_a_classic_group_that_takes_in_its_first_consumer_protocol_member_says_who_came() -> None:
    story = EpochStory(release=(4, 1), seen="brokers")
    Story.rebalanced(story, "01:00:00.000", story.words.adding(story.id_of("c-1")), ["c-1", "c-2"], takes_ms=3_000)
    story.group_says("01:10:00.010", "Converted the classic group to a consumer group.")
    story.joins("c-3", "01:10:00.012")
    assert story.causes() == ["scale-out"]


def test_a_classic_member_that_the_migration_policy_keeps_out_of_a_consumer_group_was_rejected() -> None:
    story = EpochStory(release=(4, 3)).formed("c-1", "c-2")
    kept_out = (
        "Cannot join the consumer group payments with the classic protocol because the group migration is disabled."
    )
    story.broker("01:10:00.010", f"[GroupCoordinator id=2 topic=__consumer_offsets partition=13] {kept_out}")
    assert (story.causes(), story.blamed()) == (["inconsistent-protocol"], ["payments"])
    assert "joins with the classic protocol, the group uses the consumer one" in story.the_incident().summary


def test_a_group_that_stays_on_the_consumer_protocol_rejects_no_member() -> None:
    story = Story(release=(4, 1)).formed("c-1", "c-2")
    kept = "Cannot downgrade consumer group payments to classic group because its online downgrade is disabled."
    story.broker("01:10:00.010", f"[GroupCoordinator id=2 topic=__consumer_offsets partition=13] {kept}")
    assert story.causes() == []


REMOTE_ASSIGNOR = (
    "ConsumerGroupHeartbeatRequest failed due to UNSUPPORTED_ASSIGNOR: ServerAssignor sticky is not supported. "
    "Supported assignors: uniform, range."
)


def test_a_member_that_joins_a_classic_group_learns_from_its_own_answer_that_the_group_is_not_converted() -> None:
    story = EpochStory(release=(4, 1), seen="clients")
    Story.rebalanced(story, "01:00:00.000", story.words.adding(story.id_of("c-1")), ["c-1", "c-2"], takes_ms=3_000)
    story.started("c-3", "01:09:58.000", group_protocol="consumer")
    refused = (
        "ConsumerGroupHeartbeatRequest failed due to unexpected error GROUP_ID_NOT_FOUND: Cannot upgrade classic group "
        "payments to consumer group because online upgrade is disabled."
    )
    story.client("c-3", "01:10:00.030", refused, level="ERROR", logger=HEARTBEAT)
    assert (story.causes(), story.blamed()) == (["inconsistent-protocol"], ["c-3"])


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_a_member_that_asks_for_an_assignor_that_the_brokers_do_not_have_was_rejected(seen: Side) -> None:
    story = three_members(seen)
    story.client("c-9", "01:10:00.000", REMOTE_ASSIGNOR, level="ERROR", logger=HEARTBEAT)
    assert (story.causes(), story.blamed()) == (["inconsistent-protocol"], ["c-9"])
    assert "assignor sticky; the coordinator has uniform, range" in story.the_incident().summary
