from __future__ import annotations

import pytest
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


def test_an_exception_of_another_consumer_in_the_same_file_does_not_explain_the_close() -> None:
    assert "member-left" not in two_consumers_in_one_file("c-2").causes()


def closes_after(*lines: tuple[str, str, str], thread: str | None = None) -> Story:
    """c-3 closes on its thread `main` after its application logged these: time, level, text."""
    story = Story().formed("c-1", "c-2", "c-3")
    for time, level, text in lines:
        story.line("c-3/app.log", time, text, level=level, logger="com.example.Shop")
    closes(story, "c-3", "01:10:00.000", ["c-1", "c-2"])
    if thread is not None:
        story.events = [
            replace(e, speaker=replace(e.speaker, thread="main" if e.speaker.client_id else thread))
            for e in story.events
        ]
    return story


@pytest.mark.parametrize(
    "thrown",
    [
        "org.apache.kafka.common.errors.WakeupException\n\tat com.example.Shop.run(Shop.java:12)",
        "java.lang.InterruptedException: sleep interrupted\n\tat com.example.Shop.run(Shop.java:12)",
        "java.lang.RuntimeException: java.lang.InterruptedException: sleep interrupted\n\tat com.example.Shop.run(S:1)",
        'Traceback (most recent call last):\n  File "shop.py", line 9, in run\nasyncio.exceptions.CancelledError',
    ],
)
def test_a_poll_loop_that_was_asked_to_end_did_not_fail(thrown: str) -> None:
    assert closes_after(("01:09:59.900", "ERROR", f"Polling ends\n{thrown}")).causes() == ["scale-in"]


@pytest.mark.parametrize("says", ["System.OperationCanceledException: The operation was canceled.", "context canceled"])
def test_a_poll_loop_in_another_language_that_was_asked_to_end_did_not_fail(says: str) -> None:
    assert closes_after(("01:09:59.900", "ERROR", f"Polling ends: {says}")).causes() == ["scale-in"]
    assert closes_after(("01:09:59.900", "ERROR", "Polling ends: no such customer")).causes() == ["member-left"]


def test_a_poll_loop_that_was_asked_to_end_after_it_failed_did_fail() -> None:
    wakeup = "Polling ends\norg.apache.kafka.common.errors.WakeupException\n\tat com.example.Shop.run(Shop.java:12)"
    story = closes_after(("01:09:59.800", "ERROR", THROWN), ("01:09:59.900", "INFO", wakeup))
    assert story.causes() == ["member-left"]
    assert "IllegalStateException" in story.the_incident().summary


@pytest.mark.parametrize(
    ("says", "cause"),
    [
        ("retrying (1/3)", "scale-in"),
        ("retrying on 11/11/2026", "scale-in"),
        ("no retrying: retries exhausted", "member-left"),
        ("retrying (3/3)", "member-left"),
        ("retrying after attempt 3 of 3", "member-left"),
        ("retrying failed: max retries reached", "member-left"),
        ("retrying failed, 0 retries left", "member-left"),
        ("skipping record 100/100", "scale-in"),
        ("ignoring duplicate 1 of 1", "scale-in"),
        ("will retry; 5/5 chunks were sent", "scale-in"),
    ],
)
def test_an_error_that_is_retried_closed_no_consumer(says: str, cause: str) -> None:
    text = THROWN.replace("Record failed", f"Record failed, {says}")
    assert closes_after(("01:09:57.000", "ERROR", text)).causes() == [cause]


def test_a_last_retry_before_a_requested_stop_closed_no_consumer() -> None:
    text = THROWN.replace("Record failed", "Record failed, retrying (3/3)")
    asked = ("01:09:59.900", "INFO", "Commencing graceful shutdown. Waiting for active requests to complete")
    assert closes_after(("01:09:57.000", "ERROR", text), asked).causes() == ["scale-in"]


def test_an_error_after_which_the_poll_loop_got_partitions_closed_no_consumer() -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    story.line("c-3/app.log", "01:09:45.000", THROWN, level="ERROR", logger="com.example.Shop")
    story.rebalanced("01:09:50.000", story.words.adding(story.id_of("c-4")), ["c-1", "c-2", "c-3", "c-4"])
    closes(story, "c-3", "01:10:00.000", ["c-1", "c-2", "c-4"])
    assert "member-left" not in story.causes()


def test_what_a_process_warned_of_before_and_outlived_made_it_not_close() -> None:
    times = ("01:05:00.000", "01:07:30.000", "01:09:55.000")
    story = closes_after(*((time, "WARN", THROWN) for time in times))
    assert story.causes() == ["scale-in"]
    assert closes_after((times[-1], "WARN", THROWN)).causes() == ["member-left"]


