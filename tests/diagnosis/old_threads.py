"""Streams 1.x and 2.x: no client prints its member id, so only who joins tells which thread is missing."""

from __future__ import annotations

from collections.abc import Sequence

from tests.diagnosis.threads import PROCESS, STREAMS, Application
from tests.kafka_words import member_id
from tests.story import Side, clock, ms

Threads = Sequence[tuple[int, int]]
EVERYBODY: Threads = ((1, 1), (1, 2), (2, 1), (2, 2))


def old_shop(seen: Side = "both") -> Application:
    """Two instances with two threads each, before 2.6: all join the first generation."""
    story = Application(group="shop", release=(1, 1), seen=seen)
    for node in PROCESS:
        story.line(
            f"node-{node}/app.log",
            "01:00:00.000",
            "Kafka version : 1.1.1",
            logger="org.apache.kafka.common.utils.AppInfoParser",
        )
        story.line(
            f"node-{node}/app.log",
            "01:00:00.000",
            "StreamsConfig values: \n\tapplication.id = shop\n\tnum.stream.threads = 2\n",
            logger="org.apache.kafka.streams.StreamsConfig",
        )
    return joined(story, "01:00:01.000", EVERYBODY)


def joined(story: Application, at: str, threads: Threads) -> Application:
    """These threads make the next generation, as a release before 2.4 tells it."""
    begin = ms(at)
    story.broker(at, story.words.preparing(story.generation, ""))
    story.generation += 1
    for node, number in threads:
        story.by_consumer(node, number, clock(begin + 10), "(Re-)joining group")
    story.broker(clock(begin + 300), story.words.stabilized(story.generation, len(threads)))
    for node, number in threads:
        story.by_consumer(
            node, number, clock(begin + 310), f"Successfully joined group with generation {story.generation}"
        )
    return story


def expired(story: Application, at: str, node: int, number: int) -> Application:
    """The coordinator gives up on a thread."""
    story.broker(at, story.words.failed(member_id(story.consumer(node, number))))
    return story


def closed(story: Application, at: str, node: int) -> Application:
    """An instance closes: its threads end, and none sends a LeaveGroup."""
    story.line(
        f"node-{node}/app.log",
        at,
        f"stream-client [{PROCESS[node]}] State transition from RUNNING to PENDING_SHUTDOWN",
        logger=STREAMS,
    )
    return story
