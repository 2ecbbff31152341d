from __future__ import annotations

import pytest

from tests.kafka_words import generation_of, member_id
from tests.story import Side, Story, ms

WORKERS = ("worker-1", "worker-2", "worker-3")


def workers(seen: Side) -> Story:
    """Connect 1.1: every worker has the client id connect-1 and prints no member id."""
    story = Story(group="kc", release=(1, 1), seen=seen)
    for generation, (at, joining) in enumerate((("01:00:00", WORKERS), ("01:10:00", WORKERS[:2])), 1):
        if generation == 2:
            story.broker(f"{at}.000", story.words.failed(member_id("connect-1", 2)))
        story.broker(f"{at}.010", story.words.preparing(generation - 1, ""))
        for worker in joining:
            message = "[Worker clientId=connect-1, groupId=kc] "
            story.line(f"{worker}/connect.log", f"{at}.02{worker[-1]}", f"{message}(Re-)joining group")
            story.line(
                f"{worker}/connect.log",
                f"{at}.51{worker[-1]}",
                f"{message}Successfully joined group with generation {generation}",
            )
        story.broker(f"{at}.500", story.words.stabilized(generation, len(joining)))
    return story


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_the_worker_that_expired_is_the_one_that_did_not_rejoin(seen: Side) -> None:
    (departure,) = workers(seen).timeline().departures
    assert departure.participant.name == "worker-3"


def test_a_worker_that_dies_while_it_waits_for_the_others_is_missed_in_the_generation_after() -> None:
    story = Story(group="kc", release=(1, 1), seen="clients")
    message = "[Worker clientId=connect-1, groupId=kc] "
    for generation, at in enumerate(("01:00:00", "01:10:00", "01:10:20"), 1):
        for worker in WORKERS if generation < 3 else WORKERS[:2]:
            story.line(f"{worker}/connect.log", f"{at}.02{worker[-1]}", f"{message}(Re-)joining group")
            if generation == 1 or worker != "worker-3":
                joined = f"{message}Successfully joined group with generation {generation}"
                story.line(f"{worker}/connect.log", f"{at}.51{worker[-1]}", joined)
    (departure,) = story.timeline().departures
    assert departure.participant.name == "worker-3"


def test_a_worker_that_returns_by_itself_was_paused_because_it_has_no_poll_loop() -> None:
    story = workers("clients")
    message = "[Worker clientId=connect-1, groupId=kc] "
    for worker in WORKERS:
        story.line(f"{worker}/connect.log", f"01:10:20.02{worker[-1]}", f"{message}(Re-)joining group")
        story.line(
            f"{worker}/connect.log", f"01:10:20.51{worker[-1]}", f"{message}Successfully joined group with generation 3"
        )
    assert story.causes() == ["process-pause"]


def test_a_worker_that_is_paused_after_it_stopped_a_sink_task_has_not_closed() -> None:
    story = Story(group="kc", release=(3, 7), seen="clients")
    message = "worker-2/connect.log"
    line = "[Worker clientId=connect-127.0.0.1:8083, groupId=kc] "
    for generation, at in ((1, "01:00:00"), (2, "01:10:24")):
        story.line(message, f"{at}.020", f"{line}(Re-)joining group")
        story.line(message, f"{at}.510", f"{line}Successfully joined group with generation {generation}")
        if generation == 1:
            closed = "App info kafka.consumer for connector-consumer-sink-1-1 unregistered"
            story.line(message, "01:10:04.155", closed, logger="org.apache.kafka.common.utils.AppInfoParser")
    assert not story.timeline().stops


def test_a_log_that_begins_in_the_middle_of_a_workers_start_shows_one_start() -> None:
    story = Story(group="kc", release=(3, 9))
    message, log = "[Worker clientId=connect-1, groupId=kc] ", "worker-1/connect.log"
    story.line(log, "01:00:00.000", "Kafka version: 3.9.1", logger="org.apache.kafka.common.utils.AppInfoParser")
    story.line(log, "01:00:02.000", f"{message}(Re-)joining group")
    story.line(log, "01:00:02.900", "Kafka Connect started", logger="org.apache.kafka.connect.runtime.Connect")
    story.line(log, "01:00:08.000", f"{message}Successfully joined group with generation 1")
    story.line(log, "01:00:09.000", f"{message}Herder started")
    assert [start.at for start in story.timeline().starts] == [ms("01:00:00.000")]
    assert story.timeline().departures == []


def test_the_clients_of_a_workers_own_topics_are_no_members() -> None:
    story = Story(group="kc", seen="clients")
    for at, topic in (("01:00:00.000", "configs"), ("01:00:00.100", "offsets"), ("01:00:00.200", "status")):
        message = f"[Consumer clientId=a-{topic}, groupId=kc] Subscribed to partition(s): connect-{topic}-0"
        story.line("worker-1/connect.log", at, message)
    worker = "connect-127.0.0.1:8083"
    message = f"[Worker clientId={worker}, groupId=kc] "
    joined = f"Successfully joined group with generation {generation_of(1, member_id(worker))}"
    story.line("worker-1/connect.log", "01:00:01.000", f"{message}(Re-)joining group")
    story.line("worker-1/connect.log", "01:00:01.100", message + joined)
    (identity,) = story.history().identities
    assert identity.client_id == worker
    assert identity.worker_clients == ("a-configs", "a-offsets", "a-status")


def test_workers_that_write_to_one_file_are_distinguished_by_their_client_ids() -> None:
    story = Story(group="kc", release=(3, 9), seen="clients")
    for client in ("connect-a", "connect-b"):
        for generation, at in ((1, "01:00:00"), (2, "01:10:00")):
            message = f"[Worker clientId={client}, groupId=kc] Successfully joined group with generation {generation}"
            story.line("all/connect.log", f"{at}.{'123' if client == 'connect-a' else '456'}", message)
    story.line("all/connect.log", "01:10:30.000", "Kafka Connect stopping")
    assert [participant.name for participant in story.timeline().participants.everybody] == ["connect-a", "connect-b"]
