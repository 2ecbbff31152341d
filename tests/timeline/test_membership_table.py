"""The membership table: who is in a group at a time, by the lines of its coordinator and of its clients."""

from __future__ import annotations

from rebalance_forensics.timeline.facts import Sighting
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from tests.kafka_words import member_id
from tests.story import Story, ms


def of(timeline: Timeline, name: str) -> Participant:
    return next(member for member in timeline.membership.members if member.name == name)


def test_a_member_is_in_from_its_join_until_it_leaves() -> None:
    story = Story(release=(3, 0), seen="brokers").formed("c-1", "c-2")
    leaving = story.words.leaving(member_id("c-2"))
    timeline = story.broker("01:10:00.000", story.words.preparing(1, leaving)).timeline()
    table, second = timeline.membership, of(timeline, "c-2")
    assert not table.is_in(second, ms("00:59:00.000"))
    assert table.is_in(second, ms("01:09:59.000"))
    assert not table.is_in(second, ms("01:10:01.000"))
    assert [member.name for member in table.members_at(ms("01:10:01.000"))] == ["c-1"]
    assert table.final_departure(second) is timeline.departures[0]
    assert table.all_left_at is None


def test_a_member_whose_rejoin_is_its_first_line_had_joined_before_the_logs_begin() -> None:
    story = Story(release=(2, 8), seen="brokers")
    updated = f"Updating metadata for member {member_id('c-1')} during Stable"
    story.broker("01:10:00.000", story.words.preparing(4, updated))
    timeline = story.broker("01:10:03.000", story.words.stabilized(5, 1)).timeline()
    (sighting,) = timeline.membership.transitions
    assert isinstance(sighting, Sighting)
    assert (sighting.before, sighting.silent) == ("unknown", "shown-in-group")
    assert timeline.membership.is_in(of(timeline, "c-1"), ms("01:00:00.000"))
    assert list(timeline.arrivals) == []


def test_a_departure_that_only_the_next_assignment_shows_is_silent() -> None:
    story = Story(release=(2, 8), seen="clients").formed("c-1", "c-2")
    timeline = story.rebalanced("01:10:00.000", "", ["c-1"]).timeline()
    assert [(departure.why, departure.silent) for departure in timeline.departures] == [("vanished", "not-assigned")]


def test_a_group_of_which_no_member_is_known_may_have_some() -> None:
    story = Story(release=(2, 8), seen="brokers").formed("c-1")
    table = story.timeline().membership
    assert not table.is_unknown_at(ms("01:00:10.000"))
    assert table.is_unknown_at(ms("00:50:00.000"))
