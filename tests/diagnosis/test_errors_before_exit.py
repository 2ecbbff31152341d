from __future__ import annotations

from msgspec.structs import replace

from tests.diagnosis.closings import closes
from tests.story import Story

THROWN = "Record failed\njava.lang.IllegalStateException: no such customer\n\tat com.example.Shop.run(Shop.java:12)"


def two_consumers_in_one_file(thrower: str) -> Story:
    """Each consumer is polled on a thread of its own, and both write to one log."""
    story = closes(Story().formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    story.line("c-3/app.log", "01:09:59.500", THROWN, level="ERROR", logger="com.example.Shop")
    lines = []
    for event in story.events:
        speaker = event.speaker
        if speaker.client_id in ("c-2", "c-3"):
            speaker = replace(speaker, file="shop/app.log", host="shop", thread=f"poll-{speaker.client_id}")
        elif type(event).__name__ == "ExceptionLogged":
            speaker = replace(speaker, file="shop/app.log", host="shop", thread=f"poll-{thrower}")
        lines.append(replace(event, speaker=speaker))
    story.events = lines
    return story


def test_an_exception_of_the_members_own_thread_ended_it() -> None:
    assert "member-left" in two_consumers_in_one_file("c-3").causes()


def test_an_exception_of_another_consumer_in_the_same_file_is_not_put_down_to_the_one_that_closed() -> None:
    assert "member-left" not in two_consumers_in_one_file("c-2").causes()
