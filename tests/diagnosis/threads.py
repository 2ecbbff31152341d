"""Streams applications: threads of instances whose consumers form one group."""

from __future__ import annotations

from tests.kafka_words import generation_of, member_id
from tests.story import Story

STREAMS = "org.apache.kafka.streams.KafkaStreams"
ASSIGNOR = "org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor"
THREAD = "org.apache.kafka.streams.processor.internals.StreamThread"
PROCESS = {
    1: "shop-225712b8-b54d-4043-a7e1-c489ee4f8fd5",
    2: "shop-c4497316-8891-4f1a-b60e-6952b7c56fcf",
    3: "shop-7f0d6a52-3c1b-4e8a-9d27-51b60c8ae934",
}


class Application(Story):
    """The application `shop`, told thread by thread; node n runs process n."""

    def thread(self, node: int, number: int) -> str:
        """The name of a stream thread."""
        return f"{PROCESS[node]}-StreamThread-{number}"

    def consumer(self, node: int, number: int) -> str:
        """The client id of its consumer."""
        return f"{self.thread(node, number)}-consumer"

    def by_instance(self, node: int, time: str, message: str, level: str = "INFO") -> Application:
        """The KafkaStreams object speaks."""
        self.line(
            f"node-{node}/app.log", time, f"stream-client [{PROCESS[node]}] {message}", level=level, logger=STREAMS
        )
        return self

    def by_thread(self, node: int, number: int, time: str, message: str, level: str = "INFO") -> Application:
        """A stream thread speaks."""
        self.line(
            f"node-{node}/app.log",
            time,
            f"stream-thread [{self.thread(node, number)}] {message}",
            level=level,
            logger=THREAD,
        )
        return self

    def by_assignor(self, node: int, number: int, time: str, message: str) -> Application:
        """The assignor of a thread's consumer speaks."""
        self.line(
            f"node-{node}/app.log", time, f"stream-thread [{self.consumer(node, number)}] {message}", logger=ASSIGNOR
        )
        return self

    def by_consumer(self, node: int, number: int, time: str, message: str) -> Application:
        """A thread's consumer speaks."""
        self.line(
            f"node-{node}/app.log",
            time,
            f"[Consumer clientId={self.consumer(node, number)}, groupId={self.group}] {message}",
        )
        return self

    def round(self, time: str, reason: str, *, leader: int = 1) -> Application:
        """A whole rebalance of two instances with a thread each, as brokers and clients show it."""
        minute = time[:-4]
        self.broker(f"{minute}.000", self.words.preparing(self.generation, reason))
        self.generation += 1
        self.broker(f"{minute}.300", self.words.stabilized(self.generation, 2))
        for node in (1, 2):
            generation = generation_of(self.generation, member_id(self.consumer(node, 1)))
            self.by_consumer(node, 1, f"{minute}.100", "(Re-)joining group")
            self.by_consumer(node, 1, f"{minute}.310", f"Successfully joined group with generation {generation}")
            self.by_consumer(node, 1, f"{minute}.360", f"Successfully synced group in generation {generation}")
        self.by_assignor(
            leader,
            1,
            f"{minute}.320",
            "2 client nodes and 2 consumers participating in this rebalance: \n"
            + "".join(f"{PROCESS[n].removeprefix('shop-')}: [{member_id(self.consumer(n, 1))}]\n" for n in (1, 2))
            + ".",
        )
        self.broker(f"{minute}.350", self.words.assigned(self.generation, 2, member_id(self.consumer(leader, 1))))
        return self


def shop() -> Application:
    """Two instances that formed their group at one o'clock."""
    story = Application(group="shop")
    for node in (1, 2):
        story.by_instance(node, "00:59:58.000", "State transition from CREATED to REBALANCING")
        story.broker("00:59:59.980", story.words.introduced(member_id(story.consumer(node, 1))))
    return story.round("01:00:00.000", story.words.adding(member_id(story.consumer(1, 1))))
