"""kafka-python before 2.1 prints neither its client id nor its member ids."""

from __future__ import annotations

from tests.kafka_words import member_id
from tests.story import Story

KAFKA_PYTHON = "kafka.coordinator"


def stalled(*, apart: bool = True) -> Story:
    """Two members, one of which holds up the rebalance for a third's sake."""
    story = Story()

    def says(host: str, time: str, message: str, level: str = "INFO") -> None:
        story.line(f"{host}/app.log", time, message, level=level, logger=KAFKA_PYTHON)

    def begins(host: str, client: str, time: str) -> None:
        says(host, f"{time}00", "(Re-)joining group payments")
        story.broker(f"{time}02", story.words.introduced(member_id(client)))

    begins("node-1", "py-1", "01:00:00.1")
    begins("node-2", "py-2", "01:00:00.5" if apart else "01:00:00.1")
    story.says("01:00:03.000", "Stabilized group payments generation 1 (__consumer_offsets-13) with 2 members")
    for host in ("node-1", "node-2"):
        says(host, "01:00:03.010", "Successfully joined group payments with generation 1")
        given = f"{{TopicPartition(topic='orders', partition={host[-1]})}}"
        says(host, "01:00:03.011", f"Setting newly assigned partitions {given} for group payments")
    begins("node-3", "py-3", "01:10:00.0")
    story.broker("01:10:00.003", story.words.preparing(1, story.words.adding(member_id("py-3"))))
    for host, at in (("node-1", "01:10:01.000"), ("node-2", "01:10:16.000")):
        given = f"{{TopicPartition(topic='orders', partition={host[-1]})}}"
        says(host, at, f"Revoking previously assigned partitions {given} for group payments")
        says(host, at, "(Re-)joining group payments")
    story.says("01:10:16.010", "Stabilized group payments generation 2 (__consumer_offsets-13) with 3 members")
    for host in ("node-1", "node-2", "node-3"):
        says(host, "01:10:16.020", "Successfully joined group payments with generation 2")
        given = f"{{TopicPartition(topic='orders', partition={host[-1]})}}"
        says(host, "01:10:16.021", f"Setting newly assigned partitions {given} for group payments")
    return story


def test_who_asks_to_join_when_an_id_is_given_is_whom_the_id_names() -> None:
    story = stalled()
    assert story.causes() == ["rebalance-straggler"]
    assert story.blamed() == ["py-2"]
    assert {pause.client_id for pause in story.history().pauses} == {"py-1", "py-2"}


def test_two_clients_that_join_at_the_same_time_are_not_distinguished() -> None:
    assert {pause.client_id for pause in stalled(apart=False).history().pauses} <= {None}
