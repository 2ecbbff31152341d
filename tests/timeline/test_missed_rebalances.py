from __future__ import annotations

import pytest

from rebalance_forensics import events as ev
from tests.diagnosis.closings import closes, comes
from tests.diagnosis.expiries import evicted
from tests.kafka_words import Release
from tests.story import Side, Story, ms


def clients(story: Story) -> list[set[str | None]]:
    return [{m.client_id for m in g.members} for g in story.history().generations]


@pytest.mark.parametrize("release", [(1, 0), (1, 1), (2, 0), (2, 2)])
@pytest.mark.parametrize("seen", ["both", "clients"])
def test_a_member_that_does_not_rejoin_is_no_member_of_the_next_generation(release: Release, seen: Side) -> None:
    assert clients(evicted(release, seen)) == [{"c-1", "c-2", "c-3"}, {"c-1", "c-2"}]


@pytest.mark.parametrize("release", [(1, 0), (2, 0)])
def test_a_member_that_is_back_after_a_generation_has_left_and_arrived(release: Release) -> None:
    story = closes(
        Story(release=release, seen="clients").formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"]
    )
    timeline = comes(story, "c-3", "01:10:08.000", ["c-1", "c-2", "c-3"]).timeline()
    (departure,) = timeline.departures
    assert departure.participant.name == "c-3"
    assert departure.events, "an absence is proved by those who joined"
    assert departure.returned is timeline.arrivals[-1]


def test_a_coordinator_that_logs_no_expired_session_received_a_leave() -> None:
    story = closes(Story(release=(1, 0)).formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    assert [d.why for d in story.timeline().departures] == ["left"]


def test_a_member_that_rejoins_is_not_missed() -> None:
    story = Story(release=(1, 0), seen="clients").formed("c-1", "c-2")
    assert comes(story, "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"]).timeline().departures == []


def test_a_member_that_continues_with_its_member_id_was_in_the_generation_missing_from_its_log() -> None:
    story, everyone = Story(release=(3, 9), seen="clients").formed("c-1", "c-2", "c-3"), ["c-1", "c-2", "c-3"]
    for begin in ("01:10:00.000", "01:20:00.000"):
        story.rebalanced(begin, "Leader c-1 re-joining group during Stable", everyone)
    lost, until = ms("01:10:00.000"), ms("01:20:00.000")
    in_full = story.events
    story.events = [
        e
        for e in in_full
        if not (e.at is not None and lost <= e.at < until)
        or not (isinstance(e, ev.AssignmentComputed) or e.speaker.client_id == "c-3")
    ]
    assert len(story.events) < len(in_full)
    assert story.timeline().departures == []


def test_a_member_listed_again_returned_with_no_request_that_was_answered_before_it_was_lost() -> None:
    story = evicted((3, 9)).reborn("c-3")
    story.rebalanced("01:10:09.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    collected = ms("01:10:05.000")
    story.events = [e for e in story.events if (e.at or 0) < collected or e.speaker.client_id in ("c-1", "c-2")]
    (departure,) = story.timeline().departures
    assert departure.returned is not None
    assert departure.returned.at > departure.at
