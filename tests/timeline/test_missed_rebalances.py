from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes, comes
from tests.diagnosis.expiries import evicted
from tests.kafka_words import Release
from tests.story import Side, Story


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


def test_a_coordinator_that_speaks_and_names_no_expiry_has_let_the_member_leave() -> None:
    story = closes(Story(release=(1, 0)).formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    assert [d.why for d in story.timeline().departures] == ["left"]


def test_a_member_that_rejoins_is_not_missed() -> None:
    story = Story(release=(1, 0), seen="clients").formed("c-1", "c-2")
    assert comes(story, "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"]).timeline().departures == []