@pytest.mark.parametrize(("level", "cause", "at_most"), [("WARN", "scale-in", 1), ("ERROR", "member-left", 0.6)])
def test_an_error_of_another_thread_than_that_of_the_loop_is_no_sure_reason(
    level: str, cause: str, at_most: float
) -> None:
    story = closes_after(("01:09:59.500", level, THROWN), thread="pool-2-thread-1")
    assert story.causes() == [cause]
    assert (story.the_incident().root_causes[0].confidence or 0) <= at_most


@pytest.mark.parametrize("thread", ["pool-2-thread-1", "SpringApplicationShutdownHook"])
def test_a_process_that_was_asked_to_stop_does_not_stop_for_an_error_of_another_thread(thread: str) -> None:
    asked = "Commencing graceful shutdown. Waiting for active requests to complete"
    lines = ("01:09:59.500", "ERROR", THROWN), ("01:09:59.700", "INFO", asked)
    assert closes_after(*lines, thread=thread).causes() == ["scale-in"]
    assert closes_after(*lines, thread="main").causes() == ["member-left"]


ORDER, ENDED = "Stopping Ledger of the shop...", "c-3.service: Main process exited, code=exited, status=143/n/a"


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (("c-3/journal.log 01:09:59 Stopping c-3.service - The shop...",), "scale-in"),
        (("c-3/journal.log 01:09:59 Stopping c-3 consumer...",), "scale-in"),
        ((f"c-3/journal.log 01:09:59 {ORDER}", f"c-3/journal.log 01:10:02 {ENDED}"), "member-left"),
        (("c-3/supervisord.log 01:09:59 waiting for c-3 to stop",), "scale-in"),
        (("events 01:09:59 Killing pod/c-3 in shop: Stopping container app",), "scale-in"),
        (("c-3/journal.log 01:09:59 Stopping node-exporter.service - Metrics...",), "member-left"),
        ((f"c-3/journal.log 01:09:59 {ORDER}",), "member-left"),
        (("c-3/journal.log 01:10:30 Stopping c-3.service - The shop...",), "member-left"),
        (("c-2/journal.log 01:09:59 Stopping c-3.service - The shop...",), "member-left"),
    ],
    ids=[
        "systemd",
        "a description with its name",
        "some description, and the end of its unit",
        "supervisord",
        "Kubernetes",
        "another unit",
        "a description",
        "afterwards",
        "another host",
    ],
)
def test_a_process_that_was_asked_to_stop_does_not_stop_because_of_an_error(lines: tuple[str, ...], cause: str) -> None:
    story = closes_after(("01:09:59.500", "ERROR", THROWN))
    for line in lines:
        file, time, message = line.split(" ", 2)
        story.line(file, f"{time}.000", message)
    assert story.causes() == [cause]
    behind = [link.what for link in story.the_incident().root_causes[0].behind]
    assert behind == (["stopped"] if cause == "scale-in" else ["exception"])


def test_a_process_that_works_on_after_an_order_to_stop_may_close_for_its_error() -> None:
    story = closes_after(("01:09:59.500", "ERROR", THROWN))
    story.line("c-3/journal.log", "01:09:43.000", "Stopping c-3.service - The shop...")
    (cause, *_) = story.the_incident().root_causes
    assert (cause.cause, cause.confidence <= 0.6) == ("member-left", True)


def test_a_request_to_stop_an_earlier_process_does_not_explain_the_end_of_the_next_one() -> None:
    story = Story().line("c-3/journal.log", "00:59:50.000", "Stopping c-3.service - The shop...")
    story.formed("c-1", "c-2", "c-3").line(
        "c-3/app.log", "01:00:14.500", THROWN, level="ERROR", logger="com.example.Shop"
    )
    (cause, *_) = closes(story, "c-3", "01:00:15.000", ["c-1", "c-2"]).the_incident().root_causes
    assert (cause.cause, cause.confidence >= 0.9) == ("member-left", True)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ((), None),
        (("c-3/journal.log 01:09:59 Stopping c-3.service - The shop...",), "systemd was told to stop c-3."),
        (("c-3/supervisord.log 01:09:59 waiting for c-3 to stop",), "supervisord was told to stop c-3."),
        (
            (
                "events 01:09:59 Signalled pod/c-3 in shop: signal 15 was sent",
                "events 01:10:01 Terminated pod/c-3 in shop: Container c-3 ended with exit code 143",
            ),
            "Signal 15 was sent to c-3 (exit code 143).",
        ),
        (("c-3/journal.log 01:09:59 Stopping node-exporter.service - Metrics...",), None),
    ],
    ids=["no log of it", "systemctl restart", "supervisorctl restart", "docker restart", "another unit"],
)
def test_the_request_to_restart_is_the_cause_behind_the_restart_of_a_single_member(
    lines: tuple[str, ...], why: str | None
) -> None:
    story = closes(Story().formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    for line in lines:
        file, time, message = line.split(" ", 2)
        story.line(file, f"{time}.000", message)
    story.reborn("c-3").rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    incident = story.the_incident()
    assert [link.why for link in incident.root_causes[0].behind] == ([why] if why else [])
    assert "came back" in incident.summary
