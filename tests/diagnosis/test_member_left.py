from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rebalance_forensics.diagnosis.episodes.members.clean_exits import closings
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from tests.diagnosis.closings import CLOSED, LEAVING, closes, comes
from tests.diagnosis.threads import Application
from tests.kafka_words import Release, generation_of, member_id
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


@pytest.mark.parametrize(("pid", "thread", "likely"), [(6, "main", "member-left"), (7, "main", "scale-in"),
                                                        (6, "http-1", "scale-in")])  # fmt: skip
def test_an_error_of_its_loops_thread_in_a_log_of_another_name_may_be_why_a_member_left(
    pid: int, thread: str, likely: str
) -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    story.line("c-3/checkout.log", "01:09:59.900", CRASHED, level="ERROR", logger="org.example.Main")
    closes(story, "c-3", "01:10:00.000", ["c-1", "c-2"])
    of_logs = {"c-3/app.log": (6, "main"), "c-3/checkout.log": (pid, thread)}
    written = ((e, *of_logs.get(e.speaker.file, (None, None))) for e in story.events)
    story.events = [replace(e, speaker=replace(e.speaker, pid=by, thread=on)) for e, by, on in written]
    cause = story.the_incident().root_causes[0]
    assert (cause.cause, cause.confidence < 0.75) == (likely, likely == "member-left")


def test_a_listener_that_threw_is_named_not_the_exception_in_which_poll_wraps_it() -> None:
    story = Story(release=(4, 1)).formed("c-1", "c-2", "c-3")
    failed = (
        "User provided listener com.acme.Stores failed on invocation of onPartitionsAssigned for partitions [orders-4]"
    )
    story.client("c-3", "01:09:59.890", failed, level="ERROR")
    thrown = "Worker failed\norg.apache.kafka.common.KafkaException: User rebalance callback throws an error"
    story.line("c-3/app.log", "01:09:59.900", thrown, level="ERROR", logger="org.example.Main")
    closes(story, "c-3", "01:10:00.000", ["c-1", "c-2"])
    assert story.causes() == ["member-left"]
    closed = "c-3 closed its consumer after its rebalance listener threw an exception in onPartitionsAssigned."
    assert story.the_incident().summary == closed
    assert "onPartitionsAssigned of com.acme.Stores" in story.the_incident().root_causes[0].advice[0].action


