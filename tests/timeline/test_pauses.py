from __future__ import annotations

from rebalance_forensics.timeline.model import Pause
from tests.diagnosis.expiries import evicted
from tests.story import Story


def paused(story: Story, client: str) -> list[Pause]:
    return [p for p in story.history().pauses if p.client_id == client]


def test_an_eager_member_pauses_from_revoked_to_assigned() -> None:
    (pause,) = paused(evicted(), "c-1")
    assert pause.kind == "revoked"
    assert pause.partitions == ("orders-0", "orders-1")
    assert (pause.ended_at or 0) - pause.started_at == 414


def test_lost_partitions_are_a_separate_kind_of_pause() -> None:
    story = Story().formed("c-1", "c-2")
    story.client("c-2", "01:10:00.000", "Lost previously assigned partitions orders-2, orders-3")
    story.client("c-2", "01:10:05.000", "Adding newly assigned partitions: orders-2, orders-3")
    (pause,) = paused(story, "c-2")
    assert pause.kind == "lost"
    assert (pause.ended_at or 0) - pause.started_at == 5_000


def test_the_start_of_a_group_is_no_pause() -> None:
    assert Story().formed("c-1", "c-2").history().pauses == ()


def test_a_restart_in_between_is_no_pause() -> None:
    story = Story().formed("c-1", "c-2")
    story.client("c-2", "01:10:00.000", "Revoke previously assigned partitions orders-2, orders-3")
    story.started("c-2", "01:10:20.000")
    story.client("c-2", "01:10:25.000", "Adding newly assigned partitions: orders-2, orders-3")
    assert [p for p in paused(story, "c-2") if p.ended_at is not None] == []


def test_an_assignment_of_nothing_ends_it_uncounted() -> None:
    story = Story().formed("c-1", "c-2")
    story.client("c-2", "01:10:00.000", "Revoke previously assigned partitions orders-2, orders-3")
    story.client("c-2", "01:10:01.000", "Adding newly assigned partitions: ")
    assert [p for p in paused(story, "c-2") if p.ended_at is not None] == []


def test_brokers_alone_do_not_show_how_long_partitions_were_unread() -> None:
    assert evicted(seen="brokers").history().pauses == ()


def test_1_x_words_measure_the_same_pause() -> None:
    (pause,) = paused(evicted((1, 1)), "c-2")
    assert pause.partitions == ("orders-2", "orders-3")
    assert 300 <= (pause.ended_at or 0) - pause.started_at <= 500


def librdkafka_stalls() -> Story:
    """With debug=cgrp; a poll timeout is noticed beside the application, which hears of it when it polls again."""
    story = Story(seen="clients")
    for time, message in (
        (
            "01:00:03.000",
            "delegating assign of 2 partition(s) to application on queue rd_kafka_cgrp_new: new assignment",
        ),
        (
            "01:05:00.000",
            "current assignment of 2 partition(s) lost: max.poll.interval.ms exceeded: revoking assignment",
        ),
        ("01:05:00.000", "delegating revoke of 2 partition(s) to application on queue rd_kafka_cgrp_new: too late"),
        ("01:05:11.000", "changed join state wait-unassign-call -> wait-unassign-to-complete (state up)"),
        (
            "01:05:13.000",
            "delegating assign of 2 partition(s) to application on queue rd_kafka_cgrp_new: new assignment",
        ),
    ):
        text = "CGRPJOINSTATE" if message.startswith("changed") else "ASSIGN"
        colon = ":" if text == "ASSIGN" else ""
        line = f'{text} [py-1#consumer-1] [thrd:main]: Group "payments"{colon} {message}'
        story.line("py-1/app.log", time, line, level="DEBUG", logger="org.example.Rdkafka")
    return story


def test_a_librdkafka_application_pauses_from_the_revocation_of_its_partitions() -> None:
    (pause,) = paused(librdkafka_stalls(), "py-1")
    assert (pause.kind, (pause.ended_at or 0) - pause.started_at) == ("lost", 2_000)
