from __future__ import annotations

import pytest

from tests.diagnosis.closings import APP_INFO, closes
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


@pytest.mark.parametrize("release", [(2, 2), (2, 4), (3, 9)])
@pytest.mark.parametrize("seen", ["both", "clients"])
def test_its_own_log_says_so_after_the_leave(release: Release, seen: Side) -> None:
    story = closes(Story(release=release, seen=seen).formed("c-1", "c-2"), "c-2", "01:10:00.000", ["c-1"], UNSUBSCRIBED)
    story.client("c-2", "01:10:00.010", "Unsubscribed all topics or patterns and assigned partitions")
    assert story.causes() == ["unsubscribe"]
    assert "Unsubscribed all topics" in "".join(line.text for line in story.the_incident().root_causes[0].evidence)


def test_a_framework_that_unsubscribes_before_it_closes_is_closing() -> None:
    story = closes(Story().formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"], UNSUBSCRIBED)
    story.line("c-3/app.log", "01:10:00.200", "App info kafka.consumer for c-3 unregistered", logger=APP_INFO)
    assert story.causes() == ["scale-in"]


def test_everybody_who_unsubscribes_and_stays_away_shuts_the_group_down() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    closes(story, "c-2", "01:10:00.000", ["c-1"], UNSUBSCRIBED)
    closes(story, "c-1", "01:10:02.000", [], UNSUBSCRIBED)
    assert [i.root_causes[0].cause for i in story.case().incidents] == ["startup", "shutdown"]
