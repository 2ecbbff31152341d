from __future__ import annotations

from pathlib import Path

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from tests.diagnosis.threads import Application, shop
from tests.kafka_words import member_id

ADDED = "Adding StreamThread-3, there will now be 2 live threads and the new cache size per thread is 5242880"


def a_thread_makes_room(*, removed: bool = False) -> Application:
    story = shop()
    if removed:
        story.by_instance(2, "01:10:59.900", f"Removing StreamThread {story.thread(2, 1)}")
    story.by_thread(2, 1, "01:11:00.000", "Informed to shut down")
    story.by_instance(2, "01:11:00.000", ADDED)
    return story.round("01:11:00.100", story.words.adding(member_id(story.consumer(2, 3))))


def test_a_thread_that_ends_and_adds_another_is_replaced_where_2_8_says_no_more() -> None:
    story = a_thread_makes_room()
    story.broker("01:11:45.000", story.words.failed(member_id(story.consumer(2, 1))))
    assert story.causes() == ["thread-replacement"]


def test_a_thread_that_the_application_removed_before_it_added_one_is_not_replaced() -> None:
    assert "thread-replacement" not in a_thread_makes_room(removed=True).causes()


def seen_by_brokers() -> Application:
    story = Application(group="shop", seen="brokers")
    for node in (1, 2):
        story.broker("00:59:59.980", story.words.introduced(member_id(story.consumer(node, 1))))
    return story.round("01:00:00.000", story.words.adding(member_id(story.consumer(1, 1))))


def test_a_thread_that_joins_while_another_of_its_process_falls_silent_takes_its_place() -> None:
    story = seen_by_brokers()
    for minute, came, gone in ((11, 2, 1), (13, 1, 2)):
        member = member_id(story.consumer(2, came), minute)
        story.broker(f"01:{minute}:00.000", story.words.introduced(member))
        story.round(f"01:{minute}:00.100", story.words.adding(member))
        life = 1 if minute == 11 else 11
        story.broker(f"01:{minute}:40.000", story.words.failed(member_id(story.consumer(2, gone), life)))
    assert "thread-replacement" in story.causes()


def test_threads_of_a_paused_process_return_and_replace_no_threads() -> None:
    story = seen_by_brokers()
    for minute in (11, 15):
        story.broker(f"01:{minute}:40.000", story.words.failed(member_id(story.consumer(2, 1), minute - 10)))
        back = member_id(story.consumer(2, 1), minute + 1)
        story.broker(f"01:{minute}:50.000", story.words.introduced(back))
        story.round(f"01:{minute}:50.100", story.words.adding(back))
    assert "thread-replacement" not in story.causes()


def test_threads_of_a_restarted_process_replace_no_threads() -> None:
    story = seen_by_brokers()
    for minute, life in ((11, 1), (15, 2)):
        for number in (2, 1):
            back = member_id(story.consumer(2, number), life + 1)
            story.broker(f"01:{minute}:0{number}.000", story.words.introduced(back))
            story.round(f"01:{minute}:0{number}.100", story.words.adding(back))
        story.broker(f"01:{minute}:40.000", story.words.failed(member_id(story.consumer(2, 1), life)))
    assert "thread-replacement" not in story.causes()


def test_slow_threads_that_alternately_leave_and_join_replace_no_threads() -> None:
    story = seen_by_brokers()
    for minute, number, other in ((11, 1, 2), (12, 2, 1), (13, 1, 2), (14, 2, 1)):
        gone = member_id(story.consumer(2, number), minute)
        story.broker(f"01:{minute}:00.000", story.words.left(gone))
        story.round(f"01:{minute}:00.100", story.words.leaving(gone))
        if minute > 11:
            back = member_id(story.consumer(2, other), minute + 1)
            story.broker(f"01:{minute}:03.000", story.words.introduced(back))
            story.round(f"01:{minute}:03.100", story.words.adding(back))
    assert "thread-replacement" not in story.causes()


KSQL = "[2026-03-01 01:{},112] {} (io.confluent.ksql.util.QueryMetadataImpl)"
THREAD = "orders-11111111-1111-4111-8111-111111111111-StreamThread-{}"
OF_THREAD = (
    "[2026-03-01 01:{},112] INFO stream-thread [{}] {} (org.apache.kafka.streams.processor.internals.StreamThread)"
)
OF_CONSUMER = (
    "[2026-03-01 01:{},112] INFO [Consumer clientId={}-consumer, groupId=orders] {} "
    "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
)


def test_a_rebalance_that_waits_for_the_session_of_a_thread_that_ksqldb_replaced_is_no_stragglers(
    tmp_path: Path,
) -> None:
    dead, alive = THREAD.format(1), THREAD.format(2)
    generation = f"Generation{{generationId=2, memberId='{alive}-consumer-51a97204-8375-4e9d-a262-9fad0ec08c45'}}"
    lines = [
        KSQL.format("19:40", f"ERROR Unhandled exception caught in streams thread {dead}. (SYSTEM)"),
        OF_THREAD.format("20:10", dead, "Informed to shut down"),
        OF_THREAD.format("20:10", dead, "State transition from RUNNING to PENDING_SHUTDOWN"),
        OF_THREAD.format("20:10", dead, "Shutdown complete"),
        OF_CONSUMER.format("20:11", alive, "(Re-)joining group"),
        OF_CONSUMER.format("20:52", alive, f"Successfully joined group with generation {generation}"),
    ]
    (tmp_path / "ksql.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert [i.root_causes[0].cause for i in found] == ["thread-replacement"]
