from __future__ import annotations

import pytest

from tests.epochs import three_members
from tests.story import Side

EVERY_SIDE = pytest.mark.parametrize("seen", ["both", "brokers", "clients"])


@EVERY_SIDE
def test_a_member_that_falls_silent_for_good_has_died(seen: Side) -> None:
    story = three_members(seen).expires("c-3", "01:10:00.000", "c-1", "c-2")
    assert story.causes() == ["process-crash"]
    assert story.the_incident().severity == "critical"


@EVERY_SIDE
def test_a_new_process_belongs_to_the_crash_it_follows(seen: Side) -> None:
    story = three_members(seen).expires("c-3", "01:10:00.000", "c-1", "c-2")
    story.restarts("c-3", "01:10:07.000", "c-1", "c-2")
    assert story.causes() == ["process-crash"]
    assert story.the_incident().severity == "warning"


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_whose_partitions_are_given_away_while_it_held_them_is_the_one_that_is_gone(seen: Side) -> None:
    assert three_members(seen).expires("c-3", "01:10:00.000", "c-1", "c-2").blamed() == ["c-3"]


@EVERY_SIDE
def test_closes_and_restarts_that_walk_over_the_members_are_a_deployment(seen: Side) -> None:
    story = three_members(seen)
    for minute, client in ((10, "c-1"), (11, "c-2"), (12, "c-3")):
        others = [c for c in ("c-1", "c-2", "c-3") if c != client]
        story.closes(client, f"01:{minute}:00.000", *others).restarts(client, f"01:{minute}:10.000", *others)
    assert story.causes() == ["rolling-restart"]


@EVERY_SIDE
def test_one_place_that_is_left_and_taken_again_and_again_flaps(seen: Side) -> None:
    story = three_members(seen)
    for minute in (10, 12, 14):
        story.closes("c-3", f"01:{minute}:00.000", "c-1", "c-2")
        story.restarts("c-3", f"01:{minute + 1}:02.000", "c-1", "c-2")
    assert story.causes() == ["scaling-flap"]


@EVERY_SIDE
def test_a_member_that_gives_its_partitions_up_before_others_take_them_is_not_gone(seen: Side) -> None:
    story = three_members(seen)
    story.client("c-3", "01:10:00.000", "Revoke previously assigned partitions [orders-3]")
    story.client("c-1", "01:10:00.500", "Adding newly assigned partitions: [orders-3]")
    assert story.timeline().departures == []
