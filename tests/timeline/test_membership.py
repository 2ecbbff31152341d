from __future__ import annotations

import pytest

from tests.diagnosis.closings import CLOSED, LEAVING, comes
from tests.diagnosis.expiries import evicted
from tests.diagnosis.statics import replaced, static_group
from tests.kafka_words import Release, member_id
from tests.story import Side, Story, ms


@pytest.mark.parametrize("seen", ["both", "brokers", "clients"])
@pytest.mark.parametrize("release", [(3, 9), (4, 1)])
def test_members_are_those_the_generation_was_stabilized_with(release: Release, seen: Side) -> None:
    members = [{m.client_id for m in g.members} for g in evicted(release, seen).history().generations]
    assert members == [{"c-1", "c-2", "c-3"}, {"c-1", "c-2"}]


@pytest.mark.parametrize("release", [(1, 1), (2, 4), (2, 8)])
def test_old_releases_need_the_clients_logs(release: Release) -> None:
    members = [{m.client_id for m in g.members} for g in evicted(release).history().generations]
    assert members == [{"c-1", "c-2", "c-3"}, {"c-1", "c-2"}]


def test_who_left_is_named() -> None:
    assert evicted().history().generations[1].left == (member_id("c-3"),)


def test_who_joined_is_named() -> None:
    story = comes(Story().formed("c-1", "c-2"), "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    assert story.history().generations[1].joined == (member_id("c-3"),)


def test_a_replaced_static_member_is_counted_once() -> None:
    (generation,) = replaced(static_group("pod-1", "pod-2"), "pod-2", "01:10:00.000").history().generations
    assert len(generation.members) == 2


def test_static_members_are_known_by_their_instance_id() -> None:
    (generation,) = static_group("pod-1", "pod-2").history().generations
    assert {m.instance_id for m in generation.members} == {"pod-1", "pod-2"}


def test_a_leave_after_a_pending_join_is_complete_when_the_coordinator_logs_it() -> None:
    """Requests of one connection are answered in their order, and a JoinGroup only when all others have joined."""
    story = comes(Story().formed("c-1", "c-2"), "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    gone = story.id_of("c-3")
    story.client("c-3", "01:20:05.000", LEAVING.format(gone, CLOSED))
    story.broker("01:20:35.000", story.words.left(gone, CLOSED))
    story.rebalanced("01:20:35.001", story.words.leaving(gone, CLOSED), ["c-1", "c-2"])
    (left,) = story.timeline().departures
    assert left.at == ms("01:20:35.000")
    assert "unexplained" not in story.causes()


def test_a_client_that_is_given_an_id_and_never_joins_was_no_member() -> None:
    story = Story().formed("c-1", "c-2")
    story.broker("01:10:00.000", story.words.introduced(story.id_of("c-3")))
    left = "has been removed after session timeout expiration."
    story.says("01:10:45.000", f"Pending member {story.id_of('c-3')} in group payments {left}")
    assert {arrival.participant.name for arrival in story.timeline().arrivals} == {"c-1", "c-2"}
    assert not story.timeline().departures
