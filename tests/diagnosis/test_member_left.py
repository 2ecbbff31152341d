from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes
from tests.kafka_words import Release
from tests.story import Story

CRASHED = (
    "the polling thread ends\njava.lang.IllegalStateException: unknown currency\n"
    "\tat org.example.Payments.handle(Payments.java:41)\n\tat org.example.Main.run(Main.java:17)"
)


@pytest.mark.parametrize("release", [(2, 8), (3, 9), (4, 1)])
def test_an_exception_before_the_close_is_why_the_member_left(release: Release) -> None:
    story = Story(release=release).formed("c-1", "c-2", "c-3")
    story.line("c-3/app.log", "01:09:59.900", CRASHED, level="ERROR", logger="org.example.Main")
    closes(story, "c-3", "01:10:00.000", ["c-1", "c-2"])
    assert story.causes() == ["member-left"]
    assert story.blamed() == ["c-3"]
    assert story.the_incident().severity == "warning"
    assert "IllegalStateException" in story.the_incident().summary


def test_a_close_without_an_exception_is_no_fault() -> None:
    story = closes(Story().formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    assert "member-left" not in story.causes()


def test_an_exception_of_somebody_who_stays_explains_no_leave() -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    story.line("c-1/app.log", "01:09:59.900", CRASHED, level="ERROR", logger="org.example.Main")
    closes(story, "c-3", "01:10:00.000", ["c-1", "c-2"])
    assert "member-left" not in story.causes()


@pytest.mark.parametrize("release", [(1, 1), (2, 0)])
def test_a_client_of_1_x_that_ends_after_an_exception_has_left(release: Release) -> None:
    story = Story(release=release, seen="clients").formed("c-1", "c-2", "c-3")
    story.line("c-3/app.log", "01:09:59.900", CRASHED, level="ERROR", logger="org.example.Main")
    closes(story, "c-3", "01:10:00.000", ["c-1", "c-2"])
    assert story.causes() == ["member-left"]
    assert story.blamed() == ["c-3"]