def test_a_close_without_an_exception_is_no_fault() -> None:
    story = closes(Story().formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    assert "member-left" not in story.causes()


def test_an_exception_of_a_member_that_stays_explains_no_leave() -> None:
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


def test_a_streams_instance_whose_threads_end_in_different_ways_went_once() -> None:
    """The thread that failed leaves the group; the session of the other, which closed cleanly, has to expire."""
    story = Application(group="shop")
    ids = {(node, n): member_id(story.consumer(node, n)) for node, n in ((1, 1), (1, 2), (2, 1))}
    for node in (1, 2):
        story.by_instance(node, "00:59:58.000", "State transition from CREATED to REBALANCING")
    for member in ids.values():
        story.broker("00:59:59.980", story.words.introduced(member))
    story.broker("01:00:00.000", story.words.preparing(0, story.words.adding(ids[1, 1])))
    for (node, n), member in ids.items():
        story.by_consumer(node, n, "01:00:00.100", "(Re-)joining group")
        story.by_consumer(
            node, n, "01:00:03.010", f"Successfully joined group with generation {generation_of(1, member)}"
        )
    story.broker("01:00:03.000", story.words.stabilized(1, 3))
    story.by_instance(
        1,
        "01:10:00.000",
        "Encountered the following exception during processing and the registered exception handler opted to "
        "SHUTDOWN_CLIENT. The streams client is going to shut down now.\njava.lang.IllegalStateException: schema 4711",
        "ERROR",
    )
    story.by_instance(1, "01:10:00.001", "State transition from RUNNING to PENDING_ERROR")
    for n in (1, 2):
        story.by_thread(1, n, "01:10:00.010", "State transition from RUNNING to PENDING_SHUTDOWN")
    story.by_consumer(1, 1, "01:10:00.150", LEAVING.format(ids[1, 1], CLOSED))
    story.broker("01:10:00.151", story.words.preparing(1, story.words.leaving(ids[1, 1])))
    story.broker("01:10:00.152", story.words.left(ids[1, 1]))
    for n in (1, 2):
        story.by_thread(1, n, "01:10:00.180", "State transition from PENDING_SHUTDOWN to DEAD")
    story.by_instance(1, "01:10:00.190", "State transition from PENDING_ERROR to ERROR")
    story.broker("01:10:10.100", story.words.failed(ids[1, 2]))
    story.broker("01:10:10.110", story.words.stabilized(2, 1))
    (went,) = closings(story.timeline())
    assert [d.member for d in went.departures] == [ids[1, 1], ids[1, 2]]
    assert story.causes() == ["member-left"]


def test_a_sink_task_that_throws_is_why_its_consumer_left() -> None:
    sink, other = "connector-consumer-orders-1", "connector-consumer-orders-0"
    story = Story(group="connect-orders").formed(other, sink)
    failed = (
        "WorkerSinkTask{id=orders-1} Task threw an uncaught and unrecoverable exception. "
        "Task is being killed and will not recover until manually restarted"
    )
    story.line(f"{sink}/app.log", "01:09:59.990", failed, level="ERROR", logger="o.a.k.connect.runtime.WorkerTask")
    closes(story, sink, "01:10:00.000", [other])
    assert story.causes() == ["member-left"]
    assert story.blamed() == [sink]
    assert "its task orders-1 failed" in story.the_incident().summary


def test_a_sink_task_that_throws_is_not_why_the_consumer_of_another_task_left() -> None:
    sink, other = "connector-consumer-orders-1", "connector-consumer-orders-0"
    story = Story(group="connect-orders").formed(sink, other)
    failed = "WorkerSinkTask{id=orders-1} Task threw an uncaught and unrecoverable exception."
    story.line(f"{sink}/app.log", "01:09:59.990", failed, level="ERROR", logger="o.a.k.connect.runtime.WorkerTask")
    closes(story, other, "01:10:00.000", [sink])
    assert "member-left" not in story.causes()


FAILED = "Worker died\njava.lang.IllegalStateException: order 4711 has no items"
WORKER = "com.acme.orders.OrderWorker"


def two_in_one_process() -> Story:
    """c-1 and c-2 write to one file in a layout without threads; c-1 closes."""
    story = Story().formed("c-1", "c-2", "c-3")
    story.line("c-1/app.log", "01:09:00.000", story.of("c-2").prefixed("Discovered group coordinator b-2:9092 (id: 1)"))
    return closes(story, "c-1", "01:10:00.000", ["c-2", "c-3"])


def test_an_error_in_the_file_of_the_only_consumer_that_closes_explains_the_close() -> None:
    story = two_in_one_process()
    story.line("c-1/app.log", "01:10:00.010", FAILED, level="ERROR", logger=WORKER)
    assert story.causes() == ["member-left"]
    assert story.blamed() == ["c-1"]


def test_an_error_long_before_one_of_two_consumers_of_its_file_closes_may_be_the_others() -> None:
    story = two_in_one_process()
    story.line("c-1/app.log", "01:09:50.000", FAILED, level="ERROR", logger=WORKER)
    assert "member-left" not in story.causes()


def test_a_consumer_that_was_stopped_once_and_then_failed_is_reported_with_its_failure() -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    for minute, fails in ((10, False), (11, True), (12, True)):
        if fails:
            story.line("c-1/app.log", f"01:{minute}:00.000", FAILED, level="ERROR", logger=WORKER)
        closes(story, "c-1", f"01:{minute}:00.010", ["c-2", "c-3"])
        comes(story, "c-1", f"01:{minute}:10.000", ["c-1", "c-2", "c-3"])
    assert story.causes() == ["member-left"]
    assert "IllegalStateException" in story.the_incident().summary


def test_picked_lists_of_a_consumer_group_show_who_went_but_not_how(tmp_path: Path) -> None:
    message = (
        "[2024-11-11 09:3{}] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=33] [GroupId payments] {}"
    )
    state = "Member {} new assignment state: epoch=4, previousEpoch=3, state=STABLE, assignedPartitions=[] and {}"
    target = "{gjWzAEmmRlOfypB2_GB_9Q=MemberAssignment(partitions={7l8rBsX6TMqbHE6QgWshdw=[0, 1]})}"
    lines = [
        message.format("7:20,961", state.format("c-1-b8f7c567-6711-4cc6-8720-29ce8dee2034", "revokedPartitions=[].")),
        message.format("7:25,723", state.format("gjWzAEmmRlOfypB2_GB_9Q", "revokedPartitions=[].")),
        "",
        "and a minute later:",
        message.format(
            "8:25,810", f"Computed a new target assignment for epoch 5 with 'uniform' assignor in 1ms: {target}."
        ),
    ]
    (tmp_path / "paste.txt").write_text("\n".join(lines), encoding="utf-8")
    (incident,) = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert incident.root_causes[0].cause == "member-left"
    assert [culprit.name for culprit in incident.root_causes[0].culprits] == ["c-1"]
    assert incident.root_causes[0].confidence < 0.5
