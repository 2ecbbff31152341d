"""Processes with one client id, of which only one has a log."""

from __future__ import annotations

import pytest

from rebalance_forensics.timeline.windows import NEXT_HEARTBEAT_MS
from tests.kafka_words import Release
from tests.story import Story, clock, ms

OTHER = "c-1-00000009-0000-4000-8000-00000000beef"
EVICTED = "01:10:00.000"


def evicted_namesake(release: Release) -> Story:
    """The coordinator gives up on one of two members called c-1."""
    story = Story(release=release).formed("c-1")
    story.rebalanced("01:05:00.000", story.words.adding(OTHER), ["c-1"])
    return story.broker(EVICTED, story.words.failed(OTHER))


def owner(story: Story) -> str | None:
    """Whose log the evicted member has."""
    participant = story.timeline().participants.of_member(OTHER)
    return next(iter(participant.files), None) if participant is not None else None


@pytest.mark.parametrize("release", [(2, 0), (2, 3), (2, 5)])
def test_a_member_that_learns_of_the_rebalance_was_not_removed_by_it(release: Release) -> None:
    story = evicted_namesake(release)
    story.rebalanced("01:10:00.001", f"removing member {OTHER} on heartbeat expiration", ["c-1"])
    assert owner(story) is None
    crash = next(i.root_causes[0] for i in story.incidents() if i.root_causes[0].cause == "process-crash")
    assert "c-1/app.log" not in crash.culprits[0].names


def test_the_member_that_joins_first_may_have_been_removed() -> None:
    story = evicted_namesake((2, 3))
    story.client("c-1", "01:10:01.000", "(Re-)joining group")
    story.client("c-1", "01:10:02.000", "Attempt to heartbeat failed since group is rebalancing")
    assert owner(story) == "c-1/app.log"


def test_a_member_that_joins_in_the_millisecond_of_the_notice_had_the_notice_first() -> None:
    story = evicted_namesake((2, 3))
    story.client("c-1", "01:10:01.000", "Attempt to heartbeat failed since group is rebalancing")
    story.client("c-1", "01:10:01.000", "(Re-)joining group")
    assert owner(story) is None


def test_what_is_heard_long_after_tells_nothing() -> None:
    story = evicted_namesake((2, 3))
    late = clock(ms(EVICTED) + NEXT_HEARTBEAT_MS + 1)
    story.client("c-1", late, "Attempt to heartbeat failed since group is rebalancing")
    assert owner(story) == "c-1/app.log"


def test_a_member_that_rejoins_does_not_take_the_seat_of_one_that_left_while_it_was_in() -> None:
    story = Story(release=(2, 8)).formed("c-1")
    story.line("c-1/app.log", "01:01:00.000", story.of("c-1").joined(1, story.id_of("c-1")))
    story.rebalanced("01:02:00.000", f"Updating metadata for member {OTHER} during Stable", ["c-1"])
    story.broker(EVICTED, story.words.failed(OTHER))
    story.rebalanced("01:10:00.001", f"removing member {OTHER} on heartbeat expiration", ["c-1"])
    assert owner(story) is None
