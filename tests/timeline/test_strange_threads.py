"""The client ids of stream threads: no two processes share them."""

from __future__ import annotations

from tests.diagnosis.threads import shop
from tests.kafka_words import member_id


def test_an_expired_thread_belongs_to_its_process_whatever_its_other_threads_log() -> None:
    story = shop()
    gone = member_id(story.consumer(2, 7))
    story.by_consumer(2, 7, "01:10:00.000", "(Re-)joining group")
    story.broker("01:11:00.000", story.words.failed(gone))
    story.by_consumer(2, 1, "01:11:01.000", "Attempt to heartbeat failed since group is rebalancing")
    participant = story.timeline().participants.of_member(gone)
    assert participant is not None
    assert participant.kind == "instance"
