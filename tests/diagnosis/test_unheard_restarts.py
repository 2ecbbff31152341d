"""Streams instances that close: they send no LeaveGroup, and the coordinator sees their sessions expire."""

from __future__ import annotations

from tests.diagnosis.threads import Application
from tests.kafka_words import member_id


def three_processes() -> Application:
    story = Application(group="shop", seen="brokers")
    for node in (1, 2, 3):
        for number in (1, 2):
            story.broker("00:59:59.980", story.words.introduced(member_id(story.consumer(node, number))))
    return story.round("01:00:00.000", story.words.adding(member_id(story.consumer(1, 1))))


def expires_and_is_back(story: Application, node: int, minute: int, life: int = 1) -> None:
    for number in (1, 2):
        failed = story.words.failed(member_id(story.consumer(node, number), life))
        story.broker(f"01:{minute}:00.{number}00", failed)
    for number in (1, 2):
        back = member_id(story.consumer(node, number), life + 1)
        story.broker(f"01:{minute}:02.{number}00", story.words.introduced(back))
        story.round(f"01:{minute}:02.{number}50", story.words.adding(back))


def test_instances_that_expire_by_turns_and_are_back_before_the_next_were_restarted_one_after_another() -> None:
    story = three_processes()
    for node in (1, 2, 3):
        expires_and_is_back(story, node, 10 + node)
    assert story.causes() == ["rolling-restart"]


def test_two_of_three_that_expire_are_no_deployment() -> None:
    story = three_processes()
    for node in (1, 2):
        expires_and_is_back(story, node, 10 + node)
    assert "rolling-restart" not in story.causes()


def test_an_instance_that_expires_again_after_it_was_back_was_away_twice() -> None:
    story = three_processes()
    expires_and_is_back(story, 2, 11)
    for number in (1, 2):
        failed = story.words.failed(member_id(story.consumer(2, number), 2))
        story.broker(f"01:11:40.{number}00", failed)
    (again,) = [i for i in story.incidents() if i.root_causes[0].cause in ("process-pause", "process-crash")]
    assert again.occurrences == 2


def test_a_process_that_rejoins_shortly_before_its_old_session_expires_was_restarted() -> None:
    """A process that only stood still uses its member id again; only a new process asks for another meanwhile."""
    story = three_processes()
    for number in (1, 2):
        story.broker(f"01:11:00.{number}00", story.words.introduced(member_id(story.consumer(2, number), 2)))
    for number in (1, 2):
        story.broker(f"01:11:01.{number}00", story.words.failed(member_id(story.consumer(2, number))))
    story.round("01:11:01.250", story.words.adding(member_id(story.consumer(2, 1), 2)))
    assert story.goes_on("01:20:00.000").causes() == ["process-crash"]
