"""Stream threads that the application takes away itself: KafkaStreams.removeStreamThread (KIP-663)."""

from __future__ import annotations

from rebalance_forensics.diagnosis.causes.scale_in import removed_by_hand
from tests.diagnosis.closings import APP_INFO, CLOSED, LEAVING
from tests.diagnosis.threads import STREAMS, Application
from tests.kafka_words import member_id


def two_threads_each() -> Application:
    story = Application(group="shop")
    for node in (1, 2):
        story.by_instance(node, "00:59:58.000", "State transition from CREATED to REBALANCING")
        for number in (1, 2):
            story.broker("00:59:59.980", story.words.introduced(member_id(story.consumer(node, number))))
    return story.round("01:00:00.000", story.words.adding(member_id(story.consumer(1, 1))))


def thread_closes(story: Application, number: int, minute: int, life: int = 1) -> Application:
    """A thread of node 2 leaves and its consumer is closed."""
    gone = member_id(story.consumer(2, number), life)
    story.by_consumer(2, number, f"01:{minute}:00.200", LEAVING.format(gone, CLOSED))
    unregistered = f"App info kafka.consumer for {story.consumer(2, number)} unregistered"
    story.line("node-2/app.log", f"01:{minute}:00.300", unregistered, logger=APP_INFO)
    story.broker(f"01:{minute}:00.210", story.words.left(gone, CLOSED))
    return story.round(f"01:{minute}:01.000", story.words.leaving(gone, CLOSED))


def removed(story: Application, number: int, minute: int) -> Application:
    line = f"stream-client [{story.thread(2, 1).partition('-StreamThread')[0]}] Removing StreamThread "
    story.line("node-2/app.log", f"01:{minute}:00.100", line + story.thread(2, number), logger=STREAMS)
    return thread_closes(story, number, minute)


def test_a_thread_that_is_removed_by_hand_is_no_instance_that_shut_down() -> None:
    story = removed(two_threads_each(), 1, 10)
    incident = story.goes_on("01:20:00.000").the_incident()
    assert incident.root_causes[0].cause == "scale-in"
    assert incident.summary.startswith(f"{story.thread(2, 1)} of ")
    assert "was removed by hand (KafkaStreams.removeStreamThread)" in incident.summary
    assert any("Removing StreamThread" in line.text for line in incident.root_causes[0].evidence)


def test_threads_that_close_while_their_instance_stays_are_no_members_that_come_and_go() -> None:
    story = two_threads_each()
    for minute, life in ((10, 1), (12, 2), (14, 3)):
        thread_closes(story, 1, minute, life)
        back = member_id(story.consumer(2, 1), life + 1)
        story.broker(f"01:{minute}:30.000", story.words.introduced(back))
        story.round(f"01:{minute}:30.001", story.words.adding(back))
    assert "scaling-flap" not in story.causes()


def test_a_process_that_dies_after_one_of_its_threads_closed_did_not_shut_down() -> None:
    story = thread_closes(two_threads_each(), 2, 10)
    died = member_id(story.consumer(2, 1))
    story.broker("01:10:40.000", story.words.failed(died))
    reason = f"removing member {died} on heartbeat expiration"
    story.broker("01:10:40.001", story.words.preparing(story.generation, reason))
    story.broker("01:10:40.300", story.words.stabilized(story.generation + 1, 2))
    assert "process-crash" in story.goes_on("01:20:00.000").causes()


def test_threads_that_are_removed_together_are_reported_as_several() -> None:
    assert removed_by_hand(["node-1-StreamThread-2"]).startswith("node-1-StreamThread-2 of {who} was removed")
    assert "StreamThread-3 of {who} were removed" in removed_by_hand(["node-1-StreamThread-2", "node-1-StreamThread-3"])
