from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes
from tests.kafka_words import Release
from tests.story import Side, Story

UNSUBSCRIBED = "the consumer unsubscribed from all topics"


@pytest.mark.parametrize(
    ("release", "seen"), [((3, 9), "both"), ((3, 9), "brokers"), ((2, 8), "clients"), ((4, 1), "brokers")]
)
def test_the_leave_reason_says_so(release: Release, seen: Side) -> None:
    story = closes(Story(release=release, seen=seen).formed("c-1", "c-2"), "c-2", "01:10:00.000", ["c-1"], UNSUBSCRIBED)
    assert story.causes() == ["unsubscribe"]
    assert story.blamed() == ["c-2"]
    assert story.the_incident().severity == "info"


def test_subscribing_again_belongs_to_it() -> None:
    story = closes(Story().formed("c-1", "c-2"), "c-2", "01:10:00.000", ["c-1"], UNSUBSCRIBED)
    story.rebalanced("01:10:02.000", story.words.adding(story.id_of("c-2")), ["c-1", "c-2"])
    assert story.causes() == ["unsubscribe"]
    assert story.the_incident().generations == (2, 3)


def test_a_close_is_no_unsubscribe() -> None:
    story = closes(Story().formed("c-1", "c-2"), "c-2", "01:10:00.000", ["c-1"])
    assert "unsubscribe" not in story.causes()
