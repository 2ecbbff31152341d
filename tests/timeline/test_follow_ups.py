from __future__ import annotations

import pytest

from tests.kafka_words import Release, member_id
from tests.story import Side, Story


def handed_over(release: Release = (3, 9), seen: Side = "both") -> Story:
    story = Story(release=release, seen=seen).formed("c-1", "c-2")
    story.started("c-3", "01:09:58.000")
    story.rebalanced("01:10:00.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    why = "need to revoke partitions [orders-1] as indicated by the current assignment and re-join"
    message = (
        f"Request joining group due to: {why}"
        if release >= (3, 0)
        else "Need to revoke partitions [orders-1] and re-join the group"
    )
    story.client("c-1", "01:10:00.520", message)
    reason = f"Leader {member_id('c-1')} re-joining group during Stable"
    return story.rebalanced(
        "01:10:00.530", reason + (f"; client reason: {why}" if release >= (3, 2) else ""), ["c-1", "c-2", "c-3"]
    )


@pytest.mark.parametrize(
    ("release", "seen"),
    [
        ((2, 8), "both"),
        ((2, 8), "brokers"),
        ((3, 0), "brokers"),
        ((3, 9), "both"),
        ((3, 9), "brokers"),
        ((3, 9), "clients"),
    ],
)
def test_the_second_rebalance_of_a_cooperative_hand_over_is_a_followup(release: Release, seen: Side) -> None:
    assert [g.followup for g in handed_over(release, seen).history().generations] == [None, None, "cooperative"]


def test_it_belongs_to_the_incident_that_made_it_necessary() -> None:
    story = handed_over()
    assert story.causes() == ["scale-out"]
    assert story.the_incident().generations == (2, 3)
    assert story.the_incident().followups == ("cooperative",)


def test_the_round_trip_for_a_member_id_is_benign() -> None:
    story = Story().formed("c-1", "c-2")
    assert [g.followup for g in story.history().generations] == [None]
    assert story.causes() == []


def test_what_a_member_asks_for_once_it_is_in_a_generation_makes_the_next_one_the_followup() -> None:
    story = Story(seen="clients").formed("c-1", "c-2")
    story.client("c-1", "01:10:00.000", "Request joining group due to: group is already rebalancing")
    story.rebalanced("01:10:00.001", "", ["c-1", "c-2"], takes_ms=120)
    why = "need to revoke partitions [orders-1] as indicated by the current assignment and re-join"
    story.client("c-1", "01:10:00.140", f"Request joining group due to: {why}")
    story.rebalanced("01:10:00.141", "", ["c-1", "c-2"])
    assert [g.followup for g in story.history().generations] == [None, None, "cooperative"]


def test_a_go_member_that_rejoins_after_a_revocation_hands_its_partitions_over() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    story.rebalanced("01:10:00.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    why = "client reason: after revoking what we lost from a rebalance"
    reason = f"Updating metadata for member {story.id_of('c-1')} during Stable; {why}"
    story.rebalanced("01:10:03.000", reason, ["c-1", "c-2", "c-3"])
    assert [g.followup for g in story.history().generations] == [None, None, "cooperative"]
