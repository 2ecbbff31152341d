"""Stories of Streams applications on the streams protocol (KIP-1071): two threads a node, nameless member ids."""

from __future__ import annotations

from uuid import NAMESPACE_DNS, uuid5

from tests.story import Side, Story, clock, ms

MEMBERSHIP = "org.apache.kafka.clients.consumer.internals.StreamsMembershipManager"
KAFKA_STREAMS = "org.apache.kafka.streams.KafkaStreams"
CONFIG = "org.apache.kafka.streams.StreamsConfig"
TASK_MANAGER = "org.apache.kafka.streams.processor.internals.TaskManager"
THREADS = (1, 2)
PADDED = (
    "Member:                       ", "Assigned active tasks:        ", "Owned active tasks:           ",
    "Active tasks to revoke:       ", "Assigned standby tasks:       ", "Owned standby tasks:          ",
    "Assigned warm-up tasks:       ", "Owned warm-up tasks:          ",
)  # fmt: skip


class StreamsStory(Story):
    """`generation` is the group epoch; a node that is reborn has another process id and other members."""

    def process(self, node: str) -> str:
        """The Streams client of one life of a node."""
        return f"{self.group}-{uuid5(NAMESPACE_DNS, f'{node}{self.lives.get(node, 1)}')}"

    def member(self, node: str, thread: int) -> str:
        """The id that the thread's client made for itself."""
        return uuid5(NAMESPACE_DNS, f"{self.process(node)}-{thread}").hex[:22]

    def coordinator_says(self, time: str, message: str, member: str | None = None) -> StreamsStory:
        """The coordinator speaks of this group, and of a member of it."""
        self.says(time, f"[GroupId {self.group}]" + (f"[MemberId {member}]" if member else "") + f" {message}")
        return self

    def thread_says(self, node: str, thread: int, time: str, message: str) -> StreamsStory:
        """A thread's consumer says something."""
        client = f"{self.process(node)}-StreamThread-{thread}-consumer"
        said = f"[Consumer clientId={client}, groupId={self.group}] {message}"
        self.line(f"{node}/app.log", time, said, logger=MEMBERSHIP)
        return self

    def moves(self, node: str, thread: int, time: str, old: str, new: str) -> StreamsStory:
        """A thread's member state changes."""
        line = f"Member {self.member(node, thread)} with epoch {self.generation} transitioned from {old} to {new}."
        return self.thread_says(node, thread, time, line)

    def bumped(self, time: str, node: str) -> StreamsStory:
        """A new group epoch."""
        self.generation += 1
        bump = f"Bumped streams group epoch to {self.generation} with metadata hash 77 and validated topic epoch 0."
        return self.coordinator_says(time, bump, self.member(node, 1))

    def comes(self, node: str, time: str) -> StreamsStory:
        """A process starts two seconds before its threads join."""
        settings = f"application.id = {self.group}\n\tgroup.protocol = streams"
        self.line(f"{node}/app.log", clock(ms(time) - 2_000), f"StreamsConfig values: \n\t{settings}\n", logger=CONFIG)
        for thread in THREADS:
            self.coordinator_says(time, "Member joins the streams group.", self.member(node, thread))
            self.moves(node, thread, time, "UNSUBSCRIBED", "JOINING")
        self.bumped(clock(ms(time) + 10), node)
        for thread in THREADS:
            self.moves(node, thread, clock(ms(time) + 100), "JOINING", "RECONCILING")
            self.moves(node, thread, clock(ms(time) + 200), "RECONCILING", "STABLE")
        return self

    def given(self, node: str, thread: int, time: str, *tasks: str) -> StreamsStory:
        """A thread's full assignment."""
        values = [self.member(node, thread), f"[{', '.join(tasks)}]", *["[]"] * 6]
        picture = "".join(f"\n\t{label} {value}" for label, value in zip(PADDED, values, strict=True))
        message = f"Assigned tasks with local epoch {self.generation} and group is ready{picture}\n"
        self.thread_says(node, thread, time, message)
        echo = f"Handle new assignment with:\n\tNew active tasks: {values[1]}\n\tNew standby tasks: []\n"
        echo += "\tExisting active tasks: []\n\tExisting standby tasks: []"
        name = f"{self.process(node)}-StreamThread-{thread}"
        self.line(f"{node}/app.log", clock(ms(time) + 5), f"stream-thread [{name}] {echo}", logger=TASK_MANAGER)
        return self

    def closes(self, node: str, time: str, other: str) -> StreamsStory:
        """A process shuts down cleanly."""
        state = f"stream-client [{self.process(node)}] State transition from RUNNING to PENDING_SHUTDOWN"
        self.line(f"{node}/app.log", time, state, logger=KAFKA_STREAMS)
        for thread in THREADS:
            self.moves(node, thread, clock(ms(time) + 20), "STABLE", "PREPARE_LEAVING")
            left = f"Member {self.member(node, thread)} left the streams group."
            self.coordinator_says(clock(ms(time) + 30), left, self.member(node, thread))
        return self.bumped(clock(ms(time) + 40), other)

    def dies(self, node: str, time: str, other: str) -> StreamsStory:
        """The sessions of a process expire and another one is given its tasks."""
        for thread in THREADS:
            silent = f"Streams member {self.member(node, thread)} fenced from the group because the member session "
            self.coordinator_says(time, f"{silent}expired..")
        self.bumped(clock(ms(time) + 10), other)
        self.given(other, 1, clock(ms(time) + 500), "0_1", "0_3")
        return self.given(other, 2, clock(ms(time) + 500), "0_2", "0_4")


def two_nodes(seen: Side = "both") -> StreamsStory:
    """An application of four tasks on two nodes of two threads."""
    story = StreamsStory(group="orders-app", release=(4, 2), seen=seen)
    for index, node in enumerate(("node-1", "node-2")):
        story.comes(node, f"01:00:0{2 * index}.000")
    for index, node in enumerate(("node-1", "node-2")):
        for thread in THREADS:
            story.given(node, thread, "01:00:05.000", f"0_{2 * index + thread}")
    return story
