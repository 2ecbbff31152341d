from __future__ import annotations

from tests.diagnosis.threads import Application
from tests.kafka_words import member_id

POLL_TIMEOUT = (
    "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the "
    "configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time processing "
    "messages. You can address this either by increasing max.poll.interval.ms or by reducing the maximum size of "
    "batches returned in poll() with max.poll.records."
)


def two_threads_each() -> Application:
    """Two instances with two threads each, as brokers alone tell."""
    story = Application(group="shop", seen="brokers")
    for node in (1, 2):
        for number in (1, 2):
            story.broker("00:59:59.980", story.words.introduced(member_id(story.consumer(node, number))))
    return story.round("01:00:00.000", story.words.adding(member_id(story.consumer(1, 1))))


def silent(story: Application, *threads: int) -> Application:
    """These threads of node 2 miss their sessions and are back ten seconds later."""
    for number in threads:
        story.broker(f"01:10:0{number}.000", story.words.failed(member_id(story.consumer(2, number))))
    for number in threads:
        back = member_id(story.consumer(2, number), 2)
        story.broker(f"01:10:1{number}.000", story.words.introduced(back))
        story.round(f"01:10:1{number}.100", story.words.adding(back))
    return story


def test_a_thread_that_misses_its_session_while_the_other_stays_was_slow() -> None:
    story = silent(two_threads_each(), 1)
    assert "slow-processing" in story.causes()
    assert "process-pause" not in story.causes()


def test_threads_whose_sessions_expire_together_were_paused_with_their_process() -> None:
    story = silent(two_threads_each(), 1, 2)
    assert "process-pause" in story.causes()
    assert "slow-processing" not in story.causes()


def test_a_thread_that_is_not_polled_stays_until_its_session_ends_and_is_lost_once() -> None:
    """Streams consumers send no LeaveGroup on a poll timeout; these logs begin after the thread joined."""
    story = Application(group="shop")
    story.by_consumer(1, 1, "01:10:00.000", POLL_TIMEOUT)
    old = member_id(story.consumer(1, 1))
    story.broker("01:10:09.000", story.words.failed(old))
    story.round("01:10:09.001", f"removing member {old} on heartbeat expiration")
    new = member_id(story.consumer(1, 1), 2)
    story.broker("01:10:15.000", story.words.introduced(new))
    story.by_consumer(1, 1, "01:10:15.001", "(Re-)joining group")
    story.round("01:10:15.002", story.words.adding(new))
    assert story.causes() == ["slow-processing"]


def one_thread_replaced() -> Application:
    """REPLACE_THREAD as brokers alone tell it: the new thread joins, and a session later the one that died expires."""
    story = two_threads_each()
    heir = member_id(story.consumer(2, 3))
    story.broker("01:10:00.000", story.words.introduced(heir))
    story.broker("01:10:10.000", story.words.failed(member_id(story.consumer(2, 2))))
    return story.round("01:10:10.100", story.words.adding(heir))


def test_a_thread_that_expires_for_good_while_the_other_stays_is_no_process_that_crashed() -> None:
    story = one_thread_replaced().goes_on("01:20:00.000")
    assert story.causes() == ["thread-replacement"]


def test_an_instance_that_comes_after_one_of_two_threads_was_replaced_is_new_and_takes_nobodys_place() -> None:
    story = one_thread_replaced()
    for number in (1, 2):
        story.broker("01:11:25.000", story.words.introduced(member_id(story.consumer(3, number))))
    story.round("01:11:25.001", story.words.adding(member_id(story.consumer(3, 1))))
    assert story.goes_on("01:20:00.000").causes() == ["thread-replacement", "scale-out"]


def test_an_instance_that_came_more_than_a_session_before_another_died_did_not_take_its_place() -> None:
    story = two_threads_each()
    for number in (1, 2):
        story.broker("01:09:00.000", story.words.introduced(member_id(story.consumer(3, number))))
    story.round("01:09:00.001", story.words.adding(member_id(story.consumer(3, 1))))
    for number in (1, 2):
        story.broker("01:10:00.000", story.words.failed(member_id(story.consumer(2, number))))
    story.round("01:10:00.001", f"removing member {member_id(story.consumer(2, 1))} on heartbeat expiration")
    assert story.goes_on("01:20:00.000").causes() == ["scale-out", "process-crash"]
